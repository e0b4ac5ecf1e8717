"""System E, and the named variants that only change defaults: worked examples and options.

Tests are named by section of the rule text; deals are written as in `plans.py`. Every
implementation in `factories.py` plays them.
"""

from __future__ import annotations

import pytest

from tests.naive import OPTIONS, is_short
from tests.rules.factories import Match, MatchFactory
from tests.rules.plans import (
    NO_OPTIONS,
    SEATS,
    SUITS,
    Options,
    Plan,
    all_to_one,
    calls,
    cards,
    counted_plan,
    deals_with,
    follow,
    hands_of,
    match_at,
    parse_hands,
    play_at_random,
    play_plan,
    say,
)

PENALTIES = {"kupa", "el", "erkek", "kiz", "rifki", "soniki"}
TRUMPS = {f"koz:{s}" for s in SUITS}

# Seat 3 will lead, then come the seats 2, 1 and 0. Seat 2 has no spade.
VOID_IN_SPADES = parse_hands(
    "8765.J76.987.982", "KQJT9.T98.QT.QJT", ".KQ543.KJ32.AK76", "A432.A2.A654.543"
)
# Seats 2 and 1 have no spade; seat 0 has one diamond and no club.
TWO_VOIDS = parse_hands(
    "765432.AKQJ76.2.", ".T84.76543.65432", ".953.QJT98.JT987", "AKQJT98.2.AK.AKQ"
)


def leader(
    make: MatchFactory, contract: str, options: Options = NO_OPTIONS, variant: str = "rifki"
) -> Match:
    """Seat 3 is about to lead in `VOID_IN_SPADES`."""
    match = match_at(make, 0, 3, VOID_IN_SPADES, options, variant)
    say(match, f"3 contract:{contract}")
    return match


def scores(
    make: MatchFactory, contract: str, plan: Plan, options: Options = NO_OPTIONS
) -> list[int]:
    """The scores of a deal which seat 3 declares and leads."""
    match = match_at(make, 0, 3, hands_of(plan), options, "rifki")
    say(match, f"3 contract:{contract}")
    return list(play_plan(match, plan))


# ---------------------------------------------------------------------------------------------
# 6.1 Set-up, 6.2 contracts


@pytest.mark.parametrize("first_dealer", SEATS)
def test_6_1_the_dealer_declares_and_leads(make: MatchFactory, first_dealer: int) -> None:
    match = make("rifki", {}, first_dealer, deals_with({}))
    for k in range(8):
        play_at_random(match, k)
        dealer = (first_dealer - k) % 4
        assert (match.dealer, match.phase, match.actor) == (dealer, "CHOOSE", dealer)
        assert (match.contract, match.trump) == (None, None)
        match.push(min(match.legal()))
        assert (match.phase, match.actor) == ("PLAY", dealer)
    play_at_random(match, 20)
    assert match.phase == "OVER"
    assert sum(match.totals) == 0


def test_6_1_play_goes_counter_clockwise(make: MatchFactory) -> None:
    match = leader(make, "el")
    say(match, "3 2S", "2 AC", "1 9S", "0 8S")
    assert match.actor == 1
    assert list(match.points) == [0, -50, 0, 0]
    say(match, "1 TS", "0 7S", "3 AS", "2 6C")
    assert match.actor == 3


@pytest.mark.parametrize(
    ("contract", "total"),
    [
        ("kupa", -390),
        ("el", -650),
        ("erkek", -480),
        ("kiz", -400),
        ("rifki", -320),
        ("soniki", -360),
        ("koz:S", 650),
        ("koz:H", 650),
    ],
)
def test_6_2_totals(make: MatchFactory, contract: str, total: int) -> None:
    plan = counted_plan([0, 0, 13, 0]) if contract == "koz:S" else all_to_one(2)
    assert scores(make, contract, plan) == [0, 0, total, 0]


def test_6_2_lead_and_void_are_free(make: MatchFactory) -> None:
    for contract in sorted(PENALTIES):
        match = leader(make, contract)
        assert match.legal() == set(VOID_IN_SPADES[3]), contract
        say(match, "3 AS")
        assert match.legal() == set(VOID_IN_SPADES[2]), contract


def test_6_2_must_trump_and_underruffing(make: MatchFactory) -> None:
    match = match_at(make, 0, 3, TWO_VOIDS, variant="rifki")
    say(match, "3 contract:koz:H")
    assert match.legal() == set(TWO_VOIDS[3])
    say(match, "3 AS")
    assert match.legal() == cards("9H 5H 3H")
    say(match, "2 5H")
    assert match.legal() == cards("TH 8H 4H")
    say(match, "1 4H", "0 2S")
    assert match.actor == 2
    assert list(match.points) == [0, 0, 50, 0]


