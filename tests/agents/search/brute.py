"""Open-card play solved the plain way: every move, on sets of card names, by the naive rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from king_env.cards import CARD_NAMES, SUITS, cards_of
from king_env.engine.actions import call_name
from king_env.engine.layout import NO_TRUMP, NOBODY
from king_env.rules.catalogue import Variant
from tests.naive.auction import settlement
from tests.naive.cards import (
    CARD_UNITS,
    SEATS,
    Contract,
    legal_cards,
    suit,
    trick_points,
    trick_winner,
)
from tests.naive.options import complete_options
from tests.naive.variants import table_of, variant_of

Hands: TypeAlias = tuple[frozenset[str], ...]
Scores: TypeAlias = tuple[int, ...]


ORDERED = {"ordered_last": "ordered", "ordered_misere": "misere"}
"""Contracts that the naive rules call otherwise."""


@dataclass
class OpenDeal:
    """A deal in PLAY with open cards, and what its end is worth.

    `paranoid` values are four times the root seat's payoff (own minus table mean; in pairs half of
    team minus other team), `maxn` values what the rest of the deal brings each seat.
    """

    contract: Contract
    trump: str | None
    step: int
    num_tricks: int
    early_end: bool
    partnership: bool
    fee: tuple[int, int, int, int, int] | None
    """Buyer, who is paid, whose tricks count, at most how many, points each."""
    root: int
    seen: dict[Any, Any] = field(default_factory=dict)

    def payoff(self, scores: Scores) -> int:
        """Four times the payoff of the root seat."""
        if self.partnership:
            signs = [1 if (seat - self.root) % 2 == 0 else -1 for seat in SEATS]
            return 2 * sum(sign * score for sign, score in zip(signs, scores, strict=True))
        return 4 * scores[self.root] - sum(scores)

    def settled(self, tricks: Scores) -> Scores:
        """What passes from seat to seat at the end."""
        paid = [0, 0, 0, 0]
        if self.fee is not None:
            buyer, seller, who, most, each = self.fee
            amount = each * (most if who < 0 else min(most, tricks[who]))
            paid[buyer] -= amount
            paid[seller] += amount
        return tuple(paid)

    def is_over(self, hands: Hands) -> bool:
        """All cards are played, or no unit is left where that ends a deal."""
        if not any(hands):
            return True
        if not self.early_end or not set(self.contract.units) <= CARD_UNITS:
            return False
        return not any(self.contract.counts(card) for hand in hands for card in hand)

    def best(
        self, hands: Hands, trick: tuple[tuple[int, str], ...], actor: int, tricks: Scores,
        broken: bool, maxn: bool,
    ) -> Scores:  # fmt: skip
        """The scores of the rest of the deal by best play, settlement included."""
        if not trick:
            if self.is_over(hands):
                return self.settled(tricks)
            key = (hands, actor, tricks, maxn)
            if key not in self.seen:
                self.seen[key] = self._best_move(hands, trick, actor, tricks, broken, maxn)
            return self.seen[key]  # type: ignore[no-any-return]
        return self._best_move(hands, trick, actor, tricks, broken, maxn)

    def _best_move(
        self, hands: Hands, trick: tuple[tuple[int, str], ...], actor: int, tricks: Scores,
        broken: bool, maxn: bool,
    ) -> Scores:  # fmt: skip
        lying = [card for _, card in trick]
        results = []
        for card in legal_cards(hands[actor], lying, self.contract, self.trump, broken):
            left = tuple(hand - {card} for hand in hands)
            after = (*trick, (actor, card))
            if len(after) < 4:
                follower = (actor + self.step) % 4
                results.append(self.best(left, after, follower, tricks, broken, maxn))
                continue
            winner = trick_winner(after, self.contract, self.trump)
            played = [c for _, c in after]
            number = self.num_tricks - len(left[0])
            won = trick_points(self.contract, played, number, self.num_tricks)
            taken = tuple(n + (seat == winner) for seat, n in enumerate(tricks))
            hearts = broken or any(suit(c) == "H" for c in played)
            rest = self.best(left, (), winner, taken, hearts, maxn)
            results.append(tuple(n + won * (seat == winner) for seat, n in enumerate(rest)))
        if maxn:
            return min(results, key=lambda scores: self._rank(scores, actor))
        own = actor == self.root or (self.partnership and (actor - self.root) % 2 == 0)
        return max(results, key=self.payoff) if own else min(results, key=self.payoff)

    def _rank(self, scores: Scores, actor: int) -> tuple[object, ...]:
        """Small is good: most for the mover, then least for the root seat, then by the numbers."""

        def of(seat: int) -> int:
            return scores[seat] + (scores[(seat + 2) % 4] if self.partnership else 0)

        return (-of(actor), of(self.root), scores)


def names(mask: Any) -> frozenset[str]:
    return frozenset(CARD_NAMES[card] for card in cards_of(int(mask)))


def solve(variant: Variant, name: str, game: Any, root: int) -> tuple[int, Scores]:
    """Four times the paranoid payoff of the whole deal; what the rest brings each seat by max^n."""
    given: Mapping[str, object] = variant.options
    options = complete_options(name, given)
    rules = variant_of(name, options)
    d = game.deal
    id_ = variant.spec.contract[int(d.contract)].id
    contract = rules.contracts[ORDERED.get(id_, id_)]
    fee = None
    if d.buyer != NOBODY and variant.spec.phases.auction is not None:
        fee = _auction_fee(options, contract.name, d)
    elif d.buyer != NOBODY:
        order = variant.spec.phases.order
        assert order is not None
        capped = options["b.v1.payment_cap"] == "tricks_taken"
        fee = (int(d.buyer), int(d.chooser), int(d.buyer) if capped else -1, int(d.call) + 1, 3)
    deal = OpenDeal(
        contract=contract,
        trump=None if d.trump == NO_TRUMP else SUITS[int(d.trump)],
        step=rules.direction,
        num_tricks=len(rules.ranks),
        early_end=options["early_end"] == "auto",
        partnership=variant.spec.partnership,
        fee=fee,
        root=root,
    )
    hands = tuple(names(hand) for hand in d.hands)
    leader = int(d.leader)
    trick = tuple(
        ((leader + place * rules.direction) % 4, CARD_NAMES[int(d.trick[place])])
        for place in range(int(d.trick_size))
    )
    tricks = tuple(int(n) for n in d.tricks)
    points = [int(n) for n in d.points]
    rest = deal.best(hands, trick, int(d.actor), tricks, bool(d.broken), False)
    whole = tuple(a + b for a, b in zip(points, rest, strict=True))
    maxn = deal.best(hands, trick, int(d.actor), tricks, bool(d.broken), True)
    owed = deal.settled(tricks)
    return deal.payoff(whole), tuple(a - b for a, b in zip(maxn, owed, strict=True))


def _auction_fee(
    options: Mapping[str, object], contract: str, d: Any
) -> tuple[int, int, int, int, int]:
    """The settlement of rules.md 2.5, asked for with no tricks, one and very many."""
    call = call_name(int(d.call))
    buyer, seller = int(d.buyer), int(d.chooser)
    nulls = contract == "nulls"

    def paid(tricks: list[int]) -> int:
        return settlement(table_of(options), options, call, nulls, buyer, seller, tricks)

    most = paid([13] * 4)
    for who in (buyer, seller):
        tricks = [13] * 4
        tricks[who] = 0
        if paid(tricks) == 0:
            tricks[who] = 1
            return buyer, seller, who, most // paid(tricks), paid(tricks)
    return buyer, seller, -1, 1, most
