"""The auction of system A and what the buyer pays (rule text 2.4 to 2.7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tests.naive.cards import SEATS, SUITS
from tests.naive.variants import Table, table_of

if TYPE_CHECKING:
    from tests.naive.match import NaiveMatch

LADDER = ("+1", "+2", "+3", "-1", "+4", "+5", "+6", "-2", "+7", "+8")
EQUAL_VALUE = {"+3": "-1", "-1": "+3", "+6": "-2", "-2": "+6"}


def worth(call: str) -> int:
    """The value of a call in pluses: plus N is worth N, minus N is worth 3N."""
    number = int(call[1:])
    return number if call[0] == "+" else 3 * number


def settlement(
    table: Table,
    options: Mapping[str, object],
    call: str,
    nulls: bool,
    buyer: int,
    auctioneer: int,
    tricks: Sequence[int],
) -> int:
    """Points that pass from the buyer to the auctioneer after a sale (2.5, 11.9)."""
    number = int(call[1:])
    if call[0] == "+":
        if not nulls and options["a.plus_settlement"] == "transfer_capped":
            number = min(number, tricks[buyer])
        return table.plus_unit * number
    if nulls and options["a.minus_settlement"] == "absorb_capped":
        number = min(number, tricks[auctioneer])
    return table.minus_unit * number


class Auction:
    """The auction of one deal, from the first question to the declaration.

    Attributes:
        opponents: p1, p2, p3: the order of speaking and of priority.
        active: Who may still speak, the holder included.
        rung: The highest rung ever reached: the floor of raises and ultimatums (11.1).
        call: The holder's call. With `match = same_value` it may be the other of equal value.
        holder: Who holds the high call.
        offers: Number of raises and matches.
        requests_left: How often the auctioneer may still negotiate.
        requested: The rung of the last request.
        ultimatum: The rung of the ultimatum.
        still_to_answer: Who is still to answer the ultimatum, in order.
    """

    def __init__(self, match: NaiveMatch) -> None:
        self.match = match
        self.options = match.options
        self.table = table_of(match.options)
        top = int(str(match.options["a.auction.max_plus"]))
        self.ladder = [rung for rung in LADDER if worth(rung) <= top]
        self.top_plus = f"+{top}"
        self.opponents = [(match.dealer + step) % 4 for step in (1, 2, 3)]
        self.active = set(self.opponents)
        self.rung: str | None = None
        self.call: str | None = None
        self.holder: int | None = None
        self.offers = 0
        self.requests_left = int(str(match.options["a.negotiation.max_requests"]))
        self.requested: str | None = None
        self.ultimatum: str | None = None
        self.still_to_answer: list[int] = []
        if match.options["a.ultimatum.timing"] == "both" and self._ultimatums():
            match.phase, match.actor = "OPEN", match.dealer
        else:
            self._start_bidding()

    def legal(self) -> set[str]:
        """Names of the legal calls, decisions, answers or declarations."""
        if self.match.phase == "OPEN":
            return {"open"} | {f"ultimatum:{rung}" for rung in self._ultimatums()}
        if self.match.phase == "BID":
            return self._legal_calls()
        if self.match.phase == "DECIDE":
            return self._legal_decisions()
        if self.match.phase == "NEGOTIATE":
            return {"agree", "decline"}
        if self.match.phase == "ULTIMATUM":
            return {"accept", "reject"}
        return {f"declare:{what}" for what in self._declarations()}

    def push(self, name: str) -> None:
        """Takes a call, a decision, an answer or a declaration."""
        if self.match.phase == "BID":
            self._take_call(name)
        elif self.match.phase == "NEGOTIATE":
            self._answer_request(name)
        elif self.match.phase == "ULTIMATUM":
            self._answer_ultimatum(name)
        elif self.match.phase == "DECLARE":
            self._declare(name.removeprefix("declare:"))
        else:
            self._decide(name)

    # --- BID -------------------------------------------------------------------------------

    def _start_bidding(self) -> None:
        self.match.phase, self.match.actor = "BID", self.opponents[0]

    def _above(self, rung: str | None) -> list[str]:
        return self.ladder if rung is None else self.ladder[self.ladder.index(rung) + 1 :]

    def _legal_calls(self) -> set[str]:
        calls = {"pass"} | {f"bid:{rung}" for rung in self._above(self.rung)}
        match, actor = self.options["a.auction.match"], self.match.actor
        if match != "off" and self.holder is not None and actor is not None:
            if self.opponents.index(actor) < self.opponents.index(self.holder):
                calls.add("match")
                if match == "same_value" and self.call in EQUAL_VALUE:
                    calls.add(f"match:{EQUAL_VALUE[self.call]}")
        return calls

    def _take_call(self, name: str) -> None:
        speaker = self.match.actor
        assert speaker is not None
        kind, _, call = name.partition(":")
        if kind == "pass":
            self.active.remove(speaker)
        else:
            self.offers += 1
            self.holder = speaker
            if call:
                self.call = call
            if kind == "bid":
                self.rung = call
        still_to_speak = self.active - {self.holder}
        if still_to_speak:
            at = self.opponents.index(speaker)
            order = self.opponents[at + 1 :] + self.opponents[: at + 1]
            self.match.actor = next(seat for seat in order if seat in still_to_speak)
        else:
            self._sell_if_binding_else_decide()

    def _sell_if_binding_else_decide(self) -> None:
        binding = self.options["a.auction.plus8_binding"] == "always"
        if self.holder is not None and self.call == self.top_plus and binding:
            self._sell(self.holder, self.call)
        else:
            self.match.phase, self.match.actor = "DECIDE", self.match.dealer

    # --- DECIDE, NEGOTIATE, ULTIMATUM ------------------------------------------------------

    def _legal_decisions(self) -> set[str]:
        decisions = {"refuse"} | {f"ultimatum:{rung}" for rung in self._ultimatums()}
        if self.call is not None:
            decisions.add("accept")
            if self.requests_left > 0:
                decisions |= {
                    f"negotiate:{rung}" for rung in self.ladder if worth(rung) > worth(self.call)
                }
        if self._failed():
            decisions.add("take_unplayed")
        return decisions

    def _failed(self) -> bool:
        """Whether the auctioneer may take the deal unplayed (2.6)."""
        threshold = int(str(self.options["a.failed.threshold"]))
        if self.options["a.failed.criterion"] == "offer_count":
            return self.offers < threshold
        if self.options["a.failed.criterion"] == "best_value":
            best = 0 if self.rung is None else worth(self.rung)
            return best < threshold
        return False

    def _respondents(self) -> list[int]:
        """Who would be asked to answer an ultimatum put now, in order."""
        if self.options["a.ultimatum.respondents"] == "all":
            return list(self.opponents)
        if self.options["a.ultimatum.respondents"] == "active":
            return [seat for seat in self.opponents if seat in self.active]
        return [] if self.holder is None else [self.holder]

    def _ultimatums(self) -> list[str]:
        """The rungs an ultimatum may demand now."""
        if not self.options["a.ultimatum.enabled"] or not self._respondents():
            return []
        rungs = self._above(self.rung)
        if self.options["a.ultimatum.demands"] == "eight_only":
            return [rung for rung in rungs if rung == self.top_plus]
        return rungs

    def _decide(self, name: str) -> None:
        match = self.match
        kind, _, rung = name.partition(":")
        if kind == "open":
            self._start_bidding()
        elif kind == "accept":
            assert self.holder is not None and self.call is not None
            self._sell(self.holder, self.call)
        elif kind == "refuse":
            self._let_declare(match.dealer)
        elif kind == "negotiate":
            self.requests_left -= 1
            self.requested = rung
            match.phase, match.actor = "NEGOTIATE", self.holder
        elif kind == "ultimatum":
            self.ultimatum = rung
            self.still_to_answer = self._respondents()
            match.phase, match.actor = "ULTIMATUM", self.still_to_answer[0]
        else:
            mine, others = self.table.unplayed
            for seat in SEATS:
                tricks = mine if seat == match.dealer else others
                match.points[seat] += self.table.plus_unit * tricks
            match.finish_deal()

    def _answer_request(self, name: str) -> None:
        if name == "agree":
            self.rung = self.call = self.requested
            self._sell_if_binding_else_decide()
        else:
            self.match.phase, self.match.actor = "DECIDE", self.match.dealer

    def _answer_ultimatum(self, name: str) -> None:
        assert self.ultimatum is not None
        seat = self.still_to_answer.pop(0)
        if name == "accept":
            self._sell(seat, self.ultimatum)
        elif self.still_to_answer:
            self.match.actor = self.still_to_answer[0]
        elif self.options["a.ultimatum.fallback"] == "free":
            self._let_declare(self.match.dealer)
        else:
            self.match.declarer = self.match.dealer
            self._declare("NEG")

    # --- SOLD, DECLARE, SETTLE -------------------------------------------------------------

    def _sell(self, buyer: int, call: str) -> None:
        self.match.buyer = buyer
        self.call = call
        if call[0] == "-" and self.options["a.auction.bid_binds_deal"]:
            self.match.declarer = buyer
            self._declare("NEG")
        else:
            self._let_declare(buyer)

    def _let_declare(self, seat: int) -> None:
        self.match.declarer = seat
        self.match.phase, self.match.actor = "DECLARE", seat

    def _declarations(self) -> list[str]:
        what = list(SUITS)
        if self.options["a.allow_no_trump"]:
            what.append("NT")
        # A plus call that binds the deal leaves only positive deals to the buyer.
        if self.match.buyer is None or not self.options["a.auction.bid_binds_deal"]:
            what.append("NEG")
        return what

    def _declare(self, what: str) -> None:
        match = self.match
        contract = match.rules.contracts["nulls" if what == "NEG" else "positive"]
        match.announce(contract, what if what in SUITS else None)
        leader = {
            "dealer": match.dealer,
            "dealer_left": match.next_seat(match.dealer),
            "declarer": match.declarer,
        }[str(self.options["a.lead_positive"])]
        assert leader is not None
        match.start_play(leader)

    def settle(self) -> None:
        """The buyer pays the auctioneer."""
        match = self.match
        if match.buyer is None:
            return
        assert self.call is not None
        paid = settlement(
            self.table,
            self.options,
            self.call,
            match.contract == "nulls",
            match.buyer,
            match.dealer,
            match.tricks_taken,
        )
        match.points[match.buyer] -= paid
        match.points[match.dealer] += paid
