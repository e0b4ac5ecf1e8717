"""The rule-based agent's choices before play: contracts, bids, answers, offers, declarations.

Everything goes by expected points: what the own hand makes in its best declaration, what it makes
when a rival declares, and what changes hands. Chances of consent come from small tables.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from agents.kernels.hands import (
    NO_SUIT,
    RIVAL_PLUS_ROW,
    RIVAL_ROW,
    contract_value,
    first_row,
    hand_value,
)
from king_env.engine.actions import (
    ACCEPT,
    AGREE,
    BID,
    DECLARE,
    DECLARE_MINUS,
    DECLINE,
    MATCH,
    NEGOTIATE,
    NUM_RUNGS,
    OPEN,
    PASS,
    REFUSE,
    REJECT,
    SLOT,
    TAKE_UNPLAYED,
    ULTIMATUM,
)
from king_env.engine.auction import CALLS, TWIN, TWIN_ACTION, WORTH
from king_env.engine.jit import inline
from king_env.engine.layout import (
    NO_TRUMP,
    NOBODY,
    PHASE_BID,
    PHASE_DECIDE,
    PHASE_DECLARE,
    PHASE_NEGOTIATE,
    PHASE_ULTIMATUM,
    i64,
)
from king_env.engine.step import is_legal
from king_env.rules.spec import NUM_SLOTS
from king_env.rules.tables import DECISION_CHOOSE, LEADER_DECLARER

AGREES: Final = np.array([1.0, 0.74, 0.45, 0.24, 0.12, 0.07, 0.04, 0.02, 0.01])
"""Chance that the holder agrees to a price, by its worth above his own call of the same sign.

This and what follows was counted in auctions of four rule-based agents.
"""

AGREES_TO_OTHER: Final = 0.01
"""The same where the price has the other sign."""

ACCEPTS: Final = np.array(
    [
        [0.50, 0.37, 0.26, 0.15, 0.09, 0.06, 0.05, 0.04, 0.03],
        [1.00, 0.85, 0.70, 0.60, 0.45, 0.30, 0.22, 0.17, 0.10],
    ]
)
"""Chance that one of three rivals accepts an ultimatum, by its worth above the highest call; the
second row where that was a plus call."""

ONE_ACCEPTS: Final = 0.13
"""Chance that a given rival accepts an ultimatum."""

BID_MARGIN: Final = 0.8
"""Plus units a purchase must be better than letting a rival declare: the winner of an auction is
the one who thought most of his hand."""


@inline
def leads_first(d: Any, t: Any, g: Any, seat: Any, declarer: Any) -> Any:
    """Tells (1 or 0) whether a seat leads first when ``declarer`` declares."""
    if t.deal_leader[g.position] == LEADER_DECLARER:
        return 1 if seat == declarer else 0
    return 1 if seat == d.leader else 0


@inline
def plus_value(g: Any, t: Any, seat: Any, hw: Any, means: Any) -> Any:
    """Returns the points of the best plus declaration, and that declaration's action."""
    d = g.deal
    hand = d.hands[seat]
    leads = leads_first(d, t, g, seat, seat)
    contract = i64(t.plus_contract)
    best = i64(0)
    best_points = -1e9
    for trump in range(5 if t.allow_no_trump else 4):
        points = contract_value(t, hand, contract, trump, leads, hw, means, 0)
        if points > best_points:
            best = i64(trump)
            best_points = points
    return best_points, DECLARE + best


@inline
def minus_value(g: Any, t: Any, seat: Any, declarer: Any, hw: Any, means: Any) -> Any:
    """Returns the points of a seat in the minus deal that ``declarer`` declares."""
    d = g.deal
    leads = leads_first(d, t, g, seat, declarer)
    return contract_value(
        t, d.hands[seat], i64(t.minus_contract), i64(NO_TRUMP), leads, hw, means, 0
    )


@inline
def rival_value(g: Any, t: Any, seat: Any, hw: Any, row: Any) -> Any:
    """Returns the points of a seat when a rival declares; ``row`` says what is known of it."""
    hand = g.deal.hands[seat]
    leads = leads_first(g.deal, t, g, seat, i64(NOBODY))
    taken = hand_value(t, hand, i64(NO_SUIT), i64(0), leads, hw, first_row(t, hand) + row)
    return t.plus_unit * taken


@inline
def price(t: Any, rung: Any) -> Any:
    """Returns the points that a call is expected to cost its buyer."""
    call = CALLS[rung]
    if call > 0:
        return 1.0 * call * t.plus_unit
    # The auctioneer takes three tricks or more most of the time.
    return -0.95 * call * t.minus_unit


@inline
def purchase(t: Any, rung: Any, plus: Any, minus: Any) -> Any:
    """Returns the points of buying at a call, given the values of plus and minus deals."""
    if t.bid_binds == 0:
        return max(plus, minus) - price(t, rung)
    return (plus if CALLS[rung] > 0 else minus) - price(t, rung)


