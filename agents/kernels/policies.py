"""Which policy a number stands for."""

from __future__ import annotations

from typing import Any

from agents.ids import GREEDY, RANDOM
from agents.kernels.rule import rule_action
from agents.kernels.simple import greedy_action, random_action
from king_env.engine.jit import inline


@inline
def choose_action(policy: Any, g: Any, t: Any, key: Any) -> Any:
    """Returns the action of a policy for the seat to act.

    Args:
        policy: RANDOM, GREEDY or RULE.
        g: game record, true or blanked for the seat to act.
        t: its rule table.
        key: uint64, the decision's random key.
    """
    if policy == RANDOM:
        return random_action(g.deal, key)
    if policy == GREEDY:
        return greedy_action(g.deal, t)
    return rule_action(g, t)
