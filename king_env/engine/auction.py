"""The auction for the right to declare, its answers, and its settlement (rules.md 2.4 to 2.6).

The auctioneer is ``d.chooser``; priority runs from the seat after him in the direction of play.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from king_env.engine.actions import (
    ACCEPT,
    AGREE,
    BID,
    DECLARE,
    DECLARE_MINUS,
    DECLARE_NO_TRUMP,
    DECLINE,
    EQUAL_VALUE_RUNGS,
    MATCH,
    MATCH_VALUE,
    NEGOTIATE,
    NUM_RUNGS,
    OPEN,
    PASS,
    REFUSE,
    REJECT,
    TAKE_UNPLAYED,
    ULTIMATUM,
)
from king_env.engine.jit import inline, outline
from king_env.engine.layout import (
    NO_TRUMP,
    NOBODY,
    NUM_SEATS,
    ONE,
    PHASE_BID,
    PHASE_DECIDE,
    PHASE_DECLARE,
    PHASE_NEGOTIATE,
    PHASE_OPEN,
    PHASE_PLAY,
    PHASE_ULTIMATUM,
    UNKNOWN,
    i64,
    u64,
)
from king_env.rules.spec import LADDER
from king_env.rules.tables import (
    FAILED_BEST_VALUE,
    FAILED_OFFER_COUNT,
    MATCH_OFF,
    MATCH_SAME_VALUE,
    RESPOND_ALL,
)

CALLS: Final = np.array(LADDER, dtype=np.int64)
"""Calls by rung: plus N is N, minus N is -N."""

WORTH: Final = np.array([call if call > 0 else -3 * call for call in LADDER], dtype=np.int64)
"""What a call is worth by rung: plus N is worth N, minus N is worth 3 N."""

_TWINS: Final = [3, 2, 7, 6]
TWIN: Final = np.array(
    [_TWINS[EQUAL_VALUE_RUNGS.index(r)] if r in EQUAL_VALUE_RUNGS else -1 for r in range(NUM_RUNGS)]
)
"""The other rung of equal value, or -1."""

TWIN_ACTION: Final = np.array(
    [
        MATCH_VALUE + EQUAL_VALUE_RUNGS.index(r) if r in EQUAL_VALUE_RUNGS else -1
        for r in range(NUM_RUNGS)
    ]
)
"""The action that matches with rung r as the call of equal value, or -1."""

ALL_SEATS: Final = 15


@inline
def allow(d: Any, action: Any) -> None:
    """Makes an action legal."""
    d.legal[action >> 6] |= ONE << u64(action & 63)


@inline
def priority(d: Any, t: Any, seat: Any) -> Any:
    """Returns a seat's distance from the auctioneer in the direction of play, 1..3 (0: himself)."""
    return (i64(t.step) * (i64(seat) - i64(d.chooser))) & 3


@inline
def rung_called(t: Any, rung: Any) -> bool:
    """Tells whether the variant's ladder has a rung."""
    return (i64(t.rungs) >> rung) & 1 == 1  # type: ignore[no-any-return]


# ---------------------------------------------------------------- legal actions


@inline
def allow_bids(d: Any, t: Any) -> None:
    """BID: pass, raise, match."""
    allow(d, PASS)
    for rung in range(i64(d.floor) + 1, NUM_RUNGS):
        if rung_called(t, rung):
            allow(d, BID + rung)
    if d.holder == NOBODY or t.match == MATCH_OFF:
        return
    if priority(d, t, d.actor) < priority(d, t, d.holder):
        allow(d, MATCH)
        if t.match == MATCH_SAME_VALUE and TWIN[d.call] >= 0 and rung_called(t, TWIN[d.call]):
            allow(d, TWIN_ACTION[TWIN[d.call]])


@inline
def allow_ultimatums(d: Any, t: Any) -> None:
    """Ultimatums that somebody could answer."""
    if t.ultimatum == 0 or (t.respondents != RESPOND_ALL and d.active == 0):
        return
    for rung in range(i64(d.floor) + 1, NUM_RUNGS):
        if rung_called(t, rung) and (t.ultimatum_top_only == 0 or rung == t.top_rung):
            allow(d, ULTIMATUM + rung)


