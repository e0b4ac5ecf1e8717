"""Ordering a deal on the first cards, and buying that right for tricks (rules.md 3.3).

The orderer is ``d.chooser``. A bid of n tricks stands in ``d.call`` and ``d.floor`` as n - 1.
"""

from __future__ import annotations

from typing import Any, Final

from king_env.engine.actions import ACCEPT, BUY, ORDER, PASS, REFUSE
from king_env.engine.auction import ALL_SEATS, allow, next_speaker
from king_env.engine.jit import inline, outline
from king_env.engine.layout import (
    NO_TRUMP,
    NOBODY,
    NUM_SEATS,
    PHASE_BUY,
    PHASE_ORDER,
    PHASE_PLAY,
    PHASE_SELL,
    UNKNOWN,
    i64,
)
from king_env.engine.rng import below
from king_env.rules.tables import BUYING_AFTER, BUYING_BEFORE

ORDER_NO_TRUMP: Final = 4
ORDER_WRITE: Final = 7
NUM_ORDERS: Final = 8
"""Orders in the order of their ids: S H D C NT LAST MISERE WRITE2."""


@outline
def allow_ordering(d: Any, t: Any) -> None:
    """Sets the legal actions of ORDER, BUY and SELL."""
    if d.phase == PHASE_ORDER:
        for order in range(NUM_ORDERS):
            if (i64(t.orders) >> order) & 1:
                allow(d, ORDER + order)
    elif d.phase == PHASE_BUY:
        allow(d, PASS)
        for bid in range(i64(d.floor) + 1, i64(t.max_bid)):
            allow(d, BUY + bid)
    else:
        allow(d, ACCEPT)
        allow(d, REFUSE)


@outline
def begin_ordering(d: Any, t: Any) -> None:
    """Sets up a deal that is ordered."""
    if t.buying == BUYING_BEFORE:
        begin_buying(d, t)
    else:
        ask_order(d, i64(d.chooser))


@inline
def ask_order(d: Any, seat: Any) -> None:
    """A seat is asked for its order; one that stood before is void."""
    d.declarer = seat
    d.actor = seat
    d.phase = PHASE_ORDER
    d.contract = UNKNOWN
    d.trump = UNKNOWN


@inline
def begin_buying(d: Any, t: Any) -> None:
    """The others may bid, from the seat after the orderer."""
    d.active = ALL_SEATS & ~(1 << i64(d.chooser))
    d.phase = PHASE_BUY
    d.actor = (i64(d.chooser) + i64(t.step)) & 3


@inline
def sell_order(d: Any) -> None:
    """The holder buys: he orders anew."""
    d.buyer = d.holder
    ask_order(d, i64(d.buyer))


@inline
def keep_order(d: Any, t: Any) -> None:
    """Nothing is sold: the orderer's order stands, or is asked for now."""
    d.holder = NOBODY
    d.call = UNKNOWN
    if t.buying == BUYING_BEFORE:
        ask_order(d, i64(d.chooser))
    else:
        d.phase = PHASE_PLAY


@inline
def apply_buying(d: Any, t: Any, action: Any) -> None:
    """BUY."""
    if action == PASS:
        d.active = i64(d.active) & ~(1 << i64(d.actor))
    else:
        d.holder = d.actor
        d.offers += 1
        d.floor = action - BUY
        d.call = d.floor
    seat = next_speaker(d, t)
    if seat != NOBODY:
        d.actor = seat
    elif d.holder == NOBODY:
        keep_order(d, t)
    elif t.seller_may_refuse:
        d.phase = PHASE_SELL
        d.actor = d.chooser
    else:
        sell_order(d)


@inline
def name_order(d: Any, t: Any, order: Any) -> None:
    """Makes an order that is played the deal's contract; LAST gets its trump with the last card."""
    d.contract = t.order_contract[order]
    d.trump = order if order < ORDER_NO_TRUMP else NO_TRUMP


@inline
def apply_order(d: Any, t: Any, order: Any) -> bool:
    """ORDER; returns True when tricks are written instead of played."""
    if order == ORDER_WRITE:
        d.unplayed = 1
        return True
    name_order(d, t, order)
    if t.buying == BUYING_AFTER and d.buyer == NOBODY:
        begin_buying(d, t)
    else:
        d.phase = PHASE_PLAY
    return False


@outline
def apply_ordering(d: Any, t: Any, action: Any) -> bool:
    """Applies an action of ORDER, BUY or SELL; returns True when the deal is over unplayed."""
    if d.phase == PHASE_ORDER:
        return apply_order(d, t, action - ORDER)
    if d.phase == PHASE_BUY:
        apply_buying(d, t, action)
    elif action == ACCEPT:
        sell_order(d)
    else:
        keep_order(d, t)
    return False


@outline
def draw_order(t: Any, bits: Any) -> Any:
    """Returns a random order by the weights of the variant; 0 stands for any suit."""
    total = i64(0)
    for order in range(ORDER_WRITE):
        total += i64(t.order_share[order])
    left = below(bits, total)
    for order in range(ORDER_WRITE):
        left -= i64(t.order_share[order])
        if left < 0:
            return i64(order)
    return i64(0)


@outline
def settle_order(d: Any, t: Any) -> None:
    """Writes unplayed tricks and pays the price of a bought order, with the deal's last action."""
    unit = i64(t.trick_price)
    if d.unplayed:
        for seat in range(NUM_SEATS):
            d.points[seat] = i64(d.points[seat]) + i64(t.write) * unit
    if d.buyer == NOBODY:
        return
    buyer = i64(d.buyer)
    orderer = i64(d.chooser)
    tricks = i64(d.call) + 1
    if t.payment_capped:
        tricks = min(tricks, i64(t.write) if d.unplayed else i64(d.tricks[buyer]))
    d.points[buyer] = i64(d.points[buyer]) - tricks * unit
    d.points[orderer] = i64(d.points[orderer]) + tricks * unit
