"""Perft: the number of legal continuations of a game to a given depth.

A change in any rule changes some count, and any two engines of the same rules agree on all.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from king_env.engine.jit import i64, kernel
from king_env.engine.layout import Games, Tables, allocate
from king_env.engine.step import apply, nth_legal, num_legal

MAX_DEPTH: Final = 16


@kernel
def count_lines(stack: Any, tables: Any, next_action: Any, depth: int) -> int:
    """Returns the number of lines of ``depth`` actions from ``stack[0]``; shorter ones end there.

    Args:
        stack: `[depth]` games or more; the first is the position, the rest is scratch.
        tables: rule tables.
        next_action: `[depth]` int64, scratch: the legal action to try next, by level.
        depth: 1 or more; the last actions are counted, not played.
    """
    lines = 0
    level = 0
    next_action[0] = 0
    while level >= 0:
        g = stack[level]
        legal = i64(num_legal(g.deal))
        if level == depth - 1 or legal == 0:
            lines += max(1, legal)
            level -= 1
        elif next_action[level] == legal:
            level -= 1
        else:
            action = nth_legal(g.deal, next_action[level])
            next_action[level] += 1
            stack[level + 1] = stack[level]
            below = stack[level + 1]
            apply(below, tables[below.variant], action)
            level += 1
            next_action[level] = 0
    return lines


def perft(games: Games, tables: Tables, index: int, depth: int) -> int:
    """Returns the number of lines of ``depth`` actions from ``games[index]``.

    A line that reaches the end of the episode earlier counts once.

    Raises:
        ValueError: if the depth is not 1 .. MAX_DEPTH.
    """
    if not 1 <= depth <= MAX_DEPTH:
        raise ValueError(f"depth: found {depth}; allowed: 1 to {MAX_DEPTH}")
    stack = allocate(depth)
    stack[0] = games[index]
    return int(count_lines(stack, tables, np.zeros(depth, dtype=np.int64), depth))
