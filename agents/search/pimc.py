"""Flat Monte-Carlo over worlds with perfect information.

For the seat to act, worlds that fit its view are drawn; in each, every candidate action is applied
and the deal is played out by a policy for all four seats. ``race`` says how worlds are spent on the
actions, and which action wins.

Source: Ginsberg 2001, "GIB: Imperfect information in a computationally challenging game", section
3 (Monte-Carlo card play); Long, Sturtevant, Buro, Furtak 2010, "Understanding the success of
perfect information Monte Carlo sampling in game tree search".

Axes: M rows, W worlds, A candidate actions.
"""

from __future__ import annotations

from typing import Any

from agents.search.endgame import FAILED, points_so_far, solve_maxn, solve_paranoid
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
    find_action,
    list_actions,
    payoff,
    policy_action,
    try_action,
)
from king_env.engine.jit import inline, kernel, popcount
from king_env.engine.layout import PHASE_OVER, PHASE_PLAY, ZERO, i64
from king_env.engine.rng import draw
from king_env.engine.step import apply


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


@kernel
def pimc_rows(
    views: Any,
    tables: Any,
    policy: int,
    net: Any,
    depth: int,
    trust: float,
    caution: float,
    weigh: int,
    early: int,
    endgame: int,
    maxn: int,
    budget: int,
    num_worlds: int,
    keys: Any,
    worlds: Any,
    actions: Any,
    sums: Any,
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
        net: `Net` where that is NET, else None.
        depth: decisions of a play-out, forced moves apart, that are the policy's; then rule's.
        trust: worlds that the scores of two cards, see ``race``, count as.
        caution: standard errors that an action must lead the policy's own choice by.
        weigh: 1: worlds in PLAY are drawn in proportion to their likelihoods, 0: uniformly.
        early: 1: decisions before PLAY are searched too, 0: they are the policy's own.
        endgame: cards in hand from which on worlds are solved instead of played out; 0: never.
        maxn: 1: solve by max^n, 0: paranoid.
        budget: positions to look at for one action in one world before it is played out after all.
        num_worlds: worlds W for each action on average.
        keys: `[M]` uint64, random keys of the decisions.
        worlds: `[4]` games, room for a world, for a play-out and, with ``weigh``, for candidates.
        actions: `[A]` int64, room.
        sums: `[A, NUM_SUMS]` float64, room.
        stack: `[MAX_PLIES + 1]` games, room; this and what follows as in ``endgame.solve_rows``.
        numbers: `[MAX_PLIES + 1, NUM_NUMBERS]` int64, room.
        masks: `[MAX_PLIES + 1, NUM_MASKS]` uint64, room.
        table_keys: `[T]` uint64, room.
        entries: `[T, NUM_ENTRY]` int32, room.
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
        own = i64(policy_action(policy, net, view, t, draw(key, PLAY_OUT)))
        out[row] = own
        if d.phase != PHASE_PLAY and not early:
            continue
        start_race(view, t, net, actions, size, find_action(d, t, actions, size, own), sums)
        trusted = trust if d.phase == PHASE_PLAY else 0.0
        par = i64(d.phase != PHASE_PLAY)
        weighed = weigh and d.phase == PHASE_PLAY
        solved = d.phase == PHASE_PLAY and popcount(d.hands[seat]) <= endgame
        if solved:
            # What was found before must not help: a decision is a function of its key alone.
            for slot in range(table_keys.shape[0]):
                table_keys[slot] = ZERO
        room = num_worlds * MORE
        spend = num_worlds * size
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
                exact = solved
                for a in range(alive):
                    if not exact:
                        break
                    found = solve_action(
                        worlds, i64(0), t, seat, actions[a], maxn,
                        stack, numbers, masks, table_keys, entries, world_key, budget,
                    )  # fmt: skip
                    sums[a, VALUE] = 0.25 * found
                    exact = found != FAILED
                if not exact:  # all in the same way: solved and played out they do not compare
                    chance = draw(world_key, PLAY_OUT)
                    for a in range(alive):
                        sums[a, VALUE] = try_action(
                            worlds, i64(0), i64(1), t, seat, actions[a],
                            policy, net, i64(depth), chance, par,
                        )  # fmt: skip
                count_leads(sums, alive)
            if done > 0 and alive > 2:
                alive = halve(actions, sums, alive, done, trusted)
        if done > 0:
            best = best_action(sums, alive, done, trusted, caution)
            if best > 0:
                out[row] = actions[best]
