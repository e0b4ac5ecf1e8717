"""Doors for Python: policies over many games in one call.

Axes: N games, M rows.
"""

from __future__ import annotations

from typing import Any

from agents.kernels.policies import choose_action
from king_env.engine.jit import kernel
from king_env.engine.layout import PHASE_OVER, i64
from king_env.engine.rng import STREAM_ACTIONS, draw, make_key
from king_env.engine.step import apply, nth_legal, num_legal


@kernel
def act_rows(games: Any, tables: Any, rows: Any, policy: int, keys: Any, actions: Any) -> None:
    """Writes a policy's action for the seat to act in each game of ``rows``.

    Args:
        games: `[N]` games, true or blanked for the seat to act.
        tables: rule tables.
        rows: `[M]` int64, games that are not over.
        policy: the policy's id.
        keys: `[M]` uint64, random keys of the decisions.
        actions: `[M]` int64, out.
    """
    for row in range(rows.shape[0]):
        g = games[rows[row]]
        actions[row] = choose_action(policy, g, tables[g.variant], keys[row])


@kernel
def advance(games: Any, tables: Any, first: int, last: int, agent_seed: int, forced: int) -> int:
    """Plays every seat whose ``control`` is a policy's id until a seat with control 0 is to act.

    Args:
        games: `[N]` games, of which ``first .. last - 1`` are played.
        tables: rule tables.
        first: first game.
        last: one after the last game.
        agent_seed: uint64; keys are those of ``king_env.policy.decision_keys``.
        forced: 1: moves without alternative are played for every seat.

    Returns:
        The number of actions applied.
    """
    actions = 0
    for i in range(first, last):
        g = games[i]
        t = tables[g.variant]
        d = g.deal
        while d.phase != PHASE_OVER:
            policy = i64(g.control[d.actor])
            if num_legal(d) == 1 and (forced or policy > 0):
                action = nth_legal(d, 0)
            elif policy > 0:
                key = draw(make_key(agent_seed, g.match, g.position, STREAM_ACTIONS), d.decisions)
                action = i64(choose_action(policy, g, t, key))
            else:
                break
            apply(g, t, action)
            actions += 1
    return actions