@inline
def choose_bid(d: Any, t: Any, plus: Any, minus: Any, rival: Any) -> Any:
    """BID: the cheapest call that beats letting a rival declare; to match is cheapest of all."""
    wanted = rival + BID_MARGIN * t.plus_unit
    if is_legal(d, MATCH):
        same = purchase(t, i64(d.call), plus, minus)
        if TWIN[d.call] >= 0 and is_legal(d, TWIN_ACTION[TWIN[d.call]]):
            other = purchase(t, TWIN[d.call], plus, minus)
            if other > same and other > wanted:
                return i64(TWIN_ACTION[TWIN[d.call]])
        if same > wanted:
            return i64(MATCH)
    for rung in range(NUM_RUNGS):
        if is_legal(d, BID + rung) and purchase(t, rung, plus, minus) > wanted:
            return i64(BID + rung)
    return i64(PASS)


@inline
def sale(t: Any, rung: Any, minus: Any, rival: Any, rival_plus: Any) -> Any:
    """Returns the points of the auctioneer who sells at a call."""
    if t.bid_binds == 0:
        return rival + price(t, rung)
    return (rival_plus if CALLS[rung] > 0 else minus) + price(t, rung)


@inline
def choose_decision(d: Any, t: Any, plus: Any, minus: Any, rival: Any, rival_plus: Any) -> Any:
    """DECIDE: what is worth most to the auctioneer, the chance of a refusal counted."""
    best = i64(REFUSE)
    keep = max(plus, minus)
    best_points = keep
    if is_legal(d, TAKE_UNPLAYED):
        points = 1.0 * t.unplayed[0] * t.plus_unit
        if points > best_points:
            best = i64(TAKE_UNPLAYED)
            best_points = points
    worth = i64(0)
    plus_call = i64(0)
    if is_legal(d, ACCEPT):
        worth = WORTH[d.call]
        plus_call = i64(CALLS[d.call] > 0)
        points = sale(t, i64(d.call), minus, rival, rival_plus)
        if points > best_points:
            best = i64(ACCEPT)
            best_points = points
    # What is left when a negotiation fails is what there was before it.
    fallback = best_points
    alone = keep if t.fallback_free else minus
    for rung in range(NUM_RUNGS):
        more = max(i64(0), WORTH[rung] - worth)
        if is_legal(d, NEGOTIATE + rung):
            sold = sale(t, rung, minus, rival, rival_plus)
            same_sign = plus_call == i64(CALLS[rung] > 0)
            chance = AGREES[more] if same_sign else AGREES_TO_OTHER
            points = fallback + chance * (sold - fallback)
            if points > best_points:
                best = i64(NEGOTIATE + rung)
                best_points = points
        if is_legal(d, ULTIMATUM + rung):
            sold = sale(t, rung, minus, rival, rival_plus)
            chance = ACCEPTS[plus_call, more]
            points = chance * sold + (1.0 - chance) * alone
            if points > best_points:
                best = i64(ULTIMATUM + rung)
                best_points = points
    return best


@inline
def choose_contract(g: Any, t: Any, hw: Any, means: Any) -> Any:
    """CHOOSE: the contract this hand does better in than an average hand, by the most points."""
    d = g.deal
    seat = i64(d.actor)
    leads = leads_first(d, t, g, seat, seat)
    best = i64(-1)
    best_points = 0.0
    for slot in range(NUM_SLOTS):
        if is_legal(d, SLOT + slot):
            points = contract_value(
                t,
                d.hands[seat],
                i64(t.slot_contract[slot]),
                i64(t.slot_trump[slot]),
                leads,
                hw,
                means,
                1,
            )
            if best < 0 or points > best_points:
                best = i64(SLOT + slot)
                best_points = points
    return best


@inline
def choose_before_play(g: Any, t: Any, hw: Any, means: Any) -> Any:
    """Returns the action of a phase before PLAY."""
    d = g.deal
    phase = d.phase
    if t.deal_decision[g.position] == DECISION_CHOOSE:
        return choose_contract(g, t, hw, means)
    seat = i64(d.actor)
    plus, declaration = plus_value(g, t, seat, hw, means)
    minus = minus_value(g, t, seat, seat, hw, means)
    if phase == PHASE_DECLARE:
        if minus > plus and is_legal(d, DECLARE_MINUS):
            return i64(DECLARE_MINUS)
        return i64(declaration)
    rival = rival_value(g, t, seat, hw, i64(RIVAL_ROW))
    if phase == PHASE_BID:
        return choose_bid(d, t, plus, minus, rival)
    rival_plus = rival_value(g, t, seat, hw, i64(RIVAL_PLUS_ROW))
    if phase == PHASE_DECIDE:
        return choose_decision(d, t, plus, minus, rival, rival_plus)
    if phase == PHASE_NEGOTIATE:
        agreed = purchase(t, i64(d.asked), plus, minus)
        return i64(AGREE) if agreed > rival else i64(DECLINE)
    if phase == PHASE_ULTIMATUM:
        # Whoever rejects sees another accept, or the auctioneer play nulls.
        alone = rival if t.fallback_free else minus
        others = others_accept(d, t, seat)
        rejected = others * rival_plus + (1.0 - others) * alone
        return i64(ACCEPT) if purchase(t, i64(d.asked), plus, minus) > rejected else i64(REJECT)
    return i64(OPEN)


@inline
def others_accept(d: Any, t: Any, seat: Any) -> Any:
    """Returns the chance that a respondent after this one accepts the ultimatum."""
    after = 3 - ((i64(t.step) * (seat - i64(d.chooser))) & 3)
    return ONE_ACCEPTS * after
