"""Ordered deals: stage 2 of the Russian King and the ordered King (rule text 3.3, 3.4, 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.naive.cards import SEATS, SUITS

if TYPE_CHECKING:
    from tests.naive.match import NaiveMatch

POINTS_PER_TRICK = 3


class OrderAny:
    """Any contract that the orderer has not ordered yet (4)."""

    def __init__(self, match: NaiveMatch) -> None:
        self.match = match
        match.phase, match.actor = "ORDER", match.next_seat(match.dealer)

    def legal(self) -> set[str]:
        """The orderer's unused contracts."""
        assert self.match.actor is not None
        used = self.match.chosen[self.match.actor]
        return {f"order:{name}" for name in self.match.rules.contracts if name not in used}

    def push(self, name: str) -> None:
        """Takes the order; the orderer leads."""
        match = self.match
        assert match.actor is not None
        contract = name.removeprefix("order:")
        match.declarer = match.actor
        match.chosen[match.actor].append(contract)
        match.announce(match.rules.contracts[contract], None)
        match.start_play(match.actor)

    def settle(self) -> None:
        """Nobody pays anybody."""


class Ordering:
    """One ordered trick deal: on three cards and for sale, or on the full hand and not (3.3, 3.4).

    Attributes:
        orderer: Who orders by the schedule, and who is paid if the deal is sold.
        order: What was ordered last; None before, and between a sale and the buyer's order.
        active: Who may still bid, the holder included.
        holder: Who made the last bid.
        bid: That bid, a number of tricks; 0 before.
    """

    def __init__(self, match: NaiveMatch, full_hand: bool) -> None:
        self.match = match
        self.full_hand = full_hand
        self.orderer = match.next_seat(match.dealer)
        self.order: str | None = None
        self.holder: int | None = None
        self.bid = 0
        others = [(self.orderer + step) % 4 for step in (1, 2, 3)]
        self.active = set(others)
        self.bidding_order = others
        self.selling_comes_first = (
            not full_hand and match.options["b.v1.buy_timing"] == "before_order"
        )
        if not full_hand:
            match.arrived = 3
        if self.selling_comes_first:
            self._start_buying()
        else:
            self._ask_for_order(self.orderer)

    def legal(self) -> set[str]:
        """Names of the legal orders, bids or answers."""
        if self.match.phase == "ORDER":
            return {f"order:{what}" for what in self._orders()}
        if self.match.phase == "BUY":
            most = int(str(self.match.options["b.v1.max_bid"]))
            return {"pass"} | {f"buy:{number}" for number in range(self.bid + 1, most + 1)}
        return {"accept", "refuse"}

    def push(self, name: str) -> None:
        """Takes an order, a bid or an answer."""
        if self.match.phase == "ORDER":
            self._take_order(name.removeprefix("order:"))
        elif self.match.phase == "BUY":
            self._take_bid(name)
        elif name == "accept":
            self._sell()
        else:
            self._keep()

    # --- ORDER -----------------------------------------------------------------------------

    def _orders(self) -> list[str]:
        what = [*SUITS, "NT"]
        if not self.full_hand:
            what += ["LAST", "MISERE"]
            if self.match.options["b.v1.write_two"] == "declarer":
                what.append("WRITE2")
        return what

    def _ask_for_order(self, seat: int) -> None:
        self.match.phase, self.match.actor = "ORDER", seat

    def _take_order(self, what: str) -> None:
        match = self.match
        seat = match.actor
        assert seat is not None
        self.order, match.declarer = what, seat
        if what == "WRITE2":
            match.finish_deal()
            return
        contract = match.rules.contracts["misere" if what == "MISERE" else "ordered"]
        match.announce(contract, what if what in SUITS else None)
        if self.full_hand or self.selling_comes_first or match.buyer is not None:
            self._deal_five_and_play()
        else:
            self._start_buying()

    # --- BUY and SELL ----------------------------------------------------------------------

    def _start_buying(self) -> None:
        self.match.phase, self.match.actor = "BUY", self.bidding_order[0]

    def _take_bid(self, name: str) -> None:
        match = self.match
        seat = match.actor
        assert seat is not None
        if name == "pass":
            self.active.remove(seat)
        else:
            self.holder, self.bid = seat, int(name.removeprefix("buy:"))
        to_speak = self.active - {self.holder}
        if to_speak:
            at = self.bidding_order.index(seat)
            round_the_table = self.bidding_order[at + 1 :] + self.bidding_order[: at + 1]
            match.actor = next(seat for seat in round_the_table if seat in to_speak)
        elif self.holder is None:
            self._keep()
        elif match.options["b.v1.seller_may_refuse"]:
            match.phase, match.actor = "SELL", self.orderer
        else:
            self._sell()

    def _sell(self) -> None:
        match = self.match
        assert self.holder is not None
        match.buyer = match.declarer = self.holder
        self.order = None
        match.announce(None, None)
        self._ask_for_order(self.holder)

    def _keep(self) -> None:
        if self.selling_comes_first:
            self._ask_for_order(self.orderer)
        else:
            self._deal_five_and_play()

    # --- DEAL5, PLAY, SETTLE ---------------------------------------------------------------

    def _deal_five_and_play(self) -> None:
        match = self.match
        declarer = match.declarer
        assert declarer is not None
        if self.order == "LAST":
            last = match.dealt[declarer][-1]
            match.shown_card = (last, declarer)
            match.trump = last[1]
        lead = match.options["b.v1.lead"]
        match.start_play(self.orderer if lead == "orderer_seat" else declarer)

    def settle(self) -> None:
        """Two tricks for everybody if nothing was played; the buyer pays the orderer."""
        match = self.match
        tricks = list(match.tricks_taken)
        if self.order == "WRITE2":
            tricks = [2, 2, 2, 2]
            for seat in SEATS:
                match.points[seat] += POINTS_PER_TRICK * tricks[seat]
        if match.buyer is not None:
            number = self.bid
            if match.options["b.v1.payment_cap"] == "tricks_taken":
                number = min(number, tricks[match.buyer])
            match.points[match.buyer] -= POINTS_PER_TRICK * number
            match.points[self.orderer] += POINTS_PER_TRICK * number
