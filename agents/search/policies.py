"""Search agents: one view in, an action out, and the same for many views in one call.

A decision is a function of the view and its random key alone, whatever the batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from agents.search.names import PimcSettings
from agents.search.pimc import pimc_rows
from king_env.engine.actions import NUM_ACTIONS, ActionId
from king_env.engine.layout import Games, Tables, allocate
from king_env.view import View


class SearchAgent:
    """An agent that searches; a kind of search fills in ``_decide``.

    Attributes:
        name: its name in the registry.
    """

    name: str

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

    def __init__(self, settings: PimcSettings) -> None:
        self.name = settings.name
        self.settings = settings
        self._worlds = allocate(settings.worlds + 1)
        self._actions = np.zeros(NUM_ACTIONS, dtype=np.int64)
        self._prior = np.zeros(NUM_ACTIONS)
        self._values = np.zeros((NUM_ACTIONS, settings.worlds), dtype=np.float64)

    def _decide(self, views: Games, tables: Tables, keys: Any, out: Any) -> None:
        pimc_rows(
            views,
            tables,
            self._worlds,
            self.settings.policy_id,
            keys,
            self._actions,
            self._values,
            self._prior,
            self.settings.prior,
            self.settings.caution,
            out,
        )


def make_search(settings: PimcSettings) -> SearchAgent:
    """Returns the search agent of some settings."""
    return PimcAgent(settings)
