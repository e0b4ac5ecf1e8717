"""What the rule-based agent thinks of each action: a start for a network's policy, or its lesson.

Axes: N games, M rows, A actions.
"""

from __future__ import annotations

from typing import Any, Final

from agents.hand_values import CARD_WEIGHTS
from agents.kernels.cards import card_score, sight_of
from agents.kernels.rule import rule_action
from agents.neural.features import inverse_order, real_action
from king_env.engine.jit import inline, kernel, lowest
from king_env.engine.layout import ONE, PHASE_PLAY, ZERO, i64

UNITS: Final = 64.0
"""Opinions are in 64ths of a variant's point scale, about a point of the international game: they
weigh alike where a trick counts 1 and where it counts 50."""
WORST: Final = -40.0
"""Below the agent's choice a card falls to this at most: beyond that it is simply bad."""
DOUBT: Final = -5.0
"""Below the agent's choice other bids and contracts stand here: it does not rank them."""


@inline
def write_points(g: Any, t: Any, order: Any, scores: Any, points: Any, row: Any) -> None:
    """Writes one row of ``rule_points``."""
    d = g.deal
    back = inverse_order(order)
    for action in range(points.shape[1]):
        points[row, action] = DOUBT
    if d.phase != PHASE_PLAY:
        points[row, real_action(t, back, i64(rule_action(g, t)))] = 0.0
        return
    hand, unseen, beaten, beating, group = sight_of(d, t)
    top = -1e300  # the score of the agent's choice
    left = d.legal[0]
    while left != ZERO:
        card = i64(lowest(left))
        left &= left - ONE
        scores[card] = card_score(
            d, t, hand, unseen, beaten, beating, card, group, CARD_WEIGHTS, i64(-1)
        )
        top = max(top, scores[card])
    left = d.legal[0]
    while left != ZERO:
        card = i64(lowest(left))
        left &= left - ONE
        below = (scores[card] - top) * UNITS / t.point_scale
        points[row, real_action(t, back, card)] = max(WORST, below)


@kernel
def rule_points(games: Any, tables: Any, rows: Any, orders: Any, scores: Any, points: Any) -> None:
    """Writes how far below its own choice the rule-based agent sees each action, in ``UNITS``.

    A card stands as far below as the agent's own estimates differ, down to ``WORST``; bids and
    contracts that it does not choose stand ``DOUBT`` below. Illegal actions say nothing.

    Args:
        games: `[N]` games, or views of the seats to act.
        tables: rule tables.
        rows: `[M]` int64, indices of games.
        orders: `[M]` uint8, orders of suits.
        scores: `[52]` float64, room.
        points: `[M, A]` float32, out, in canonical suits, 0 for the agent's choice.
    """
    for row in range(rows.shape[0]):
        g = games[rows[row]]
        write_points(g, tables[g.variant], i64(orders[row]), scores, points, row)
