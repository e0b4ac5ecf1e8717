"""What an agent is: a view of one seat in, an action out, and the same for many games at once.

A view never holds the state: it is a copy of the game record with everything hidden blanked out.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from king_env.engine.actions import ActionId
from king_env.engine.jit import kernel
from king_env.engine.layout import Games, Tables, i64
from king_env.engine.rng import STREAM_ACTIONS, draw, make_key
from king_env.view import View

__all__ = ["BatchPolicy", "Policy", "View", "decision_keys"]


@runtime_checkable
class Policy(Protocol):
    """An agent: chooses an action from a view."""

    name: str

    def act(self, view: View, rng: np.random.Generator) -> ActionId:
        """Returns a legal action for the seat of the view, which is to act."""


@runtime_checkable
class BatchPolicy(Policy, Protocol):
    """An agent that can decide in many games at once."""

    def act_batch(
        self, views: Games, tables: Tables, keys: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        """Returns a legal action for the seat to act of each view.

        Args:
            views: `[M]` games, each blanked for its seat to act.
            tables: rule tables of the views.
            keys: `[M]` random keys, one for each decision: the agent's only source of chance.
        """


@kernel
def decision_keys(games: Any, rows: Any, agent_seed: int, keys: Any) -> None:
    """Writes the random key of the next decision in each game of ``rows``.

    A key is a function of (agent seed, match, deal, number of the decision), so that what an agent
    draws depends on nothing else, and never on the cards' own stream.
    """
    for row in range(rows.shape[0]):
        g = games[rows[row]]
        key = make_key(agent_seed, g.match, i64(g.position), STREAM_ACTIONS)
        keys[row] = draw(key, g.deal.decisions)
