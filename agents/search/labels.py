"""What play-outs say of each action: labels that a network can learn from.

Every action meets the same worlds, sampled ones or the deal as it is, each played out by a policy;
what counts is by how many points an action leads the policy's own choice on average.

Axes: M rows, W worlds, A actions.
"""

from __future__ import annotations

from typing import Any

from agents.search.worlds import (
    PLAY_OUT,
    draw_world,
    end_with_deal,
    equal_cards,
    find_action,
    list_actions,
    policy_action,
    try_action,
)
from king_env.engine.jit import kernel, lowest
from king_env.engine.layout import ONE, PHASE_PLAY, ZERO, i64
from king_env.engine.rng import draw


@kernel
def value_actions(
    views: Any,
    tables: Any,
    policy: int,
    net: Any,
    depth: int,
    num_worlds: int,
    keys: Any,
    worlds: Any,
    actions: Any,
    values: Any,
    leads: Any,
) -> None:
    """Writes by how many points each legal action leads the policy's own choice.

    Args:
        views: `[M]` games, each as its seat to act knows it; without worlds the games as they are.
        tables: rule tables.
        policy: number of the policy that plays worlds out, see ``policy_action``.
        net: `Net` where that is NET, else None.
        depth: decisions of a play-out, forced moves apart, that are the policy's; then rule's.
        num_worlds: sampled worlds for each action; 0: the games as they are are the only ones.
        keys: `[M]` uint64, random keys of the decisions.
        worlds: `[2]` games, room for a world and for a play-out.
        actions: `[A]` int64, room.
        values: `[A, W]` float64, room; W is ``num_worlds``, at least 1.
        leads: `[M, A]` float32, out: mean lead in points; 0 for the choice and illegal actions.
    """
    for row in range(views.shape[0]):
        for action in range(leads.shape[1]):
            leads[row, action] = 0.0
        view = views[row]
        d = view.deal
        t = tables[view.variant]
        seat = i64(d.actor)
        size = list_actions(d, t, actions)
        if size == 1:
            continue
        own = i64(policy_action(policy, net, view, t, draw(keys[row], PLAY_OUT)))
        favourite = find_action(d, t, actions, size, own)
        par = i64(d.phase != PHASE_PLAY)
        done = i64(0)
        for w in range(max(1, num_worlds)):
            key = draw(keys[row], w)
            worlds[0] = views[row]
            if num_worlds == 0:
                end_with_deal(worlds[0])
            elif not draw_world(worlds[0], t, seat, key):
                break
            for a in range(size):
                values[a, w] = try_action(
                    worlds, i64(0), i64(1), t, seat, actions[a],
                    policy, net, i64(depth), draw(key, PLAY_OUT), par,
                )  # fmt: skip
            done += 1
        for a in range(size):
            total = 0.0
            for w in range(done):
                total += values[a, w] - values[favourite, w]
            leads[row, actions[a]] = total / max(i64(1), done)
            if d.phase == PHASE_PLAY:
                same = equal_cards(d, t, actions[a])
                while same != ZERO:
                    card = i64(lowest(same))
                    same &= same - ONE
                    leads[row, card] = leads[row, actions[a]]
