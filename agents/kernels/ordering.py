"""What the rule-based agent orders, bids and sells on the first cards (rules.md 3.3).

Values are tricks that the cards seen so far are expected to lead to, calibrated by
``agents.calibrate``; an ordered deal has a fixed sum, so own points are all that matters.
"""

from __future__ import annotations

from typing import Any, Final

from agents.kernels.bidding import leads_first
from agents.kernels.hands import (
    KNOWN_ROW,
    LAST_ROW,
    NO_SUIT,
    RIVAL_ROW,
    contract_value,
    first_row,
    hand_value,
)
from king_env.engine.actions import ACCEPT, BUY, ORDER, PASS, REFUSE
from king_env.engine.jit import inline
from king_env.engine.layout import NO_TRUMP, NOBODY, PHASE_ORDER, PHASE_SELL, UNKNOWN, i64
from king_env.engine.order import NUM_ORDERS, ORDER_NO_TRUMP, ORDER_WRITE
from king_env.engine.step import is_legal
from king_env.rules.tables import BUYING_BEFORE, TRUMP_LAST_CARD

BUY_MARGIN: Final = 0.35
"""Tricks a purchase must be better than leaving the deal to another: who wins the bidding is the
one who thought most of his cards."""


@inline
def order_value(g: Any, t: Any, seat: Any, order: Any, hw: Any, means: Any) -> Any:
    """Returns the points of a seat that orders: by contract and trump, WRITE2 as it is written."""
    if order == ORDER_WRITE:
        return 1.0 * t.write * t.trick_price
    contract = i64(t.order_contract[order])
    hand = g.deal.hands[seat]
    leads = leads_first(g.deal, t, g, seat, seat)
    if t.trump[contract] == TRUMP_LAST_CARD:
        row = first_row(t, hand) + LAST_ROW
        return t.trick[contract] * hand_value(t, hand, i64(NO_SUIT), i64(0), leads, hw, row)
    trump = order if order < ORDER_NO_TRUMP else i64(NO_TRUMP)
    return contract_value(t, hand, contract, trump, leads, hw, means, 0)


@inline
def best_order(g: Any, t: Any, seat: Any, hw: Any, means: Any) -> Any:
    """Returns the points of a seat's best order, and that order."""
    best = i64(-1)
    best_points = 0.0
    for order in range(NUM_ORDERS):
        if (i64(t.orders) >> order) & 1:
            points = order_value(g, t, seat, i64(order), hw, means)
            if best < 0 or points > best_points:
                best = i64(order)
                best_points = points
    return best_points, best


@inline
def other_orders_value(g: Any, t: Any, seat: Any, hw: Any) -> Any:
    """Returns the points of a seat when another orders: the order that stands, or any."""
    d = g.deal
    hand = d.hands[seat]
    stands = d.contract != UNKNOWN and d.holder == NOBODY
    special = i64(d.trump) if stands and d.trump >= 0 else i64(NO_SUIT)
    flipped = i64(t.reversed[d.contract]) if stands else i64(0)
    row = first_row(t, hand) + (KNOWN_ROW if stands else RIVAL_ROW)
    leads = leads_first(d, t, g, seat, i64(NOBODY))
    return t.trick_price * hand_value(t, hand, special, flipped, leads, hw, row)


@inline
def choose_offer(g: Any, t: Any, hw: Any, means: Any) -> Any:
    """BUY: one trick more than the last bid, if ordering is worth it."""
    d = g.deal
    seat = i64(d.actor)
    bid = i64(d.floor) + 1
    if not is_legal(d, BUY + bid):
        return i64(PASS)
    own, _ = best_order(g, t, seat, hw, means)
    price = i64(t.trick_price)
    wanted = other_orders_value(g, t, seat, hw) + BUY_MARGIN * price
    return BUY + bid if own - price * (bid + 1) > wanted else i64(PASS)


@inline
def choose_sale(g: Any, t: Any, hw: Any, means: Any) -> Any:
    """SELL: the price and what another's order leaves, against the own order."""
    d = g.deal
    seat = i64(d.actor)
    if t.buying == BUYING_BEFORE or d.contract == UNKNOWN:
        own, _ = best_order(g, t, seat, hw, means)
    else:
        own = standing_value(g, t, seat, hw, means)
    sold = other_orders_value(g, t, seat, hw) + (i64(d.call) + 1) * i64(t.trick_price)
    return i64(ACCEPT) if sold > own else i64(REFUSE)


@inline
def standing_value(g: Any, t: Any, seat: Any, hw: Any, means: Any) -> Any:
    """Returns the points of the orderer in the deal that he has ordered."""
    d = g.deal
    for order in range(ORDER_WRITE):
        trump = order if order < ORDER_NO_TRUMP else NO_TRUMP
        if t.order_contract[order] == d.contract and trump == d.trump:
            return order_value(g, t, seat, i64(order), hw, means)
    return 0.0


@inline
def choose_ordering(g: Any, t: Any, hw: Any, means: Any) -> Any:
    """Returns the action of ORDER, BUY or SELL."""
    phase = g.deal.phase
    if phase == PHASE_ORDER:
        _, order = best_order(g, t, i64(g.deal.actor), hw, means)
        return ORDER + order
    if phase == PHASE_SELL:
        return choose_sale(g, t, hw, means)
    return choose_offer(g, t, hw, means)
