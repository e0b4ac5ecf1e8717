"""Search agents: one view in, an action out, and the same for many views in one call.

A decision is a function of the view and its random key alone, whatever the batch.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.neural.kernels import Net
from agents.search.endgame import MAX_PLIES, NUM_ENTRY, NUM_MASKS, NUM_NUMBERS
from agents.search.ismcts import MAX_DEPTH, NUM_NODE, ismcts_rows
from agents.search.names import IsmctsSettings, PimcSettings, SearchSettings
from agents.search.pimc import pimc_rows
from agents.search.race import NUM_SUMS
from king_env.engine.actions import NUM_ACTIONS, ActionId
from king_env.engine.layout import Games, Tables, allocate
from king_env.view import View

TABLE_SIZE: Final = 1 << 15
"""Positions that the solver's table holds."""

NODE_BUDGET: Final = 50_000
"""Positions that the solver looks at for one action in one world, some 5 ms."""


class SearchAgent:
    """An agent that searches; a kind of search fills in ``_decide``.

    Attributes:
        name: its name in the registry.
        chunk: games that an evaluation plays in step, few enough to show progress.
    """

    name: str
    chunk: Final = 64

    def act(self, view: View, rng: np.random.Generator) -> ActionId:
        """Returns a legal action for the seat of the view, which is to act."""
        keys = rng.integers(0, 2**64, 1, dtype=np.uint64)
        return int(self.act_batch(view.record, view.tables, keys)[0])

    def act_batch(
        self, views: Games, tables: Tables, keys: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        """Returns a legal action for the seat to act of each of `[M]` views."""
        out = np.zeros(len(views), dtype=np.int64)
        self._decide(views, tables, keys, out)
        return out

    def _decide(self, views: Games, tables: Tables, keys: Any, out: Any) -> None:
        raise NotImplementedError


class PimcAgent(SearchAgent):
    """Flat Monte-Carlo over sampled worlds, see ``agents.search.pimc``."""

    def __init__(self, settings: PimcSettings, net: Net | None = None) -> None:
        self.name = settings.name
        self.settings = settings
        self._net = net
        self._worlds = allocate(4)
        self._actions = np.zeros(NUM_ACTIONS, dtype=np.int64)
        self._sums = np.zeros((NUM_ACTIONS, NUM_SUMS), dtype=np.float64)
        self._stack = allocate(MAX_PLIES + 1)
        self._numbers = np.zeros((MAX_PLIES + 1, NUM_NUMBERS), dtype=np.int64)
        self._masks = np.zeros((MAX_PLIES + 1, NUM_MASKS), dtype=np.uint64)
        self._table_keys = np.zeros(TABLE_SIZE, dtype=np.uint64)
        self._entries = np.zeros((TABLE_SIZE, NUM_ENTRY), dtype=np.int32)

    def _decide(self, views: Games, tables: Tables, keys: Any, out: Any) -> None:
        settings = self.settings
        pimc_rows(
            views,
            tables,
            settings.policy_id,
            self._net,
            settings.depth,
            settings.trust,
            settings.caution,
            int(settings.weigh),
            int(settings.early),
            settings.endgame,
            int(settings.solver == "maxn"),
            NODE_BUDGET,
            settings.worlds,
            keys,
            self._worlds,
            self._actions,
            self._sums,
            self._stack,
            self._numbers,
            self._masks,
            self._table_keys,
            self._entries,
            out,
        )


class IsmctsAgent(SearchAgent):
    """Information-set Monte-Carlo tree search, see ``agents.search.ismcts``."""

    def __init__(self, settings: IsmctsSettings, net: Net | None = None) -> None:
        self.name = settings.name
        self.settings = settings
        self._net = net
        room = settings.iterations + 2 * NUM_ACTIONS + 1  # at least one for each action
        self._worlds = allocate(4)
        self._candidates = np.zeros(NUM_ACTIONS, dtype=np.int64)
        self._sums = np.zeros((NUM_ACTIONS, NUM_SUMS), dtype=np.float64)
        self._actions = np.zeros(NUM_ACTIONS, dtype=np.int64)
        self._nodes = np.zeros((room, NUM_NODE), dtype=np.int64)
        self._rewards = np.zeros(room, dtype=np.float64)
        self._path = np.zeros(MAX_DEPTH, dtype=np.int64)

    def _decide(self, views: Games, tables: Tables, keys: Any, out: Any) -> None:
        ismcts_rows(
            views,
            tables,
            self.settings.policy_id,
            self._net,
            self.settings.depth,
            self.settings.iterations,
            self.settings.exploration,
            self.settings.widen,
            self.settings.trust,
            self.settings.caution,
            int(self.settings.weigh),
            int(self.settings.early),
            keys,
            self._worlds,
            self._candidates,
            self._sums,
            self._actions,
            self._nodes,
            self._rewards,
            self._path,
            out,
        )


def make_search(settings: SearchSettings, net: Net | None = None) -> SearchAgent:
    """Returns the search agent of some settings, with the network that they may ask for."""
    if isinstance(settings, IsmctsSettings):
        return IsmctsAgent(settings, net)
    return PimcAgent(settings, net)
