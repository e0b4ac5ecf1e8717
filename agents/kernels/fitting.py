"""Kernels that calibrate the rule-based agent: play-outs of all legal cards, matches of weights.

In ``games.control``, 1 and 2 are the random and the greedy agent and 3 + k plays by weight set k.

Axes: R rows of weights, F terms.
"""

from __future__ import annotations

from typing import Any, Final

from agents.kernels.bidding import choose_before_play
from agents.kernels.cards import (
    NUM_COUNTS,
    NUM_ROWS,
    NUM_TERMS,
    best_card,
    card_score,
    count_value,
    sight_of,
    weight_row,
)
from agents.kernels.hands import NUM_HAND_TERMS, hand_value
from agents.kernels.ordering import choose_ordering
from agents.kernels.simple import greedy_action, random_action
from king_env.engine.actions import PASS, REFUSE
from king_env.engine.jit import inline, kernel, lowest
from king_env.engine.layout import (
    NO_TRUMP,
    NUM_SEATS,
    ONE,
    PHASE_BID,
    PHASE_DECIDE,
    PHASE_OVER,
    PHASE_PLAY,
    ZERO,
    i64,
)
from king_env.engine.rng import STREAM_ACTIONS, below, draw, make_key
from king_env.engine.step import apply, nth_legal, num_legal, set_legal

FIRST_SET: Final = 3
_LABEL, _STRAY = 1000, 2000
"""Numbers of draws that decide whether a decision is labelled, and whether play strays from it."""


@inline
def fitted_action(g: Any, t: Any, key: Any, w: Any) -> Any:
    """Returns the action of the agent that controls the seat to act."""
    d = g.deal
    if num_legal(d) == 1:
        return nth_legal(d, 0)
    policy = i64(g.control[d.actor])
    if policy == 1:
        return random_action(d, key)
    if policy == 2:
        return greedy_action(d, t)
    return best_card(d, t, w, (policy - FIRST_SET) * NUM_ROWS)


@inline
def play_out(g: Any, t: Any, agent_seed: Any, w: Any) -> None:
    """Plays an episode to its end."""
    while g.deal.phase != PHASE_OVER:
        key = draw(make_key(agent_seed, g.match, g.position, STREAM_ACTIONS), g.deal.decisions)
        apply(g, t, fitted_action(g, t, key, w))


@kernel
def play_all(games: Any, tables: Any, agent_seed: int, w: Any) -> None:
    """Plays all games to their end; they start at PLAY."""
    for i in range(games.shape[0]):
        g = games[i]
        play_out(g, tables[g.variant], agent_seed, w)


@kernel
def gather(
    games: Any,
    tables: Any,
    worlds: Any,
    agent_seed: int,
    percent: int,
    w: Any,
    eye: Any,
    terms: Any,
    gram: Any,
    moment: Any,
    count: Any,
) -> None:
    """Plays games by weight set 0 and adds up, for a regression, what each legal card led to.

    The play-out keeps the real cards: over many deals they are a draw from what the seat reckons
    with, and they cost no sampling. Terms and results are taken relative to the decision's mean.

    Args:
        games: `[N]` games at PLAY.
        tables: rule tables.
        worlds: `[1]` games, room for a play-out.
        agent_seed: uint64.
        percent: share of the decisions that are labelled.
        w: `[R, F]` weights of the play-outs.
        eye: `[F, F]` unit matrix, which reads off the terms.
        terms: `[52, F + 1]` room for terms and result.
        gram: `[R, F, F]` out, added to: products of terms.
        moment: `[R, F]` out, added to: products of terms and result.
        count: `[R]` out, added to: decisions.
    """
    for i in range(games.shape[0]):
        g = games[i]
        t = tables[g.variant]
        d = g.deal
        while d.phase != PHASE_OVER:
            key = draw(make_key(agent_seed, g.match, g.position, STREAM_ACTIONS), d.decisions)
            seat = i64(d.actor)
            if (
                num_legal(d) > 1
                and below(draw(key, _LABEL), 100) < percent
                and g.control[seat] >= 3
            ):
                label(games, i, t, worlds, agent_seed, w, eye, terms, gram, moment, count)
            if below(draw(key, _STRAY), 100) < 4:
                action = random_action(d, key)
            else:
                action = fitted_action(g, t, key, w)
            apply(g, t, action)


