"""What sampling says of each action in one position, for those who want to look at it.

This is what ``pimc:W`` looks at first: all actions in the same W worlds, each played out by a
policy for all four seats. The agent goes on from there: it halves the field, trusts the rule-based
agent's scores, and wants a lead of some standard errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from agents.ids import POLICY_IDS
from agents.kernels.policies import choose_action
from agents.search.labels import value_actions
from agents.search.names import UNLIMITED
from agents.search.worlds import PLAY_OUT, find_action, list_actions
from king_env.engine.actions import NUM_ACTIONS, ActionId
from king_env.engine.jit import kernel
from king_env.engine.layout import allocate, i64
from king_env.engine.rng import draw
from king_env.view import View


@dataclass(frozen=True)
class ActionValue:
    """What an action is worth.

    Attributes:
        action: its id; of cards that make no difference the lowest stands for all.
        name: its name.
        lead: points by which it leads the policy's own choice, mean over the worlds.
        error: standard error of the lead; 0 for the choice itself.
        chosen: it is the policy's own choice.
    """

    action: ActionId
    name: str
    lead: float
    error: float
    chosen: bool


@kernel
def list_candidates(views: Any, tables: Any, policy: int, key: int, actions: Any) -> Any:
    """Writes the actions that differ of the first view's seat to act.

    Args:
        views: `[1]` games, blanked for the seat to act.
        tables: rule tables.
        policy: id of the policy whose own choice is asked for.
        key: uint64, random key of the decision.
        actions: `[A]` int64, out.

    Returns:
        How many they are, and the place of the policy's own choice among them.
    """
    view = views[0]
    t = tables[view.variant]
    size = list_actions(view.deal, t, actions)
    own = i64(choose_action(policy, view, t, draw(key, PLAY_OUT)))
    return size, find_action(view.deal, t, actions, size, own)


def action_values(
    view: View, rng: np.random.Generator, worlds: int = 20, policy: str = "rule"
) -> list[ActionValue]:
    """Returns what each action of the seat to act is worth in sampled worlds, best first.

    Args:
        view: the position; its seat is to act.
        rng: draws the worlds.
        worlds: worlds, all actions in each of them.
        policy: name of the compiled policy that plays out, and whose choice is compared with.

    Raises:
        ValueError: if the seat is not to act, there are too few worlds, or there is no such policy.
    """
    if not view.legal_actions:
        raise ValueError(f"view: seat {view.seat} is not to act")
    if worlds < 2:
        raise ValueError(f"worlds: found {worlds}; allowed: 2 and more")
    if policy not in POLICY_IDS:
        raise ValueError(f"policy: found {policy!r}; allowed: {', '.join(POLICY_IDS)}")
    keys = rng.integers(0, 2**64, 1, dtype=np.uint64)
    number = POLICY_IDS[policy]
    actions = np.zeros(NUM_ACTIONS, dtype=np.int64)
    size, own = list_candidates(view.record, view.tables, number, keys[0], actions)
    paid = np.zeros((NUM_ACTIONS, worlds))
    if size > 1:
        leads = np.zeros((1, NUM_ACTIONS), dtype=np.float32)
        room = np.zeros(NUM_ACTIONS, dtype=np.int64)
        value_actions(
            view.record, view.tables, number, None, UNLIMITED, worlds, keys,
            allocate(2), room, paid, leads,
        )  # fmt: skip
    ahead = paid[:size] - paid[own]
    errors = ahead.std(axis=1, ddof=1) / math.sqrt(worlds)
    found = [
        ActionValue(
            int(action), view.names.format(int(action)), float(ahead[a].mean()), float(errors[a]),
            a == own,
        )
        for a, action in enumerate(actions[:size])
    ]  # fmt: skip
    return sorted(found, key=lambda value: (-value.lead, not value.chosen))