@inline
def allow_decisions(d: Any, t: Any) -> None:
    """DECIDE: accept, refuse, negotiate, ultimatum, take unplayed."""
    allow(d, REFUSE)
    worth = i64(0)
    if d.holder != NOBODY:
        allow(d, ACCEPT)
        worth = WORTH[d.floor]
        if d.requests > 0:
            for rung in range(NUM_RUNGS):
                if rung_called(t, rung) and WORTH[rung] > worth:
                    allow(d, NEGOTIATE + rung)
    allow_ultimatums(d, t)
    threshold = i64(t.failed_threshold)
    few = t.failed == FAILED_OFFER_COUNT and d.offers < threshold
    small = t.failed == FAILED_BEST_VALUE and worth < threshold
    if few or small:
        allow(d, TAKE_UNPLAYED)


@inline
def allow_declarations(d: Any, t: Any) -> None:
    """DECLARE: trumps, no trump, nulls. A bought plus deal stays a plus deal where calls bind."""
    for suit in range(4):
        allow(d, DECLARE + suit)
    if t.allow_no_trump:
        allow(d, DECLARE_NO_TRUMP)
    if d.buyer == NOBODY or t.bid_binds == 0:
        allow(d, DECLARE_MINUS)


@outline
def allow_auction(d: Any, t: Any) -> None:
    """Sets the legal actions of an auction phase."""
    phase = d.phase
    if phase == PHASE_BID:
        allow_bids(d, t)
    elif phase == PHASE_DECIDE:
        allow_decisions(d, t)
    elif phase == PHASE_DECLARE:
        allow_declarations(d, t)
    elif phase == PHASE_OPEN:
        allow(d, OPEN)
        allow_ultimatums(d, t)
    elif phase == PHASE_NEGOTIATE:
        allow(d, AGREE)
        allow(d, DECLINE)
    else:
        allow(d, ACCEPT)
        allow(d, REJECT)


# ---------------------------------------------------------------- transitions


@outline
def begin_auction(d: Any, t: Any) -> None:
    """Sets up the auction of a fresh deal."""
    d.active = ALL_SEATS & ~(1 << i64(d.chooser))
    d.requests = t.max_requests
    if t.ultimatum_open:
        d.phase = PHASE_OPEN
        d.actor = d.chooser
    else:
        begin_bidding(d, t)


@inline
def begin_bidding(d: Any, t: Any) -> None:
    """The seat after the auctioneer speaks first."""
    d.phase = PHASE_BID
    d.actor = (i64(d.chooser) + i64(t.step)) & 3


@inline
def next_speaker(d: Any, t: Any) -> Any:
    """Returns the next seat still in the bidding that does not hold the call, or NOBODY."""
    seat = i64(d.actor)
    for _ in range(NUM_SEATS):
        seat = (seat + i64(t.step)) & 3
        if (i64(d.active) >> seat) & 1 and seat != d.holder:
            return seat
    return i64(NOBODY)


@inline
def next_bidder(d: Any, t: Any) -> None:
    """Passes the turn to the next seat still in the bidding, or ends the bidding."""
    seat = next_speaker(d, t)
    if seat != NOBODY:
        d.actor = seat
    elif d.holder != NOBODY and d.call == t.top_rung and t.top_binds:
        sell(d, t, i64(d.holder), i64(d.call))
    else:
        decide(d)


@inline
def decide(d: Any) -> None:
    """The auctioneer decides."""
    d.phase = PHASE_DECIDE
    d.actor = d.chooser


@inline
def sell(d: Any, t: Any, buyer: Any, rung: Any) -> None:
    """The choice is sold: the buyer declares, unless a minus call leaves nothing to choose."""
    d.buyer = buyer
    d.holder = buyer
    d.call = rung
    d.asked = UNKNOWN
    declare_by(d, buyer)
    if t.bid_binds and CALLS[rung] < 0:
        play_minus(d, t)


@inline
def declare_by(d: Any, seat: Any) -> None:
    """A seat becomes the declarer and is asked."""
    d.declarer = seat
    d.actor = seat
    d.phase = PHASE_DECLARE


@inline
def play_minus(d: Any, t: Any) -> None:
    """The deal is nulls."""
    d.contract = t.minus_contract
    d.trump = NO_TRUMP
    d.phase = PHASE_PLAY


@inline
def put_ultimatum(d: Any, t: Any, rung: Any) -> None:
    """The auctioneer puts an ultimatum."""
    d.asked = rung
    d.phase = PHASE_ULTIMATUM
    d.rejected = 0
    d.actor = d.chooser
    next_respondent(d, t)