def test_6_2_must_overtrump(make: MatchFactory) -> None:
    match = match_at(make, 0, 3, TWO_VOIDS, {"e.must_overtrump": True}, "rifki")
    say(match, "3 contract:koz:H", "3 AS", "2 5H")
    assert match.legal() == cards("TH 8H")
    say(match, "1 TH", "0 2S", "1 3D", "0 2D", "3 AD", "2 8D", "3 KS", "2 9H")
    assert match.legal() == cards("8H 4H")  # none is higher than the nine: any trump


@pytest.mark.parametrize("contract", sorted(PENALTIES | {"koz:D"}))
def test_6_2_hearts_lead(make: MatchFactory, contract: str) -> None:
    everything = set(VOID_IN_SPADES[3])
    for value in ("free", "until_broken", "never"):
        restricted = contract in ("kupa", "rifki") and value != "free"
        allowed = everything - cards("AH 2H") if restricted else everything
        match = leader(make, contract, {"e.hearts_lead": value})
        assert match.legal() == allowed
        if contract == "koz:D":
            continue
        say(match, "3 AS", "2 QH", "1 9S", "0 8S")
        broken = value == "until_broken"
        assert match.legal() == (everything if broken else allowed) - {"AS"}


@pytest.mark.parametrize(
    ("contract", "thrown"),
    [
        ("kupa", "KH QH 5H 4H 3H"),
        ("erkek", "KH KD JD KC"),
        ("kiz", "QH"),
        ("rifki", "KH"),
        ("el", ""),  # 11.16
        ("soniki", ""),
    ],
)
@pytest.mark.parametrize("value", ["none", "discard", "discard_and_duck"])
def test_6_2_force_penalty(make: MatchFactory, contract: str, thrown: str, value: str) -> None:
    match = leader(make, contract, {"e.force_penalty": value})
    say(match, "3 AS")
    everything = set(VOID_IN_SPADES[2])
    assert match.legal() == (everything if value == "none" else cards(thrown) or everything)


@pytest.mark.parametrize("value", ["none", "discard", "discard_and_duck"])
def test_6_2_duck(make: MatchFactory, value: str) -> None:
    ducks = value == "discard_and_duck"
    hearts = cards("KH QH 5H 4H 3H")
    for contract, below in [("kiz", {"QH"}), ("rifki", {"KH"}), ("el", hearts)]:
        match = leader(make, contract, {"e.force_penalty": value})
        say(match, "3 AH")
        assert match.legal() == (below if ducks else hearts)
    match = leader(make, "kupa", {"e.force_penalty": value})
    say(match, "3 2H", "2 5H", "1 TH")
    assert match.legal() == (cards("7H 6H") if ducks else cards("JH 7H 6H"))


@pytest.mark.parametrize(("value", "deal_index"), [("auto", 1), ("never", 0)])
def test_1_4_early_end(make: MatchFactory, value: str, deal_index: int) -> None:
    match = leader(make, "rifki", {"early_end": value})
    say(match, "3 AS", "2 KH", "1 9S", "0 8S")
    assert match.deal_index == deal_index
    for contract in ("el", "soniki", "koz:C"):
        match = leader(make, contract, {"early_end": value})
        say(match, "3 AH", "2 KH", "1 8H", "0 6H")
        assert match.deal_index == 0


# ---------------------------------------------------------------------------------------------
# 6.3 CHOOSE


def choose_and_play(match: Match, *names: str) -> None:
    """Chooses these contracts in the coming deals and plays each at random."""
    for name in names:
        assert f"contract:{name}" in match.legal()
        match.push(f"contract:{name}")
        play_at_random(match, match.deal_index + 1)


def test_6_3_quotas_and_table_cap(make: MatchFactory) -> None:
    match = match_at(make, 0, 3, variant="rifki")
    assert calls(match, "contract:") == PENALTIES | TRUMPS
    choose_and_play(match, "kupa", "koz:S", "el", "el")
    assert match.actor == 3
    assert calls(match, "contract:") == PENALTIES - {"el"} | TRUMPS
    choose_and_play(match, "kupa", "koz:S", "kiz", "kiz")  # a player may repeat a negative
    assert calls(match, "contract:") == {"erkek", "rifki", "soniki"} | TRUMPS
    choose_and_play(match, "soniki")
    # The trump quota of seat 2 is used up.
    assert calls(match, "contract:") == {"erkek", "rifki", "soniki"}
    choose_and_play(match, "rifki", "koz:D", "koz:D")
    assert calls(match, "contract:") == TRUMPS  # the negatives of seat 3 are used up


