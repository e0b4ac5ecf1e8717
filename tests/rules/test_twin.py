"""The compiled engine against the slow twin: legal sets, phase, actor, scores at every decision."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import pytest

from tests.naive import OPTIONS, RANKS, SHORT_RANKS, SUITS, NaiveMatch
from tests.rules.factories import EngineMatch

VARIANTS = sorted(OPTIONS)


def shuffled(short: bool, seed: str) -> Callable[[int], list[list[str]]]:
    def deals(k: int) -> list[list[str]]:
        pack = [rank + suit for rank in (SHORT_RANKS if short else RANKS) for suit in SUITS]
        random.Random(f"{seed} {k}").shuffle(pack)
        return [pack[seat::4] for seat in range(4)]

    return deals


def random_options(variant: str, rng: random.Random) -> dict[str, object]:
    """Draws values for a few options; refused combinations are drawn again."""
    while True:
        names = rng.sample(
            sorted(OPTIONS[variant]), k=min(len(OPTIONS[variant]), rng.randint(1, 8))
        )
        options = {name: rng.choice(list(OPTIONS[variant][name])) for name in names}
        try:
            NaiveMatch(variant, options, 0, shuffled(options.get("a.pack") == 32, "probe"))
        except (ValueError, AssertionError, IndexError):
            if options.get("a.table32") == "balanced160" or "d.global_cap" in options:
                continue
            raise
        return options


def same(naive: NaiveMatch, engine: EngineMatch, cards_too: bool) -> None:
    """Compares everything both can tell."""
    assert engine.phase == naive.phase
    assert engine.actor == naive.actor
    assert engine.legal() == naive.legal()
    assert engine.points == naive.points
    assert engine.deal_scores == naive.deal_scores
    assert engine.totals == list(naive.totals)
    assert engine.dealer == naive.dealer
    assert engine.contract == naive.contract
    assert engine.trump == naive.trump
    if cards_too and naive.phase == "PLAY":
        played = [set(naive.dealt[seat]) - naive.hands[seat] for seat in range(4)]
        assert engine.hands() == naive.hands
        everywhere = set().union(*played)
        shown = [cards - everywhere for cards in naive.shown_not_held()]
        assert [cards - everywhere for cards in engine.shown_not_held()] == shown


def play_both(
    variant: str, options: Mapping[str, object], seed: str, num_deals: int | None = None
) -> int:
    """Plays a match at random on both sides; returns the deals compared."""
    rng = random.Random(seed)
    short = options.get("a.pack") == 32 or variant.startswith("tiny")
    deals = shuffled(short, seed)
    first_dealer = rng.randrange(4)
    naive = NaiveMatch(variant, options, first_dealer, deals)
    engine = EngineMatch(variant, options, first_dealer, deals)
    keen = rng.random()  # how little a bidder likes to pass
    count = 0
    while naive.phase != "OVER" and (num_deals is None or naive.deal_index < num_deals):
        same(naive, engine, cards_too=count % 7 == 0)
        legal = sorted(naive.legal())
        bids = [name for name in legal if name not in ("pass", "refuse", "take_unplayed")]
        low = [name for name in bids if name.startswith("bid")][:2]
        if low and rng.random() < keen:
            bids = [name for name in bids if not name.startswith("bid")] + low
        name = rng.choice(bids if bids and rng.random() < keen else legal)
        naive.push(name)
        engine.push(name)
        count += 1
    same(naive, engine, cards_too=True)
    return naive.deal_index


@pytest.mark.parametrize("variant", VARIANTS)
def test_engine_equals_the_twin(variant: str) -> None:
    deals = sum(play_both(variant, {}, f"{variant} {number}") for number in range(12))
    assert deals >= 96


@pytest.mark.parametrize("variant", ["international", "turkish_short"])
def test_engine_equals_the_twin_under_random_options(variant: str) -> None:
    rng = random.Random(variant)
    for number in range({"international": 40, "turkish_short": 24}[variant]):
        options = random_options(variant, rng)
        play_both(variant, options, f"{variant} options {number}", num_deals=20)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_engine_equals_the_twin_for_long(variant: str) -> None:
    deals = 0
    number = 0
    while deals < 2000:
        deals += play_both(variant, {}, f"{variant} long {number}")
        number += 1


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["international", "turkish_short"])
def test_engine_equals_the_twin_under_many_options(variant: str) -> None:
    rng = random.Random(f"{variant} many")
    for number in range(250):
        play_both(variant, random_options(variant, rng), f"{variant} many {number}")
