"""The rule-based agent: card play by terms and weights, choices before play by hand values.

It plays any contract that is made of units, by the rule table; it has no randomness.
"""

from __future__ import annotations

from typing import Any, Final

from agents.hand_values import CARD_WEIGHTS, HAND_MEANS, HAND_WEIGHTS
from agents.kernels.bidding import choose_before_play
from agents.kernels.cards import best_card
from agents.kernels.ordering import choose_ordering
from king_env.engine.jit import inline
from king_env.engine.layout import PHASE_PLAY, i64
from king_env.rules.tables import DECISION_ORDER

_FIRST_ROW: Final = 0


@inline
def rule_action(g: Any, t: Any) -> Any:
    """Returns the rule-based agent's action."""
    d = g.deal
    if d.phase == PHASE_PLAY:
        return best_card(d, t, CARD_WEIGHTS, i64(_FIRST_ROW))
    if t.deal_decision[g.position] == DECISION_ORDER:
        return choose_ordering(g, t, HAND_WEIGHTS, HAND_MEANS)
    return choose_before_play(g, t, HAND_WEIGHTS, HAND_MEANS)