# Choices of the seats 3, 2, 1, 0 in turn, after which seat 3 has chosen koz and 2 is to choose.
TIGHT = "kupa kupa erkek kiz el el kiz koz:S erkek koz:S koz:S koz:S koz:S".split()


def test_6_3_per_player_unique(make: MatchFactory) -> None:
    for unique in (False, True):
        match = match_at(make, 0, 3, options={"e.per_player_unique": unique}, variant="rifki")
        choose_and_play(match, "kupa", "el", "kiz", "kiz")
        assert ("contract:kupa" in match.legal()) == (not unique)


def test_6_3_per_player_unique_looks_ahead(make: MatchFactory) -> None:
    for unique in (False, True):
        match = match_at(make, 0, 3, options={"e.per_player_unique": unique}, variant="rifki")
        choose_and_play(match, *TIGHT)
        assert calls(match, "contract:") & PENALTIES == {"rifki", "soniki"}
        choose_and_play(match, "rifki")
        # Seat 1 owes one and seat 0 two of rifki (one left) and soniki (two left): were seat 1 to
        # take rifki, seat 0 would have to take soniki twice.
        assert match.actor == 1
        assert calls(match, "contract:") & PENALTIES == (
            {"soniki"} if unique else {"rifki", "soniki"}
        )
    choose_and_play(match, "soniki", "rifki", "koz:C", "koz:C", "koz:C", "soniki")
    assert match.phase == "OVER"
    assert sum(match.totals) == 0


# ---------------------------------------------------------------------------------------------
# 6.5 Examples


def test_6_5_trump(make: MatchFactory) -> None:
    assert scores(make, "koz:S", counted_plan([6, 4, 2, 1])) == [300, 200, 100, 50]


def test_6_5_el(make: MatchFactory) -> None:
    assert scores(make, "el", counted_plan([4, 3, 6, 0])) == [-200, -150, -300, 0]


def test_6_5_kiz(make: MatchFactory) -> None:
    plan = [follow(0, "S", "AKQJ"), follow(1, "D", "AKQJ"), follow(2, "C", "AKQJ")]
    plan += [follow(3, suit, ranks) for suit in SUITS for ranks in ("T987", "6543")]
    plan += [follow(0, "H", "AKQJ"), (0, "2H 2S 2D 2C")]
    assert scores(make, "kiz", plan) == [-200, -100, -100, 0]


def test_6_5_kupa(make: MatchFactory) -> None:
    assert scores(make, "kupa", all_to_one(1)) == [0, -390, 0, 0]


def test_6_5_soniki(make: MatchFactory) -> None:
    plan = counted_plan([13, 0, 0, 0])[:9]
    plan += [follow(0, "C", "AKQJ"), follow(0, "C", "T987")]
    plan += [(3, "6C 5C 4C 2H"), (0, "3C 2S 2D 2C")]
    assert scores(make, "soniki", plan) == [-180, 0, 0, -180]


# ---------------------------------------------------------------------------------------------
# 8 Named variants that differ in their defaults alone


def test_8_rifki_pagat(make: MatchFactory) -> None:
    match = leader(make, "kupa", variant="rifki_pagat")
    assert match.legal() == set(VOID_IN_SPADES[3]) - cards("AH 2H")
    say(match, "3 AS")
    assert match.legal() == cards("KH QH 5H 4H 3H")
    match = leader(make, "kiz", variant="rifki_pagat")
    say(match, "3 AH")
    assert match.legal() == {"QH"}
    match = leader(make, "rifki", variant="rifki_pagat")
    say(match, "3 AS", "2 KH", "1 9S", "0 8S")
    assert match.deal_index == 1
    back: Options = {"e.hearts_lead": "free", "e.force_penalty": "none", "early_end": "never"}
    match = leader(make, "kupa", back, "rifki_pagat")
    assert match.legal() == set(VOID_IN_SPADES[3])


@pytest.mark.parametrize(
    ("variant", "total"), [("international_32", -300), ("international_32_balanced", 0)]
)
def test_8_international_32(make: MatchFactory, variant: str, total: int) -> None:
    match = make(variant, {}, 0, deals_with({}, short=True))
    play_at_random(match, 1)
    assert sum(match.deal_scores[0]) == -160
    play_at_random(match, 3)
    assert sum(match.deal_scores[2]) == (-160 if variant.endswith("balanced") else -200)
    play_at_random(match, 10)
    assert match.phase == "OVER"
    assert sum(match.totals) == total


def test_8_portuguese_king(make: MatchFactory) -> None:
    hands = parse_hands(
        "8765.J76.987.982", "A432.A2.A654.543", ".KQ543.KJ32.AK76", "KQJT9.T98.QT.QJT"
    )
    match = match_at(make, 4, 1, hands, variant="portuguese")
    assert match.legal() == set(hands[1]) - cards("AH 2H")
    say(match, "1 AS")
    assert match.legal() == {"KH"}  # at the first opportunity