@inline
def next_respondent(d: Any, t: Any) -> None:
    """Asks the next seat in priority order; when all have rejected there is no way back."""
    seat = i64(d.actor)
    for _ in range(NUM_SEATS - 1):
        seat = (seat + i64(t.step)) & 3
        if seat == d.chooser:
            break
        if t.respondents == RESPOND_ALL or (i64(d.active) >> seat) & 1:
            d.actor = seat
            return
    d.holder = NOBODY
    d.call = UNKNOWN
    declare_by(d, i64(d.chooser))
    if t.fallback_free == 0:
        play_minus(d, t)


@inline
def apply_bid(d: Any, t: Any, action: Any) -> None:
    """BID."""
    if action == PASS:
        d.active = i64(d.active) & ~(1 << i64(d.actor))
    else:
        d.holder = d.actor
        d.offers += 1
        if action >= BID:
            d.floor = action - BID
            d.call = d.floor
        elif action >= MATCH_VALUE:
            d.call = TWIN[d.call]
    next_bidder(d, t)


@inline
def apply_decision(d: Any, t: Any, action: Any) -> bool:
    """DECIDE and OPEN; returns True when the deal is over unplayed."""
    if action == ACCEPT:
        sell(d, t, i64(d.holder), i64(d.call))
    elif action == REFUSE:
        d.holder = NOBODY
        d.call = UNKNOWN
        declare_by(d, i64(d.chooser))
    elif action == OPEN:
        begin_bidding(d, t)
    elif action >= NEGOTIATE:
        d.asked = action - NEGOTIATE
        d.requests -= 1
        d.phase = PHASE_NEGOTIATE
        d.actor = d.holder
    elif action >= ULTIMATUM:
        put_ultimatum(d, t, action - ULTIMATUM)
    else:
        d.unplayed = 1
        d.holder = NOBODY
        d.call = UNKNOWN
        return True
    return False


@inline
def apply_answer(d: Any, t: Any, action: Any) -> None:
    """NEGOTIATE and ULTIMATUM."""
    if action == ACCEPT:
        sell(d, t, i64(d.actor), i64(d.asked))
    elif action == REJECT:
        d.rejected = i64(d.rejected) | (1 << i64(d.actor))
        next_respondent(d, t)
    elif action == AGREE:
        d.floor = d.asked
        d.call = d.asked
        d.asked = UNKNOWN
        if d.call == t.top_rung and t.top_binds:
            sell(d, t, i64(d.holder), i64(d.call))
        else:
            decide(d)
    else:
        d.declined = d.asked
        d.asked = UNKNOWN
        decide(d)


@inline
def apply_declaration(d: Any, t: Any, action: Any) -> None:
    """DECLARE."""
    if action == DECLARE_MINUS:
        play_minus(d, t)
        return
    d.contract = t.plus_contract
    d.trump = action - DECLARE
    d.phase = PHASE_PLAY


@outline
def apply_auction(d: Any, t: Any, action: Any) -> bool:
    """Applies an action of an auction phase; returns True when the deal is over unplayed."""
    phase = d.phase
    if phase == PHASE_BID:
        apply_bid(d, t, action)
    elif phase in (PHASE_DECIDE, PHASE_OPEN):
        return apply_decision(d, t, action)
    elif phase == PHASE_DECLARE:
        apply_declaration(d, t, action)
    else:
        apply_answer(d, t, action)
    return False


# ---------------------------------------------------------------- settlement


@outline
def settle(d: Any, t: Any) -> None:
    """Pays what the auction owes, with the last action of the deal (rules.md 2.5, 2.6)."""
    auctioneer = i64(d.chooser)
    if d.unplayed:
        for seat in range(NUM_SEATS):
            share = i64(t.unplayed[0 if seat == auctioneer else 1])
            d.points[seat] = i64(d.points[seat]) + share * i64(t.plus_unit)
        return
    if d.buyer == NOBODY:
        return
    buyer = i64(d.buyer)
    call = CALLS[d.call]
    if call > 0:
        tricks = call
        if t.plus_capped and d.contract == t.plus_contract:
            tricks = min(call, i64(d.tricks[buyer]))
        paid = tricks * i64(t.plus_unit)
    else:
        tricks = -call
        if t.minus_fixed == 0 and d.contract == t.minus_contract:
            tricks = min(tricks, i64(d.tricks[auctioneer]))
        paid = tricks * i64(t.minus_unit)
    d.points[buyer] = i64(d.points[buyer]) - paid
    d.points[auctioneer] = i64(d.points[auctioneer]) + paid
