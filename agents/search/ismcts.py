"""Single-observer information-set Monte-Carlo tree search.

One tree over the public course of the deal, seen by the seat to act. Every iteration walks down it
in a world that fits its view, along actions that are legal in that world. What was legal how often
is counted at each node, since an action that is rarely possible must not look neglected. Each seat
on the way takes what promises most to itself, a new node is added, the policy plays the deal out,
and every node on the path learns what its mover got.

At the root the seat's own actions do not take turns by promise: they ``race`` over common worlds,
one iteration each in every world, as what is wanted there is the best action and not its reward.

Source: Cowling, Powley, Whitehouse 2012, "Information Set Monte Carlo Tree Search", section IV.B,
algorithm 1 (SO-ISMCTS); Pepels, Cazenave, Winands, Lanctot 2014, "Minimizing simple and cumulative
regret in Monte-Carlo tree search" (halving at the root); Auer, Cesa-Bianchi, Fischer 2002,
"Finite-time analysis of the multiarmed bandit problem", figure 1 (UCB1).

Axes: M rows, T nodes of the tree, A candidate actions.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from agents.hand_values import HAND_MEANS
from agents.search.likely import draw_fitting_world
from agents.search.race import (
    MORE,
    VALUE,
    best_action,
    count_leads,
    halve,
    next_worlds,
    start_race,
)
from agents.search.worlds import (
    PLAY_OUT,
    contract_par,
    find_action,
    list_actions,
    payoff,
    play_out,
    policy_action,
)
from king_env.engine.jit import inline, kernel
from king_env.engine.layout import PHASE_OVER, PHASE_PLAY, i64
from king_env.engine.rng import below, draw
from king_env.engine.step import apply

CHILD, SIBLING, ACTION, SEAT, VISITS, AVAILABLE = range(6)
NUM_NODE: Final = 6
"""Columns of ``nodes``: first child and next sibling (0: none, as the root is nobody's child), the
action that leads here, who takes it, how often it was taken, how often it could have been."""

EXPAND: Final = 2_000_000
"""Number of the draw that picks a new node's action, plus the decision's number in the deal."""

MAX_DEPTH: Final = 256


@inline
def promise(nodes: Any, rewards: Any, node: Any, exploration: Any) -> Any:
    """Returns a node's upper confidence bound, UCB1 with availability for the parent's visits."""
    visits = nodes[node, VISITS]
    spread = np.sqrt(np.log(1.0 * nodes[node, AVAILABLE]) / visits)
    return rewards[node] / visits + exploration * spread


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
    rewards[new] = 0.0
    nodes[node, CHILD] = new


@inline
def find_child(nodes: Any, node: Any, action: Any) -> Any:
    """Returns the child of a node by an action, or 0."""
    child = i64(nodes[node, CHILD])
    while child != 0 and nodes[child, ACTION] != action:
        child = i64(nodes[child, SIBLING])
    return child


@inline
def walk(
    g: Any,
    t: Any,
    root_seat: Any,
    policy: Any,
    net: Any,
    depth: Any,
    exploration: Any,
    widen: Any,
    key: Any,
    first: Any,
    actions: Any,
    nodes: Any,
    rewards: Any,
    path: Any,
    used: Any,
) -> Any:
    """Does one iteration in world ``g`` from the root's child ``first`` on.

    Returns:
        The root seat's payoff, and the number of nodes used after it.
    """
    d = g.deal
    child = i64(first)
    length = i64(0)
    par = 0.0
    before = used
    while True:
        chooses = d.phase != PHASE_PLAY
        apply(g, t, i64(nodes[child, ACTION]))
        if chooses and d.phase == PHASE_PLAY:
            par = contract_par(g, t, HAND_MEANS)
        path[length] = child
        length += 1
        if d.phase == PHASE_OVER or used > before or length == MAX_DEPTH:
            break
        node = i64(child)
        size = list_actions(d, t, actions)
        chance = draw(key, EXPAND + i64(d.decisions))
        visits = nodes[node, VISITS]
        child, untried = best_child(nodes, rewards, node, actions, size, exploration)
        action = actions[0]
        if size > 1 and visits < widen:
            # Until then the mover plays as the policy does with its hand in this world: what it
            # did with another hand would be no guide.
            own = i64(policy_action(policy, net, g, t, chance))
            action = actions[find_action(d, t, actions, size, own)]
            child = find_child(nodes, node, action)
        elif untried == size or (untried > 0 and visits >= widen * (size - untried)):
            action = actions[below(chance, untried)]
            child = i64(0)
        if child == 0:
            child = i64(used)
            add_child(nodes, rewards, node, child, action, i64(d.actor))
            used += 1
    play_out(g, t, policy, net, depth, draw(key, PLAY_OUT))
    scale = 1.0 / t.point_scale
    gained = payoff(g, t, root_seat) - par
    for place in range(length):
        visited = path[place]
        mover = nodes[visited, SEAT]
        nodes[visited, VISITS] += 1
        rewards[visited] += scale * (gained if mover == root_seat else payoff(g, t, mover))
    return gained, used


@kernel
def ismcts_rows(
    views: Any,
    tables: Any,
    policy: int,
    net: Any,
    depth: int,
    iterations: int,
    exploration: float,
    widen: int,
    trust: float,
    caution: float,
    weigh: int,
    early: int,
    keys: Any,
    worlds: Any,
    candidates: Any,
    sums: Any,
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
        net: `Net` where that is NET, else None.
        depth: decisions of a play-out, forced moves apart, that are the policy's; then rule's.
        iterations: walks down the tree for a decision.
        exploration: weight of the confidence term; rewards are payoffs over the variant's scale.
        widen: visits of a node below the root from which on its mover looks for better actions
            than the policy's.
        trust: worlds that the scores of two cards, see ``race``, count as.
        caution: standard errors that an action must lead the policy's own choice by.
        weigh: 1: worlds in PLAY are drawn in proportion to their likelihoods, 0: uniformly.
        early: 1: decisions before PLAY are searched too, 0: they are the policy's own.
        keys: `[M]` uint64, random keys of the decisions.
        worlds: `[4]` games, room for a world, for a walk and, with ``weigh``, for candidates.
        candidates: `[A]` int64, room.
        sums: `[A, NUM_SUMS]` float64, room.
        actions: `[A]` int64, room.
        nodes: `[T, NUM_NODE]` int64, room for the tree; T is above ``iterations + A``.
        rewards: `[T]` float64, room.
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
        size = list_actions(d, t, candidates)
        out[row] = candidates[0]
        if size == 1:
            continue
        own = i64(policy_action(policy, net, view, t, draw(key, PLAY_OUT)))
        out[row] = own
        if d.phase != PHASE_PLAY and not early:
            continue
        start_race(view, t, net, candidates, size, find_action(d, t, candidates, size, own), sums)
        trusted = trust if d.phase == PHASE_PLAY else 0.0
        weighed = weigh and d.phase == PHASE_PLAY
        nodes[0, CHILD] = 0
        used = i64(1)
        for a in range(size):
            add_child(nodes, rewards, i64(0), used, candidates[a], seat)
            used += 1
        spend = max(i64(iterations), size)
        room = spend // size * MORE
        done = i64(0)
        alive = size
        while spend >= alive and done < room:
            last = min(room, done + next_worlds(spend, alive))
            spend -= (last - done) * alive
            while done < last:
                world_key = draw(key, done)
                if not draw_fitting_world(view, worlds, t, seat, world_key, weighed):
                    spend = i64(0)  # the view contradicts itself: no real game does
                    break
                done += 1
                for a in range(alive):
                    worlds[1] = worlds[0]
                    child = find_child(nodes, i64(0), candidates[a])
                    value, used = walk(
                        worlds[1], t, seat, policy, net, i64(depth), exploration, widen,
                        world_key, child,
                        actions, nodes, rewards, path, used,
                    )  # fmt: skip
                    sums[a, VALUE] = value
                count_leads(sums, alive)
            if done > 0 and alive > 2:
                alive = halve(candidates, sums, alive, done, trusted)
        if done > 0:
            best = best_action(sums, alive, done, trusted, caution)
            if best > 0:
                out[row] = candidates[best]
