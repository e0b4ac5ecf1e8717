"""Single-observer information-set Monte-Carlo tree search.

One tree over the public course of the deal, seen by the seat to act. Every iteration draws one
world that fits its view and walks down the tree along actions that are legal in that world. What
was legal how often is counted at each node, since an action that is rarely possible must not look
neglected. Each seat on the way takes what promises most to itself, a new node is added, the policy
plays the deal out, and every node on the path learns what its mover got.

Source: Cowling, Powley, Whitehouse 2012, "Information Set Monte Carlo Tree Search", section IV.B,
algorithm 1 (SO-ISMCTS); Auer, Cesa-Bianchi, Fischer 2002, "Finite-time analysis of the multiarmed
bandit problem", figure 1 (UCB1).

Axes: M rows, T nodes of the tree, A candidate actions.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from agents.hand_values import HAND_MEANS
from agents.kernels.policies import choose_action
from agents.search.worlds import (
    PLAY_OUT,
    contract_par,
    draw_world,
    find_action,
    list_actions,
    payoff,
    play_out,
)
from king_env.engine.jit import inline, kernel
from king_env.engine.layout import PHASE_OVER, PHASE_PLAY, i64
from king_env.engine.rng import below, draw
from king_env.engine.step import apply

CHILD, SIBLING, ACTION, SEAT, VISITS, AVAILABLE = range(6)
NUM_NODE: Final = 6
"""Columns of ``nodes``: first child and next sibling (0: none, as the root is nobody's child), the
action that leads here, who takes it, how often it was taken, how often it could have been."""

TOTAL, SQUARES = range(2)
"""Columns of ``rewards``: sum of the mover's rewards, and of their squares."""

WIDEN: Final = 20
"""Visits of a node for each action tried there: until then the mover is taken to play as the policy
does. Seats tried at random would be no opponents, and the tree no deeper."""

EXPAND: Final = 2_000_000
"""Number of the draw that picks a new node's action, plus the decision's number in the deal."""

MAX_DEPTH: Final = 256


@inline
def promise(nodes: Any, rewards: Any, node: Any, exploration: Any) -> Any:
    """Returns a node's upper confidence bound, UCB1 with availability for the parent's visits."""
    visits = nodes[node, VISITS]
    spread = np.sqrt(np.log(1.0 * nodes[node, AVAILABLE]) / visits)
    return rewards[node, TOTAL] / visits + exploration * spread


@inline
def best_child(
    nodes: Any, rewards: Any, node: Any, actions: Any, size: Any, exploration: Any
) -> Any:
    """Returns the possible child that promises most, and how many actions have no child yet.

    Possible children come to count as available; the actions without a child are moved to the front
    of ``actions``.
    """
    best = i64(0)
    best_promise = -1e300
    untried = i64(size)
    child = nodes[node, CHILD]
    while child != 0:
        for a in range(untried):
            if actions[a] == nodes[child, ACTION]:
                untried -= 1
                actions[a] = actions[untried]
                actions[untried] = nodes[child, ACTION]
                nodes[child, AVAILABLE] += 1
                found = promise(nodes, rewards, child, exploration)
                if found > best_promise:
                    best = i64(child)
                    best_promise = found
                break
        child = nodes[child, SIBLING]
    return best, untried


@inline
def add_child(nodes: Any, rewards: Any, node: Any, new: Any, action: Any, seat: Any) -> None:
    """Hangs node ``new`` below ``node``."""
    nodes[new, CHILD] = 0
    nodes[new, SIBLING] = nodes[node, CHILD]
    nodes[new, ACTION] = action
    nodes[new, SEAT] = seat
    nodes[new, VISITS] = 0
    nodes[new, AVAILABLE] = 1
    rewards[new, TOTAL] = 0.0
    rewards[new, SQUARES] = 0.0
    nodes[node, CHILD] = new


@inline
def untried_action(
    g: Any, t: Any, policy: Any, actions: Any, untried: Any, size: Any, key: Any
) -> Any:
    """Returns the action to add a node for: the policy's own choice first, then any."""
    if untried == size and size > 1:
        own = i64(choose_action(policy, g, t, key))
        return actions[find_action(g.deal, t, actions, size, own)]
    return actions[below(draw(key, EXPAND), untried)]


@inline
def walk(
    g: Any,
    t: Any,
    root_seat: Any,
    policy: Any,
    exploration: Any,
    key: Any,
    actions: Any,
    nodes: Any,
    rewards: Any,
    path: Any,
    used: Any,
) -> Any:
    """Does one iteration in world ``g``; returns the number of nodes used after it."""
    d = g.deal
    node = i64(0)
    depth = i64(0)
    par = 0.0
    before = used
    while d.phase != PHASE_OVER and used == before and depth < MAX_DEPTH:
        size = list_actions(d, t, actions)
        seat = i64(d.actor)
        chooses = d.phase != PHASE_PLAY
        child, untried = best_child(nodes, rewards, node, actions, size, exploration)
        wide = node == 0 or nodes[node, VISITS] >= WIDEN * (size - untried)
        if untried > 0 and (wide or untried == size):
            chance = draw(key, EXPAND + i64(d.decisions))
            action = i64(untried_action(g, t, policy, actions, untried, size, chance))
            child = i64(used)
            add_child(nodes, rewards, node, child, action, seat)
            used += 1
        action = i64(nodes[child, ACTION])
        apply(g, t, action)
        if chooses and d.phase == PHASE_PLAY:
            par = contract_par(g, t, HAND_MEANS)
        node = i64(child)
        path[depth] = node
        depth += 1
    play_out(g, t, policy, draw(key, PLAY_OUT))
    scale = 1.0 / t.point_scale
    for place in range(depth):
        visited = path[place]
        mover = nodes[visited, SEAT]
        reward = payoff(g, t, mover)
        if mover == root_seat:
            reward -= par
        nodes[visited, VISITS] += 1
        rewards[visited, TOTAL] += reward * scale
        rewards[visited, SQUARES] += reward * scale * reward * scale
    return used


@inline
def best_of_root(nodes: Any, rewards: Any, favourite: Any, caution: Any) -> Any:
    """Returns the root's action that leads the policy's own choice by most, or that choice.

    A lead is a difference of means less ``caution`` standard errors.
    """
    own = i64(0)
    child = nodes[0, CHILD]
    while child != 0:
        if nodes[child, ACTION] == favourite:
            own = i64(child)
        child = nodes[child, SIBLING]
    best = i64(favourite)
    best_lead = 1e-6
    child = nodes[0, CHILD]
    while child != 0 and own != 0:
        if child != own:
            lead = rewards[child, TOTAL] / nodes[child, VISITS]
            lead -= rewards[own, TOTAL] / nodes[own, VISITS]
            noise = mean_variance(nodes, rewards, child) + mean_variance(nodes, rewards, own)
            lead -= caution * np.sqrt(noise)
            if lead > best_lead:
                best = i64(nodes[child, ACTION])
                best_lead = lead
        child = nodes[child, SIBLING]
    return best


@inline
def mean_variance(nodes: Any, rewards: Any, node: Any) -> Any:
    """Returns the variance of the mean of a node's rewards; large with few visits."""
    visits = nodes[node, VISITS]
    mean = rewards[node, TOTAL] / visits
    return (max(0.0, rewards[node, SQUARES] / visits - mean * mean) + 1.0 / visits) / visits


@kernel
def ismcts_rows(
    views: Any,
    tables: Any,
    policy: int,
    iterations: int,
    exploration: float,
    caution: float,
    keys: Any,
    worlds: Any,
    actions: Any,
    nodes: Any,
    rewards: Any,
    path: Any,
    out: Any,
) -> None:
    """Writes the action that the tree search finds best for the seat to act of each view.

    Args:
        views: `[M]` games that are not over, blanked for the seat to act.
        tables: rule tables.
        policy: id of the policy that plays worlds out.
        iterations: worlds drawn for a decision.
        exploration: weight of the confidence term; rewards are payoffs over the variant's scale.
        caution: standard errors that an action must lead the policy's own choice by.
        keys: `[M]` uint64, random keys of the decisions.
        worlds: `[1]` games, room.
        actions: `[A]` int64, room.
        nodes: `[T, NUM_NODE]` int64, room for the tree; T is above ``iterations``.
        rewards: `[T, 2]` float64, room.
        path: `[MAX_DEPTH]` int64, room.
        out: `[M]` int64, out.
    """
    for row in range(views.shape[0]):
        view = views[row]
        d = view.deal
        if d.phase == PHASE_OVER:
            continue
        t = tables[view.variant]
        key = keys[row]
        seat = i64(d.actor)
        size = list_actions(d, t, actions)
        out[row] = actions[0]
        if size == 1:
            continue
        own = i64(choose_action(policy, view, t, draw(key, PLAY_OUT)))
        favourite = actions[find_action(d, t, actions, size, own)]
        out[row] = own
        nodes[0, CHILD] = 0
        used = i64(1)
        for n in range(iterations):
            world_key = draw(key, n)
            worlds[0] = views[row]
            if not draw_world(worlds[0], t, seat, world_key):
                break
            used = walk(
                worlds[0], t, seat, policy, exploration, world_key,
                actions, nodes, rewards, path, used,
            )  # fmt: skip
        best = best_of_root(nodes, rewards, favourite, caution)
        if best != favourite:
            out[row] = best
