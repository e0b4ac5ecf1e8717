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

from typing import Any, Final

import numpy as np

from agents.hand_values import CARD_WEIGHTS, HAND_MEANS
from agents.kernels.cards import card_score, group_of
from agents.kernels.policies import choose_action
from agents.search.worlds import (
    contract_par,
    draw_world,
    find_action,
    list_actions,
    payoff,
    play_out,
)
from king_env.engine.jit import inline, kernel
from king_env.engine.layout import PHASE_OVER, PHASE_PLAY, i64
from king_env.engine.observe import beaten_by_any, beating_any, unseen_by
from king_env.engine.rng import draw
from king_env.engine.step import apply

PLAY_OUT: Final = 1_000_000
"""Number of the draw that keys the policy's chance in a world; the worlds' own draws come below."""


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
def best_mean(
    values: Any, size: Any, num_worlds: Any, favourite: Any, prior: Any, weight: Any, caution: Any
) -> Any:
    """Returns the row of ``values`` with the highest mean; of equal ones ``favourite``, if it is
    one of them, else the first.
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
        mean = (total + weight * (prior[a] - prior[favourite])) / (num_worlds + weight)
        lead = mean - caution * np.sqrt(variance)
        if lead > best_lead:
            best = i64(a)
            best_lead = lead
    return best


@inline
def set_prior(d: Any, t: Any, actions: Any, size: Any, prior: Any) -> None:
    """Writes what the rule-based agent thinks of the actions, in points."""
    if d.phase != PHASE_PLAY:
        for a in range(size):
            prior[a] = 0.0
        return
    hand = d.hands[d.actor]
    unseen = unseen_by(d, t, d.actor)
    group = group_of(d, hand)
    flipped = i64(t.reversed[d.contract])
    beaten = beaten_by_any(unseen, flipped)
    beating = beating_any(unseen, flipped)
    for a in range(size):
        prior[a] = card_score(
            d, t, hand, unseen, beaten, beating, actions[a], group, CARD_WEIGHTS, i64(-1)
        )


@inline
def decide(
    views: Any, i: Any, t: Any, worlds: Any, policy: Any, key: Any, actions: Any, values: Any, prior: Any, weight: Any, caution: Any
) -> Any:
    """Returns the action with the best mean payoff for the seat to act of ``views[i]``."""
    view = views[i]
    d = view.deal
    seat = i64(d.actor)
    size = list_actions(d, t, actions)
    if size == 1:
        return actions[0]
    num_worlds = worlds.shape[0] - 1
    par = i64(d.phase != PHASE_PLAY)
    own = i64(choose_action(policy, view, t, draw(key, PLAY_OUT)))
    favourite = find_action(d, t, actions, size, own)
    for w in range(num_worlds):
        world_key = draw(key, w)
        worlds[w] = view
        world = worlds[w]
        if not draw_world(world, t, seat, world_key):
            return own
        for a in range(size):
            values[a, w] = try_action(
                worlds, w, num_worlds, t, seat, actions[a], policy, draw(world_key, PLAY_OUT), par
            )
    set_prior(d, t, actions, size, prior)
    best = best_mean(values, size, num_worlds, favourite, prior, weight, caution)
    return own if best == favourite else actions[best]


@kernel
def pimc_rows(
    views: Any,
    tables: Any,
    worlds: Any,
    policy: int,
    keys: Any,
    actions: Any,
    values: Any,
    prior: Any,
    weight: float,
    caution: float,
    out: Any,
) -> None:
    """Writes the action of flat Monte-Carlo for the seat to act of each view.

    Args:
        views: `[M]` games that are not over, blanked for the seat to act.
        tables: rule tables.
        worlds: `[W + 1]` games, room for the worlds and for one play-out.
        policy: id of the policy that plays worlds out.
        keys: `[M]` uint64, random keys of the decisions.
        actions: `[A]` int64, room.
        values: `[A, W]` float64, room.
        out: `[M]` int64, out.
    """
    for row in range(views.shape[0]):
        view = views[row]
        if view.deal.phase != PHASE_OVER:
            t = tables[view.variant]
            out[row] = decide(views, row, t, worlds, policy, keys[row], actions, values, prior, weight, caution)