@inline
def label(
    games: Any,
    i: Any,
    t: Any,
    worlds: Any,
    agent_seed: Any,
    w: Any,
    eye: Any,
    terms: Any,
    gram: Any,
    moment: Any,
    count: Any,
) -> None:
    """Adds one decision to the sums, see ``gather``."""
    d = games[i].deal
    seat = i64(d.actor)
    hand, unseen, beaten, beating, group = sight_of(d, t)
    row = i64(-1)
    value = i64(1)
    for counted in range(NUM_COUNTS):
        points = count_value(t, i64(d.contract), counted)
        if points != 0:
            row = weight_row(d, counted, points, group)
            value = abs(points)
    size = 0
    left = d.legal[0]
    while left != ZERO:
        card = i64(lowest(left))
        left &= left - ONE
        for term in range(NUM_TERMS):
            terms[size, term] = card_score(
                d, t, hand, unseen, beaten, beating, card, group, eye, i64(term)
            )
        worlds[0] = games[i]
        world = worlds[0]
        apply(world, t, card)
        play_out(world, t, agent_seed, w)
        terms[size, NUM_TERMS] = i64(world.totals[seat]) / value
        size += 1
    for term in range(NUM_TERMS + 1):
        mean = 0.0
        for k in range(size):
            mean += terms[k, term]
        mean /= size
        for k in range(size):
            terms[k, term] -= mean
    count[row] += 1
    for k in range(size):
        for a in range(NUM_TERMS):
            x = terms[k, a]
            if x != 0.0:
                for b in range(NUM_TERMS):
                    gram[row, a, b] += x * terms[k, b]
                moment[row, a] += x * terms[k, NUM_TERMS]


@kernel
def mix_starts(games: Any, tables: Any, seed: int) -> None:
    """Gives deals at PLAY another leader, and some trump deals another trump suit, at random."""
    for i in range(games.shape[0]):
        g = games[i]
        d = g.deal
        key = make_key(seed, g.match, g.position, STREAM_ACTIONS)
        if d.trump != NO_TRUMP and below(draw(key, 1), 3) == 0:
            d.trump = below(draw(key, 2), 4)
        d.leader = below(draw(key, 3), NUM_SEATS)
        d.actor = d.leader
        set_legal(g, tables[g.variant])


@kernel
def declare_all(games: Any, tables: Any, hw: Any, means: Any) -> None:
    """Takes auctions to PLAY: nobody bids, the auctioneer declares what suits his hand best."""
    for i in range(games.shape[0]):
        g = games[i]
        t = tables[g.variant]
        while g.deal.phase != PHASE_PLAY:
            if g.deal.phase == PHASE_BID:
                apply(g, t, PASS)
            elif g.deal.phase == PHASE_DECIDE:
                apply(g, t, REFUSE)
            else:
                apply(g, t, choose_before_play(g, t, hw, means))


@kernel
def order_all(games: Any, tables: Any, hw: Any, means: Any) -> None:
    """Takes ordered deals, which nobody may buy, to PLAY or their end by the best orders."""
    for i in range(games.shape[0]):
        g = games[i]
        apply(g, tables[g.variant], choose_ordering(g, tables[g.variant], hw, means))


@kernel
def hand_terms(games: Any, tables: Any, specials: Any, flips: Any, eye: Any, out: Any) -> None:
    """Writes the terms of all hands as they are now.

    Args:
        games: `[N]` games at PLAY, or before it.
        tables: rule tables.
        specials: `[N]` int64, the suit weighed apart, or NO_SUIT.
        flips: `[N]` int64, 1 where ranks will be reversed.
        eye: `[H, H]` unit matrix, which reads off the terms.
        out: `[N, 4, H]` out.
    """
    for i in range(games.shape[0]):
        d = games[i].deal
        t = tables[games[i].variant]
        for seat in range(NUM_SEATS):
            leads = 1 if seat == d.leader else 0
            for term in range(NUM_HAND_TERMS):
                out[i, seat, term] = hand_value(
                    t, d.hands[seat], specials[i], flips[i], leads, eye, i64(term)
                )
