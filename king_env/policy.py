"""What an agent is: a view of one seat in, an action out, and the same for many games at once.

A view never holds the state: it is a copy of the game record with everything hidden blanked out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from king_env.engine import batch, sample
from king_env.engine.actions import ActionId, ActionNames
from king_env.engine.jit import kernel
from king_env.engine.layout import PHASES, Games, Tables, i64
from king_env.engine.rng import STREAM_ACTIONS, draw, make_key
from king_env.view import View, legal_ids

if TYPE_CHECKING:
    from king_env.rules.catalogue import Variant

__all__ = [
    "AgentActionError",
    "BatchPolicy",
    "Policy",
    "View",
    "ask",
    "ask_one",
    "check_answers",
    "decision_keys",
]


class AgentActionError(ValueError):
    """An agent chose an action that is not legal."""


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


def ask_one(agent: Policy, view: View, key: np.uint64) -> ActionId:
    """Returns what an agent does in one game; the key is its only source of chance."""
    if isinstance(agent, BatchPolicy):
        keys = np.array([key], dtype=np.uint64)
        return int(agent.act_batch(view.record, view.tables, keys)[0])
    return int(agent.act(view, np.random.Generator(np.random.PCG64(int(key)))))


def ask(
    agent: Policy,
    variants: Sequence[Variant],
    games: Games,
    tables: Tables,
    rows: npt.NDArray[np.int64],
    agent_seed: int,
    views: Games,
    history: Sequence[Sequence[tuple[int, ActionId]]],
) -> npt.NDArray[np.int64]:
    """Returns an agent's actions for the seats to act of some games; it sees views only.

    Args:
        agent: a policy; one with ``act_batch`` is asked once.
        variants: the rules, by ``games.variant``.
        games: `[N]` games.
        tables: rule tables of the variants.
        rows: `[M]` int64, games in which it is to act.
        agent_seed: seed of its draws, see ``decision_keys``.
        views: `[M]` games at least, scratch.
        history: by game, the (seat, action id) of the deal so far; read for policies without
            ``act_batch`` only.

    Raises:
        AgentActionError: if ``act_batch`` returns something else than `[M]` integers.
    """
    keys = np.zeros(len(rows), dtype=np.uint64)
    seed: Any = np.uint64(agent_seed)
    decision_keys(games, rows, seed, keys)
    actions = np.zeros(len(rows), dtype=np.int64)
    if isinstance(agent, BatchPolicy):
        sample.hide_actors(games, tables, rows, views)
        seen: Any = views[: len(rows)]
        chosen = np.asarray(agent.act_batch(seen, tables, keys))
        if chosen.shape != rows.shape:
            raise AgentActionError(
                f"agent {agent.name!r}: act_batch returned shape {chosen.shape}; "
                f"expected {rows.shape}"
            )
        if chosen.dtype.kind not in "iu":
            raise AgentActionError(
                f"agent {agent.name!r}: act_batch returned {chosen.dtype}; expected integers"
            )
        actions[:] = chosen
        return actions
    for row, game in enumerate(rows):
        seat = int(games.deal.actor[game])
        variant = variants[int(games.variant[game])]
        view = View(variant, games, tables, int(game), seat, history[game])
        actions[row] = ask_one(agent, view, keys[row])
    return actions


def check_answers(
    agents: Sequence[Policy],
    variants: Sequence[Variant],
    games: Games,
    rows: npt.NDArray[np.int64],
    actions: npt.NDArray[np.int64],
    who: npt.NDArray[np.int64],
) -> None:
    """Raises where what ``agents[who[m]]`` chose in game ``rows[m]`` is not legal.

    Raises:
        AgentActionError: naming the agent, the action, the seat, the phase and what is legal.
    """
    wrong = batch.first_illegal(games.deal.legal[rows], actions)
    if wrong < 0:
        return
    game: Any = games[rows[wrong]]
    action = int(actions[wrong])
    names = ActionNames(variants[int(game.variant)].spec)
    try:
        text = names.format(action) if action >= 0 else str(action)
    except IndexError:
        text = str(action)
    legal = ", ".join(names.format(i) for i in legal_ids(game.deal.legal))
    raise AgentActionError(
        f"agent {agents[who[wrong]].name!r}: action {text} is not legal for seat "
        f"{int(game.deal.actor)} in phase {PHASES[int(game.deal.phase)]}; legal: {legal}"
    )
