"""Kernels of evaluation and of the benchmarks; they play, and contain no rule.

Axes: N games, M rows.
"""

from __future__ import annotations

from typing import Any

from king_env.engine.deal import shuffle_pack
from king_env.engine.jit import kernel
from king_env.engine.layout import i64
from king_env.engine.rng import STREAM_ACTIONS, below, draw, make_key
from king_env.engine.step import begin_deal, nth_legal, num_legal


@kernel
def next_deals(games: Any, tables: Any, rows: Any) -> None:
    """Starts the next deal in games whose episode was cut after the deal that is over.

    The runner ends each episode after one deal (``end = position + 1``) to see how the deal went;
    this goes on with the match as the engine itself would have done.
    """
    for row in range(rows.shape[0]):
        g = games[rows[row]]
        t = tables[g.variant]
        g.position += 1
        g.end = g.position + 1
        shuffle_pack(g.deal, t, g.seed, g.match, g.position)
        begin_deal(g, t)


@kernel
def random_actions(games: Any, rows: Any, agent_seed: int, actions: Any) -> None:
    """Writes a uniformly drawn legal action for the seat to act of each game of ``rows``.

    Args:
        games: `[N]` games.
        rows: `[M]` int64, games that are not over.
        agent_seed: uint64, seed of the draws.
        actions: `[M]` int64, out.
    """
    for row in range(rows.shape[0]):
        g = games[rows[row]]
        d = g.deal
        key = make_key(agent_seed, g.match, i64(g.position), STREAM_ACTIONS)
        actions[row] = nth_legal(d, below(draw(key, d.decisions), num_legal(d)))