def test_8_portuguese_auction(make: MatchFactory) -> None:
    match = match_at(make, 6, 0, variant="portuguese")
    say(match, "1 bid:+2", "2 bid:+3", "3 bid:-1")
    assert {name for name in match.legal() if "match" in name} == {"match", "match:+3"}
    say(match, "1 match:+3", "2 pass", "3 pass")
    assert (match.phase, match.actor) == ("DECIDE", 0)
    assert "take_unplayed" in match.legal()  # the best is worth 3, which is below 4
    assert calls(match, "ultimatum:") == {"+8"}
    say(match, "0 ultimatum:+8")
    assert (match.phase, match.actor) == ("ULTIMATUM", 1)
    say(match, "1 reject")  # the holder alone is asked
    assert (match.phase, match.actor) == ("DECLARE", 0)
    assert calls(match, "declare:") == {"S", "H", "D", "C", "NT", "NEG"}

    match = match_at(make, 6, 0, variant="portuguese")
    say(match, "1 bid:+8", "2 pass", "3 pass")
    assert (match.phase, match.legal()) == ("DECIDE", {"accept", "refuse"})


def test_8_portuguese_settlement(make: MatchFactory) -> None:
    plan = counted_plan([1, 2, 4, 6])
    match = match_at(make, 6, 0, hands_of(plan), variant="portuguese")
    say(match, "1 bid:-2", "2 pass", "3 pass", "0 accept")
    assert list(play_plan(match, plan)) == [400, 25, 25, -125]


@pytest.mark.parametrize("variant", ["turkish_full", "turkish_full_pairs"])
def test_8_turkish_full(make: MatchFactory, variant: str) -> None:
    match = make(variant, {}, 0, deals_with({}))
    play_at_random(match, 40)
    assert match.phase == "OVER"
    assert sum(match.totals) == 600
    match = make(variant, {"d.match": "short"}, 0, deals_with({}))
    play_at_random(match, 20)
    assert match.phase == "OVER"


def test_11_18_pairs_keep_seat_scores(make: MatchFactory) -> None:
    totals = []
    for variant in ("turkish_short", "turkish_short_pairs"):
        match = make(variant, {}, 0, deals_with({}))
        play_at_random(match, 20)
        assert match.phase == "OVER"
        totals.append(list(match.totals))
    assert totals[0] == totals[1]


@pytest.mark.parametrize("variant", sorted(OPTIONS))
def test_8_every_variant_can_be_played(make: MatchFactory, variant: str) -> None:
    match = make(variant, {}, 2, deals_with({}, is_short(variant, {})))
    play_at_random(match, 3)
    assert match.deal_index == 3


# ---------------------------------------------------------------------------------------------
# 9 Refused options


@pytest.mark.parametrize(
    ("variant", "options"),
    [
        ("rifki", {"e.hearts_lead": "broken"}),
        ("rifki", {"e.force_penalty": True}),
        ("rifki", {"e.per_player_unique": 1}),
        ("rifki", {"early_end": "ask"}),
        ("rifki", {"d.hearts_lead": "free"}),  # 11.25: another system
        ("rifki_pagat", {"e.global_cap": 2}),
        ("turkish_full", {"d.global_cap": 2}),
        ("turkish_full_pairs", {"d.global_cap": 2}),
        ("turkish_short_pairs", {"d.global_cap": 2, "d.match": "full"}),
        ("international_32_balanced", {"a.pack": 52}),
        ("international_32", {"a.pack": 52, "a.table32": "balanced160"}),
        ("portuguese", {"a.table32": "balanced160"}),
        ("portuguese", {"b.must_trump": True}),
    ],
)
def test_9_refused_options(make: MatchFactory, variant: str, options: Options) -> None:
    for short in (False, True):
        with pytest.raises(ValueError):
            make(variant, options, 0, deals_with({}, short))


@pytest.mark.parametrize(
    ("variant", "options", "short"),
    [
        ("turkish_full", {"d.match": "short", "d.global_cap": 2}, False),
        ("international_32", {"a.pack": 52}, False),
        ("international_32", {"a.table32": "balanced160"}, True),
        ("international_32_balanced", {"a.table32": "literal"}, True),
        ("international_32_balanced", {"a.table32": "literal", "a.pack": 52}, False),
        ("portuguese", {"a.pack": 32}, True),
    ],
)
def test_11_25_allowed_options(
    make: MatchFactory, variant: str, options: Options, short: bool
) -> None:
    match = make(variant, options, 0, deals_with({}, short))
    assert len(match.legal()) == (8 if short else 13) or match.phase == "CHOOSE"
