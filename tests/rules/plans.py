"""Deals written down as plans of tricks, and how the tests of the rules play them.

A plan has one line a trick: the winner and the four cards, his own first, then those of the seats
after him clockwise.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from tests.naive import is_short
from tests.rules.factories import Deals, Match, MatchFactory

SUITS = "SHDC"
RANKS = "AKQJT98765432"
SHORT_RANKS = "AKQJT987"
SEATS = range(4)

Plan = list[tuple[int, str]]
Hands = list[list[str]]
Options = Mapping[str, object]

NO_OPTIONS: Options = {}


def cards(text: str) -> set[str]:
    return set(text.split())


def parse_hands(*seats: str) -> Hands:
    """`"AK.QJ.T9.87"` is a hand by suits, in the order S H D C."""
    return [
        [rank + suit for suit, ranks in zip(SUITS, seat.split("."), strict=True) for rank in ranks]
        for seat in seats
    ]


def hands_of(plan: Plan) -> Hands:
    hands: Hands = [[], [], [], []]
    for winner, cards in plan:
        for step, card in enumerate(cards.split()):
            hands[(winner + step) % 4].append(card)
    return hands


def deals_with(special: Mapping[int, Hands], short: bool = False) -> Deals:
    """The given hands in the given deals, shuffled ones in the others."""

    def deals(k: int) -> Hands:
        if k in special:
            return special[k]
        pack = [rank + suit for rank in (SHORT_RANKS if short else RANKS) for suit in SUITS]
        random.Random(f"examples {k}").shuffle(pack)
        return [pack[seat :: len(SEATS)] for seat in SEATS]

    return deals


def play_at_random(match: Match, until_deal: int) -> None:
    rng = random.Random(until_deal)
    while match.deal_index < until_deal:
        match.push(rng.choice(sorted(match.legal())))


def match_at(
    make: MatchFactory,
    deal_index: int,
    dealer: int,
    hands: Hands | None = None,
    options: Options = NO_OPTIONS,
    variant: str = "international",
) -> Match:
    """A match at the start of deal `deal_index` (from 0), dealt by `dealer`."""
    special = {} if hands is None else {deal_index: hands}
    direction = -1 if variant.startswith("rifki") else +1
    first_dealer = (dealer - direction * deal_index) % 4
    match = make(variant, options, first_dealer, deals_with(special, is_short(variant, options)))
    play_at_random(match, deal_index)
    assert match.dealer == dealer
    return match


def say(match: Match, *lines: str) -> None:
    """Pushes actions such as `"1 bid:+3"` and sees that it is that seat's turn."""
    for line in lines:
        seat, name = line.split()
        assert match.actor == int(seat), line
        match.push(name)


def play_plan(match: Match, plan: Plan) -> Sequence[int]:
    """Plays the tricks of the plan. Gives the points of the deal."""
    deal_index = match.deal_index
    for winner, cards in plan:
        by_seat = {(winner + step) % 4: card for step, card in enumerate(cards.split())}
        for _ in SEATS:
            assert match.actor is not None
            match.push(by_seat[match.actor])
        if match.deal_index > deal_index:
            break
        assert match.actor == winner
    return list(match.deal_scores[deal_index])


def follow(winner: int, suit: str, ranks: str) -> tuple[int, str]:
    """A trick in which everybody follows suit; the ranks stand high to low."""
    return winner, " ".join(rank + suit for rank in ranks)


def counted_plan(tricks: Sequence[int], short: bool = False) -> Plan:
    """A deal with these numbers of tricks by seat, without a trump or with spades trump.

    Everybody follows suit in all tricks but the thirteenth of a 52-card deal: there each seat has
    a two, and the winner of the twelfth trick the two of spades.
    """
    last = max(SEATS, key=lambda seat: tricks[seat])
    winners = [seat for seat in SEATS if seat != last for _ in range(tricks[seat])]
    winners += [last] * tricks[last]
    groups = ("AKQJ", "T987") if short else ("AKQJ", "T987", "6543")
    plays = [(suit, ranks) for suit in SUITS for ranks in groups]
    plan = [follow(winner, *play) for winner, play in zip(winners, plays, strict=False)]
    return plan if short else [*plan, (last, "2S 2H 2D 2C")]


def all_to_one(seat: int, short: bool = False) -> Plan:
    """A deal in which one seat takes everything and leads hearts only when it has nothing else."""
    groups = ("AKQJ", "T987") if short else ("AKQJ", "T987", "6543")
    plan = [follow(seat, suit, ranks) for suit in "SDCH" for ranks in groups]
    return plan if short else [*plan, (seat, "2H 2S 2D 2C")]


def calls(match: Match, prefix: str) -> set[str]:
    """The legal actions that begin so, without the beginning."""
    return {name.removeprefix(prefix) for name in match.legal() if name.startswith(prefix)}
