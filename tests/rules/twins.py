"""The compiled engine and the slow twin side by side: deals, options, and what must be the same."""

from __future__ import annotations

import random
from collections.abc import Mapping

from tests.naive import (
    LADDER,
    OPTIONS,
    RANKS,
    SEATS,
    SHORT_RANKS,
    SUITS,
    NaiveMatch,
    complete_options,
    is_short,
)
from tests.rules.factories import Deals, EngineMatch

VARIANTS = sorted(OPTIONS)


def shuffled(short: bool, seed: str) -> Deals:
    """Deals of 52 or 32 cards that depend on nothing but the seed."""

    def deals(k: int) -> list[list[str]]:
        pack = [rank + suit for rank in (SHORT_RANKS if short else RANKS) for suit in SUITS]
        random.Random(f"{seed} {k}").shuffle(pack)
        return [pack[seat::4] for seat in SEATS]

    return deals


def is_refused(variant: str, options: Mapping[str, object]) -> bool:
    """Whether the rules refuse the combination (11.25)."""
    try:
        complete_options(variant, options)
    except ValueError:
        return True
    return False


def random_options(variant: str, rng: random.Random) -> dict[str, object]:
    """Draws values for a few options; refused combinations are drawn again."""
    names = sorted(OPTIONS[variant])
    while True:
        drawn = rng.sample(names, k=min(len(names), rng.randint(1, 8)))
        options = {name: rng.choice(list(OPTIONS[variant][name])) for name in drawn}
        if not is_refused(variant, options):
            return options


def pick(naive: NaiveMatch, keen: float, rng: random.Random) -> str:
    """A legal action, such that all phases are met often.

    Uniform choice would bid +8 in a few calls. Here a bidder raises with probability `keen`, by
    small steps, and elsewhere all kinds of action are equally likely.
    """
    legal = sorted(naive.legal())
    if naive.phase == "PLAY" or rng.random() < 0.1:
        return rng.choice(legal)
    if naive.phase in ("BID", "BUY") and len(legal) > 1:
        if rng.random() >= keen:
            return "pass"
        higher = [f"bid:{rung}" for rung in LADDER] + [f"buy:{number}" for number in range(1, 9)]
        low = [name for name in higher if name in legal][:3]
        return rng.choice(low + [name for name in legal if name.startswith("match")])
    kind = rng.choice(sorted({name.partition(":")[0] for name in legal}))
    return rng.choice([name for name in legal if name.partition(":")[0] == kind])


class Twins:
    """One match on both sides; `push` moves both on, `compare` looks at everything they tell."""

    def __init__(
        self, variant: str, options: Mapping[str, object], first_dealer: int, seed: str
    ) -> None:
        deals = shuffled(is_short(variant, options), seed)
        self.naive = NaiveMatch(variant, options, first_dealer, deals)
        self.engine = EngineMatch(variant, options, first_dealer, deals)

    def push(self, name: str) -> None:
        """Does the action on both sides."""
        self.naive.push(name)
        self.engine.push(name)

    def compare(self, cards_too: bool) -> None:
        """Asserts that both sides say the same.

        `cards_too`: cards as well, arrived and to come, shown, and shown not to be held; slow.
        """
        naive, engine = self.naive, self.engine
        assert engine.phase == naive.phase
        assert engine.actor == naive.actor
        assert engine.legal() == naive.legal()
        assert engine.points == naive.points
        assert engine.deal_scores == naive.deal_scores
        assert engine.totals == list(naive.totals)
        assert engine.contracts_played == naive.contracts_played
        assert engine.dealer == naive.dealer
        assert engine.contract == naive.contract
        assert engine.trump == naive.trump
        if naive.phase == "OVER":
            return
        assert engine.shown_card == naive.shown_card
        if cards_too:
            assert engine.arrived() == naive.hands
            assert engine.to_come() == naive.to_come
            assert engine.hands() == [
                held | to_come for held, to_come in zip(naive.hands, naive.to_come, strict=True)
            ]
            played = {card for _, card in naive.trick}
            played |= {card for trick in naive.tricks for _, card in trick}
            shown = [cards - played for cards in naive.shown_not_held()]
            assert [cards - played for cards in engine.shown_not_held()] == shown


def play_both(
    variant: str, options: Mapping[str, object], seed: str, num_deals: int | None = None
) -> int:
    """Plays a match at random on both sides; returns the deals compared."""
    rng = random.Random(seed)
    twins = Twins(variant, options, rng.randrange(4), seed)
    keen = rng.random()
    count = 0
    naive = twins.naive
    while naive.phase != "OVER" and (num_deals is None or naive.deal_index < num_deals):
        twins.compare(cards_too=count % 7 == 0)
        twins.push(pick(naive, keen, rng))
        count += 1
    twins.compare(cards_too=True)
    return naive.deal_index
