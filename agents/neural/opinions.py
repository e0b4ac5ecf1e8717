"""What the rule-based agent thinks of each card, as a distribution that a network can imitate.

Axes: N games, M rows, A actions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.hand_values import CARD_WEIGHTS
from agents.kernels.cards import card_score, group_of
from agents.neural.features import inverse_order, real_action
from king_env.engine.jit import kernel, lowest
from king_env.engine.layout import ONE, PHASE_PLAY, ZERO, i64
from king_env.engine.observe import beaten_by_any, beating_any, unseen_by


@kernel
def rule_targets(
    games: Any, tables: Any, rows: Any, orders: Any, actions: Any, temperature: float, target: Any
) -> None:
    """Writes the distribution that stands for the rule-based agent's opinion of each decision.

    A card gets probability in proportion to ``exp(score / temperature)``, where the score is the
    agent's own estimate in points; before the first card its choice gets all.

    Args:
        games: `[N]` games.
        tables: rule tables.
        rows: `[M]` int64, indices of games.
        orders: `[M]` uint8, orders of suits.
        actions: `[M]` int64, the agent's choices, as the game names them.
        temperature: in points; 0: its choice gets all.
        target: `[M, A]` float32, out, in canonical suits.
    """
    for row in range(rows.shape[0]):
        g = games[rows[row]]
        t = tables[g.variant]
        d = g.deal
        back = inverse_order(i64(orders[row]))
        for action in range(target.shape[1]):
            target[row, action] = 0.0
        choice = i64(actions[row])
        if d.phase != PHASE_PLAY or temperature <= 0.0:
            target[row, real_action(t, back, choice)] = 1.0
            continue
        hand = d.hands[d.actor]
        unseen = unseen_by(d, t, d.actor)
        group = group_of(d, hand)
        flipped = i64(t.reversed[d.contract])
        beaten = beaten_by_any(unseen, flipped)
        beating = beating_any(unseen, flipped)
        top = card_score(d, t, hand, unseen, beaten, beating, choice, group, CARD_WEIGHTS, i64(-1))
        total = 0.0
        left = d.legal[0]
        while left != ZERO:
            card = i64(lowest(left))
            left &= left - ONE
            score = card_score(
                d, t, hand, unseen, beaten, beating, card, group, CARD_WEIGHTS, i64(-1)
            )
            share = np.exp((score - top) / temperature)
            target[row, real_action(t, back, card)] = share
            total += share
        for action in range(52):
            target[row, action] /= total
