"""Kernels of evaluation and of the benchmarks; they play, and contain no rule.

Axes: N games, M rows.
"""

from __future__ import annotations

from typing import Any

from king_env.engine.deal import shuffle_pack
from king_env.engine.jit import kernel, lowest, popcount
from king_env.engine.layout import ONE, i64
from king_env.engine.rng import STREAM_ACTIONS, below, draw, make_key
from king_env.engine.step import begin_deal


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
def random_actions(masks: Any, agent_seed: int, number: int, actions: Any) -> None:
    """Writes a uniformly drawn legal action for each row.

    Args:
        masks: `[M, 3]` uint64, legal actions, none of them empty.
        agent_seed: uint64, seed of the draws.
        number: number of the step, so that each draws anew.
        actions: `[M]` int64, out.
    """
    key = make_key(agent_seed, i64(number), 0, STREAM_ACTIONS)
    for row in range(actions.shape[0]):
        count = popcount(masks[row, 0]) + popcount(masks[row, 1]) + popcount(masks[row, 2])
        left = below(draw(key, row), count)
        for word in range(3):
            mask = masks[row, word]
            here = popcount(mask)
            if left < here:
                for _ in range(left):
                    mask &= mask - ONE
                actions[row] = word * 64 + lowest(mask)
                break
            left -= here
