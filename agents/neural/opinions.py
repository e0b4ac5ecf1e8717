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

WORST: Final = -40.0
"""Points below the agent's choice that a card falls to at most: beyond that it is simply bad."""
DOUBT: Final = -5.0
"""Points below the agent's choice that other bids and contracts stand: it does not rank them."""


@inline
def write_points(g: Any, t: Any, order: Any, points: Any, row: Any) -> None:
    """Writes one row of ``rule_points``."""
    d = g.deal
    back = inverse_order(order)
    choice = i64(rule_action(g, t))
    for action in range(points.shape[1]):
        points[row, action] = DOUBT
    points[row, real_action(t, back, choice)] = 0.0
    if d.phase != PHASE_PLAY:
        return
    hand, unseen, beaten, beating, group = sight_of(d, t)
    top = card_score(d, t, hand, unseen, beaten, beating, choice, group, CARD_WEIGHTS, i64(-1))
    left = d.legal[0]
    while left != ZERO:
        card = i64(lowest(left))
        left &= left - ONE
        score = card_score(d, t, hand, unseen, beaten, beating, card, group, CARD_WEIGHTS, i64(-1))
        points[row, real_action(t, back, card)] = max(WORST, score - top)


@kernel
def rule_points(games: Any, tables: Any, rows: Any, orders: Any, points: Any) -> None:
    """Writes how many points below its own choice the rule-based agent sees each action.

    A card stands as far below as the agent's own estimates differ, down to ``WORST``; bids and
    contracts that it does not choose stand ``DOUBT`` below. Illegal actions say nothing.

    Args:
        games: `[N]` games, or views of the seats to act.
        tables: rule tables.
        rows: `[M]` int64, indices of games.
        orders: `[M]` uint8, orders of suits.
        points: `[M, A]` float32, out, in canonical suits, 0 for the agent's choice.
    """
    for row in range(rows.shape[0]):
        g = games[rows[row]]
        write_points(g, tables[g.variant], i64(orders[row]), points, row)
