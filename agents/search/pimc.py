"""Flat Monte-Carlo over worlds with perfect information.

For the seat to act, worlds that fit its view are drawn; in each, every candidate action is applied
and the deal is played out by a policy for all four seats. The action with the best mean payoff is
played. All actions meet the same worlds (common random numbers), which takes most of the noise out
of their differences.

Source: Ginsberg 2001, "GIB: Imperfect information in a computationally challenging game", section
3 (Monte-Carlo card play); Long, Sturtevant, Buro, Furtak 2010, "Understanding the success of
perfect information Monte Carlo sampling in game tree search".

Axes: M rows, W worlds, A candidate actions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.hand_values import HAND_MEANS
from agents.kernels.policies import choose_action
from agents.search.endgame import FAILED, points_so_far, solve_maxn, solve_paranoid
from agents.search.worlds import (
    PLAY_OUT,
    contract_par,
    draw_world,
    find_action,
    list_actions,
    payoff,
    play_out,
)
from king_env.engine.jit import inline, kernel, popcount
from king_env.engine.layout import PHASE_OVER, PHASE_PLAY, i64
from king_env.engine.rng import draw
from king_env.engine.step import apply

@inline
def try_action(
    worlds: Any, w: Any, last: Any, t: Any, seat: Any, action: Any, policy: Any, key: Any, par: Any
) -> Any:
    """Returns the payoff of an action in world ``w``; ``worlds[last]`` is room to play it."""
    worlds[last] = worlds[w]
    g = worlds[last]
    apply(g, t, action)
    # A contract chosen by this very action is measured against its par.
    surplus = contract_par(g, t, HAND_MEANS) if par else 0.0
    play_out(g, t, policy, key)
    return payoff(g, t, seat) - surplus


@inline
def solve_action(
    worlds: Any,
    w: Any,
    t: Any,
    seat: Any,
    action: Any,
    maxn: Any,
    stack: Any,
    numbers: Any,
    masks: Any,
    keys: Any,
    entries: Any,
    salt: Any,
    budget: Any,
) -> Any:
    """Returns four times the payoff of an action in world ``w`` by exact play, or FAILED."""
    stack[0] = worlds[w]
    g = stack[0]
    apply(g, t, action)
    if g.deal.phase == PHASE_OVER:
        return i64(4.0 * payoff(g, t, seat))
    before = points_so_far(g, t, seat)
    if maxn:
        value = solve_maxn(stack, t, seat, numbers, masks, keys, entries, salt, budget)
    else:
        value = solve_paranoid(stack, t, seat, numbers, masks, keys, entries, salt, budget)
    return value if value == FAILED else value + before


@inline
def best_action(values: Any, size: Any, num_worlds: Any, favourite: Any, caution: Any) -> Any:
    """Returns the row of ``values`` that leads the favourite's by most, or the favourite.

    A lead is a mean over worlds less ``caution`` standard errors: a few worlds are noise, and the
    policy's own choice is a good one.
    """
    best = i64(favourite)
    best_lead = 1e-6
    for a in range(size):
        total = 0.0
        squares = 0.0
        for w in range(num_worlds):
            lead = values[a, w] - values[favourite, w]
            total += lead
            squares += lead * lead
        mean = total / num_worlds
        variance = max(0.0, squares / num_worlds - mean * mean) / max(1, num_worlds - 1)
        lead = mean - caution * np.sqrt(variance)
        if lead > best_lead:
            best = i64(a)
            best_lead = lead
    return best


@kernel
def pimc_rows(
    views: Any,
    tables: Any,
    policy: int,
    caution: float,
    endgame: int,
    maxn: int,
    budget: int,
    keys: Any,
    worlds: Any,
    actions: Any,
    values: Any,
    stack: Any,
    numbers: Any,
    masks: Any,
    table_keys: Any,
    entries: Any,
    out: Any,
) -> None:
    """Writes the action of flat Monte-Carlo for the seat to act of each view.

    Args:
        views: `[M]` games that are not over, blanked for the seat to act.
        tables: rule tables.
        policy: id of the policy that plays worlds out.
        caution: standard errors that an action must lead the policy's own choice by.
        endgame: cards in hand from which on worlds are solved instead of played out; 0: never.
        maxn: 1: solve by max^n, 0: paranoid.
        budget: positions to look at for one action in one world before it is played out after all.
        keys: `[M]` uint64, random keys of the decisions.
        worlds: `[W + 1]` games, room for the worlds and for one play-out.
        actions: `[A]` int64, room.
        values: `[A, W]` float64, room.
        stack, numbers, masks, table_keys, entries: room, see ``endgame.solve_rows``.
        out: `[M]` int64, out.
    """
    num_worlds = worlds.shape[0] - 1
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
        out[row] = own
        favourite = find_action(d, t, actions, size, own)
        par = i64(d.phase != PHASE_PLAY)
        solved = d.phase == PHASE_PLAY and popcount(d.hands[seat]) <= endgame
        for w in range(num_worlds):
            world_key = draw(key, w)
            worlds[w] = views[row]
            if not draw_world(worlds[w], t, seat, world_key):
                break
            for a in range(size):
                value = i64(FAILED)
                if solved:
                    value = solve_action(
                        worlds, w, t, seat, actions[a], maxn,
                        stack, numbers, masks, table_keys, entries, world_key, budget,
                    )  # fmt: skip
                if value == FAILED:
                    world_chance = draw(world_key, PLAY_OUT)
                    values[a, w] = try_action(
                        worlds, w, num_worlds, t, seat, actions[a], policy, world_chance, par
                    )
                else:
                    values[a, w] = 0.25 * value
        best = best_action(values, size, num_worlds, favourite, caution)
        if best != favourite:
            out[row] = actions[best]
