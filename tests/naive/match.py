"""A whole match: deals, play and scores; how a contract is found is in the other modules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from tests.naive.auction import Auction
from tests.naive.cards import (
    CARD_UNITS,
    SEATS,
    SUITS,
    Contract,
    legal_cards,
    suit,
    trick_points,
    trick_winner,
)
from tests.naive.choice import Choice
from tests.naive.options import complete_options
from tests.naive.ordering import OrderAny, Ordering
from tests.naive.variants import variant_of


class BeforePlay(Protocol):
    """What happens in a deal before the play, and the payment that follows from it.

    Making one sets the match's phase and actor to the first decision.
    """

    def legal(self) -> set[str]:
        """Names of the actions that the actor may choose."""
        ...

    def push(self, name: str) -> None:
        """Does a legal action."""
        ...

    def settle(self) -> None:
        """After the last card: adds what goes from seat to seat."""
        ...


class NaiveMatch:
    """A whole match of one variant, moved on by action names.

    Attributes:
        phase: `OPEN BID DECIDE NEGOTIATE ULTIMATUM DECLARE ORDER BUY SELL CHOOSE PLAY`, `OVER`
            after the last deal. The last action of a deal starts the next one.
        actor: The seat to act; None when the match is over.
        points: Points of the deal in progress, trick by trick; constants and settlements come
            with the last action of a deal, and then the points of the next deal start at 0.
        deal_scores: Points of the finished deals, by seat.
        totals: Sum of the finished deals, by seat.
        deal_index: Number of the deal in progress, from 0; the number of deals when over.
        dealer: Dealer of the deal in progress, when over that of the last deal.
        declarer: Who chose the contract of the deal in progress, or has bought the right to;
            None before, and in deals fixed by the schedule.
        buyer: Who bought the right to declare or to order; None if nobody.
        contract: Id of the contract of the deal in progress, None until it is known.
        contract_rules: How that contract is played; None likewise.
        contracts_played: Ids of the finished deals' contracts, None for unplayed ones.
        chosen: Ids of the contracts each player has chosen so far in the match (C, D, E).
        trump: Suit letter or None.
        hands: The cards each seat holds, of those that have arrived.
        arrived: How many cards of each hand have been dealt out.
        to_come: The cards of each seat that have not been dealt out yet.
        shown_card: The card that settled trump by the last and its owner, from the time it was
            shown to the end of the deal; None in other deals.
        trick: The cards lying in the trick, as (seat, card).
        tricks: The finished tricks of the deal, likewise.
        tricks_taken: Number of tricks of the deal by seat.
        auction: State of the auction of this deal (A); None in other deals.
        ordering: State of the orders and bids of this deal (B); None in other deals.
    """

    phase: str
    actor: int | None
    points: list[int]
    declarer: int | None
    buyer: int | None
    contract_rules: Contract | None
    trump: str | None
    hands: list[set[str]]
    trick: list[tuple[int, str]]
    tricks: list[list[tuple[int, str]]]
    tricks_taken: list[int]
    shown_card: tuple[str, int] | None
    auction: Auction | None
    ordering: Ordering | None
    _before_play: BeforePlay | None
    # Seat, card, cards that lay in the trick, whether hearts were broken.
    _unread_plays: list[tuple[int, str, list[str], bool]]
    _proved: list[set[str]]

    def __init__(
        self,
        variant: str,
        options: Mapping[str, object],
        first_dealer: int,
        deals: Callable[[int], list[list[str]]],
    ) -> None:
        """Starts the match with the first deal.

        Args:
            variant: A key of `OPTIONS`.
            options: Differences from the defaults of section 9 (without `first_dealer`).
            first_dealer: Seat that deals the first deal.
            deals: The four hands of deal k (from 0), each in order of arrival.

        Raises:
            ValueError: an unknown variant or option, or hands that do not make up the pack.
        """
        self.options = complete_options(variant, options)
        self.variant = variant
        self.rules = variant_of(variant, self.options)
        self.pack = frozenset(r + s for r in self.rules.ranks for s in SUITS)
        self.num_tricks = len(self.pack) // 4
        self._deals = deals
        self.deal_scores: list[list[int]] = []
        self.totals = [0, 0, 0, 0]
        self.contracts_played: list[str | None] = []
        self.chosen: list[list[str]] = [[], [], [], []]
        self.deal_index = 0
        self.dealer = first_dealer % 4
        self._start_deal()

    # --- Interface -------------------------------------------------------------------------

    def legal(self) -> set[str]:
        """Names of the actions the actor may choose; empty when the match is over."""
        if self.phase == "OVER":
            return set()
        if self.phase == "PLAY":
            assert self.actor is not None
            return self._legal_cards_of(self.hands[self.actor])
        assert self._before_play is not None
        return self._before_play.legal()

    def push(self, name: str) -> None:
        """Does the action.

        Raises:
            ValueError: the action is not legal now.
        """
        if name not in self.legal():
            raise ValueError(f"{name!r} is not legal for seat {self.actor} in {self.phase}")
        if self.phase == "PLAY":
            self._play(name)
        else:
            assert self._before_play is not None
            self._before_play.push(name)

    @property
    def contract(self) -> str | None:
        """Id of the contract of the deal in progress, None until it is known."""
        return None if self.contract_rules is None else self.contract_rules.name

    @property
    def to_come(self) -> list[set[str]]:
        """The cards of each seat that have not been dealt out yet."""
        return [set(hand[self.arrived :]) for hand in self.dealt]

    def shown_not_held(self) -> list[set[str]]:
        """For each seat the cards which its play in this deal has proved it does not hold.

        A card was played where another would have been demanded, had it been in the hand: so it
        was not. The rules decide between two cards of a hand without looking at the rest of it,
        hence the question for every other card q of the pack: with nothing but these two in hand,
        would the card played have been legal? What is proved stays true, as hands only shrink.
        """
        for seat, card, trick, hearts_broken in self._unread_plays:
            contract = self._contract()
            for other in self.pack - {card}:
                both = {card, other}
                if card not in legal_cards(both, trick, contract, self.trump, hearts_broken):
                    self._proved[seat].add(other)
        self._unread_plays = []
        return [set(cards) for cards in self._proved]

    # --- Deals -----------------------------------------------------------------------------

    def next_seat(self, seat: int) -> int:
        """The seat that plays after this one."""
        return (seat + self.rules.direction) % 4

    def _start_deal(self) -> None:
        self.points = [0, 0, 0, 0]
        self.declarer = self.buyer = None
        self.contract_rules = self.trump = None
        self.trick = []
        self.tricks = []
        self.tricks_taken = [0, 0, 0, 0]
        self.shown_card = None
        self.auction = self.ordering = self._before_play = None
        self._unread_plays = []
        self._proved = [set(), set(), set(), set()]
        if self.deal_index == self.rules.num_deals:
            self.phase, self.actor = "OVER", None
            self.hands = [set(), set(), set(), set()]
            return
        if self.deal_index > 0:
            self.dealer = self.next_seat(self.dealer)
        self.dealt = [list(hand) for hand in self._deals(self.deal_index)]
        together = [card for hand in self.dealt for card in hand]
        if sorted(together) != sorted(self.pack) or {len(h) for h in self.dealt} != {
            self.num_tricks
        }:
            raise ValueError(f"the hands of deal {self.deal_index} do not make up the pack")
        self.arrived = self.num_tricks

        how = self.rules.deals[self.deal_index]
        if how == "auction":
            self._before_play = self.auction = Auction(self)
        elif how in ("order", "order_full_hand"):
            self._before_play = self.ordering = Ordering(self, how == "order_full_hand")
        elif how == "order_any":
            self._before_play = OrderAny(self)
        elif how == "choice":
            self._before_play = Choice(self)
        else:
            self.announce(self.rules.contracts[how], None)
            leads = self.dealer if self.rules.dealer_leads else self.next_seat(self.dealer)
            self.start_play(leads)
        self.hands = [set(hand[: self.arrived]) for hand in self.dealt]

    def announce(self, contract: Contract | None, trump: str | None) -> None:
        """Makes contract and trump known, or unknown again."""
        self.contract_rules, self.trump = contract, trump

    def start_play(self, leader: int) -> None:
        """Deals out the rest of the cards and lets the leader lead."""
        self.arrived = self.num_tricks
        self.hands = [set(hand) for hand in self.dealt]
        self.phase, self.actor = "PLAY", leader

    def finish_deal(self) -> None:
        """Adds constants and settlements, notes the scores and starts the next deal."""
        if self.contract_rules is not None:
            for seat in SEATS:
                self.points[seat] += self.contract_rules.start
        if self._before_play is not None:
            self._before_play.settle()
        self.deal_scores.append(self.points)
        self.contracts_played.append(self.contract)
        for seat in SEATS:
            self.totals[seat] += self.points[seat]
        self.deal_index += 1
        self._start_deal()

    # --- Play (1.2, 1.4) -------------------------------------------------------------------

    def _contract(self) -> Contract:
        assert self.contract_rules is not None
        return self.contract_rules

    def _hearts_broken(self) -> bool:
        return any(suit(card) == "H" for trick in self.tricks for _, card in trick)

    def _legal_cards_of(self, hand: Collection[str]) -> set[str]:
        lying = [card for _, card in self.trick]
        return legal_cards(hand, lying, self._contract(), self.trump, self._hearts_broken())

    def _play(self, card: str) -> None:
        seat = self.actor
        assert seat is not None
        lying = [c for _, c in self.trick]
        self._unread_plays.append((seat, card, lying, self._hearts_broken()))
        self.hands[seat].remove(card)
        self.trick.append((seat, card))
        if len(self.trick) < 4:
            self.actor = self.next_seat(seat)
            return
        winner = trick_winner(self.trick, self._contract(), self.trump)
        self.tricks.append(self.trick)
        self.tricks_taken[winner] += 1
        self.points[winner] += trick_points(
            self._contract(), [c for _, c in self.trick], len(self.tricks), self.num_tricks
        )
        self.trick = []
        self.actor = winner
        if len(self.tricks) == self.num_tricks or self._exhausted():
            self.finish_deal()

    def _exhausted(self) -> bool:
        """With `early_end = auto`: only card units count, and all of them have been taken."""
        contract = self._contract()
        if self.options["early_end"] == "never" or not set(contract.units) <= CARD_UNITS:
            return False
        taken = {card for trick in self.tricks for _, card in trick}
        return all(card in taken for card in self.pack if contract.counts(card))
