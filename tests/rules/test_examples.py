"""The worked examples, traces and settled readings of the rule text, as deals that are played.

Here are the common engine and systems A and D. Tests are named by section of the rule text; deals
are written as in `plans.py`. Every implementation in `factories.py` plays them.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.naive import team_totals
from tests.rules.factories import Match, MatchFactory
from tests.rules.plans import (
    NO_OPTIONS,
    SEATS,
    SUITS,
    Hands,
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

LADDER = ["+1", "+2", "+3", "-1", "+4", "+5", "+6", "-2", "+7", "+8"]

SHORT = {"a.pack": 32}
BALANCED = {"a.pack": 32, "a.table32": "balanced160"}


def auction(make: MatchFactory, options: Options = NO_OPTIONS, plan: Plan | None = None) -> Match:
    """The first auction of a match, held by seat 0."""
    return match_at(make, 6, 0, None if plan is None else hands_of(plan), options)


def turkish(make: MatchFactory, hands: Hands | None = None, options: Options = NO_OPTIONS) -> Match:
    """A Turkish match whose first selector is seat 1."""
    return match_at(make, 0, 0, hands, options, "turkish_short")


# ---------------------------------------------------------------------------------------------
# 1 Common engine

# Seat 2 has no spade. Seat 1 will lead.
VOID_IN_SPADES = parse_hands(
    "8765.J76.987.982", "A432.A2.A654.543", ".KQ543.KJ32.AK76", "KQJT9.T98.QT.QJT"
)
# Seats 2 and 3 have no spade; seat 1 will lead; seat 0 has one diamond and no club.
TWO_VOIDS = parse_hands(
    "765432.AKQJ76.2.", "AKQJT98.2.AK.AKQ", ".953.QJT98.JT987", ".T84.76543.65432"
)


def test_1_1_packs(make: MatchFactory) -> None:
    assert len(turkish_leader(make, "el").legal()) == 13
    assert len(match_at(make, 0, 0, options=SHORT).legal()) == 8


def turkish_leader(make: MatchFactory, contract: str, options: Options = NO_OPTIONS) -> Match:
    """Seat 1 is about to lead in `VOID_IN_SPADES`."""
    match = turkish(make, VOID_IN_SPADES, options)
    say(match, f"1 contract:{contract}")
    return match


def test_1_2_follow_suit_if_possible(make: MatchFactory) -> None:
    match = turkish_leader(make, "el")
    say(match, "1 AS", "2 7C")
    assert match.legal() == cards("KS QS JS TS 9S")
    say(match, "3 9S")
    assert match.legal() == cards("8S 7S 6S 5S")


def test_1_2_winner_of_led_suit_leads_next(make: MatchFactory) -> None:
    match = turkish_leader(make, "el")
    say(match, "1 2S", "2 AC", "3 9S", "0 8S")
    assert match.actor == 3
    assert list(match.points) == [0, 0, 0, -25]


def test_1_2_highest_trump_wins(make: MatchFactory) -> None:
    match = turkish(make, TWO_VOIDS)
    say(match, "1 contract:koz:H", "1 AS", "2 9H", "3 TH", "0 2S")
    assert match.actor == 3
    assert list(match.points) == [0, 0, 0, 40]


def test_1_2_void_free(make: MatchFactory) -> None:
    match = turkish_leader(make, "rifki")
    say(match, "1 AS")
    assert match.legal() == set(VOID_IN_SPADES[2])


def test_1_2_void_must_trump(make: MatchFactory) -> None:
    match = turkish_leader(make, "koz:H")
    say(match, "1 AS")
    assert match.legal() == cards("KH QH 5H 4H 3H")


def test_1_2_void_must_trump_without_trump(make: MatchFactory) -> None:
    match = turkish_leader(make, "koz:S")
    say(match, "1 AS")
    assert match.legal() == set(VOID_IN_SPADES[2])


def test_1_2_lead_free(make: MatchFactory) -> None:
    assert turkish_leader(make, "kiz").legal() == set(VOID_IN_SPADES[1])


def test_1_2_lead_no_hearts(make: MatchFactory) -> None:
    match = match_at(make, 1, 1, VOID_IN_SPADES)
    no_hearts = {card for card in VOID_IN_SPADES[1] if card[1] != "H"}
    assert match.contract == "no_hearts"
    assert match.legal() == no_hearts
    say(match, "1 AS", "2 KH", "3 9S", "0 8S")
    assert match.legal() == no_hearts - {"AS"}


def test_1_2_lead_no_hearts_with_nothing_else(make: MatchFactory) -> None:
    plan = all_to_one(1)
    match = match_at(make, 1, 1, hands_of(plan))
    for winner, trick in plan[:9]:
        by_seat = {(winner + step) % 4: card for step, card in enumerate(trick.split())}
        say(match, *(f"{seat} {by_seat[seat]}" for seat in (1, 2, 3, 0)))
    assert match.legal() == cards("AH TH 6H 2H")


def test_1_2_lead_until_broken(make: MatchFactory) -> None:
    match = turkish_leader(make, "kupa")
    assert match.legal() == {card for card in VOID_IN_SPADES[1] if card[1] != "H"}
    say(match, "1 AS", "2 7C", "3 9S", "0 8S")
    assert not match.legal() & {"AH", "2H"}  # no heart has been played
    say(match, "1 2S", "2 3H", "3 KS", "0 7S")
    assert match.actor == 3
    assert cards("TH 9H 8H") <= match.legal()


def test_1_2_lead_king_only(make: MatchFactory) -> None:
    match = match_at(make, 4, 2, VOID_IN_SPADES)
    assert match.contract == "no_king"
    assert match.legal() == set(VOID_IN_SPADES[2]) - {"KH"}


def test_1_2_lead_king_only_card_left(make: MatchFactory) -> None:
    plan = all_to_one(1)[:9]
    plan += [follow(1, "H", "AQJT"), follow(1, "H", "9876"), follow(1, "H", "5432")]
    match = match_at(make, 4, 1, hands_of([*plan, (1, "KH 2S 2D 2C")]))
    for winner, trick in plan:
        if trick.startswith("5H"):
            assert match.legal() == {"5H"}  # and the king
        by_seat = {(winner + step) % 4: card for step, card in enumerate(trick.split())}
        say(match, *(f"{seat} {by_seat[seat]}" for seat in (1, 2, 3, 0)))
    assert match.legal() == {"KH"}
    say(match, "1 KH", "2 2S", "3 2D", "0 2C")
    assert list(match.deal_scores[4]) == [0, -160, 0, 0]


def test_1_2_must_overtrump(make: MatchFactory) -> None:
    match = turkish(make, TWO_VOIDS, {"d.must_overtrump": True})
    say(match, "1 contract:koz:H", "1 AS")
    assert match.legal() == cards("9H 5H 3H")
    say(match, "2 5H")
    assert match.legal() == cards("TH 8H")
    say(match, "3 TH", "0 2S", "3 3D", "0 2D", "1 AD", "2 8D", "1 KS", "2 9H")
    assert match.legal() == cards("8H 4H")  # none is higher than the nine: any trump


def test_1_2_underruffing_allowed(make: MatchFactory) -> None:
    match = turkish(make, TWO_VOIDS)
    say(match, "1 contract:koz:H", "1 AS", "2 5H")
    assert match.legal() == cards("TH 8H 4H")


@pytest.mark.parametrize(
    ("contract", "thrown"),
    [
        ("kupa", "KH QH 5H 4H 3H"),
        ("erkek", "KH KD JD KC"),
        ("kiz", "QH"),
        ("rifki", "KH"),
    ],
)
@pytest.mark.parametrize("value", ["discard", "discard_and_duck"])
def test_1_2_void_force_penalty(make: MatchFactory, contract: str, thrown: str, value: str) -> None:
    match = turkish_leader(make, contract, {"d.force_penalty": value})
    say(match, "1 AS")
    assert match.legal() == cards(thrown)


def test_1_2_void_force_penalty_without_penalty_card(make: MatchFactory) -> None:
    match = turkish_leader(make, "kiz", {"d.force_penalty": "discard"})
    say(match, "1 AS", "2 QH", "3 9S", "0 8S", "1 2S")
    assert match.legal() == set(VOID_IN_SPADES[2]) - {"QH"}


def test_1_2_duck(make: MatchFactory) -> None:
    options = {"d.force_penalty": "discard_and_duck"}
    match = turkish_leader(make, "kiz", options)
    say(match, "1 AH")
    assert match.legal() == {"QH"}

    match = turkish_leader(make, "kiz", {"d.force_penalty": "discard"})
    say(match, "1 AH")
    assert match.legal() == cards("KH QH 5H 4H 3H")

    match = turkish_leader(make, "kiz", options)
    say(match, "1 4D", "2 JD")
    assert match.legal() == cards("QD TD")  # nothing higher lies there
    match = turkish_leader(make, "kiz", options)
    say(match, "1 4D", "2 KD")
    assert match.legal() == {"QD"}


# ---------------------------------------------------------------------------------------------
# 1.4 Early end, 1.5 end of match


@pytest.mark.parametrize(("value", "deal_index"), [("never", 4), ("auto", 5)])
def test_1_4_early_end(make: MatchFactory, value: str, deal_index: int) -> None:
    match = match_at(make, 4, 1, VOID_IN_SPADES, {"early_end": value})
    say(match, "1 AH", "2 KH", "3 8H", "0 6H")
    assert match.deal_index == deal_index
    if value == "auto":
        assert list(match.deal_scores[4]) == [0, -160, 0, 0]
        assert list(match.points) == [0, 0, 0, 0]
    else:
        assert list(match.points) == [0, -160, 0, 0]


def test_1_4_early_end_only_of_card_contracts(make: MatchFactory) -> None:
    for contract in ("el", "soniki", "koz:S"):
        match = turkish_leader(make, contract, {"early_end": "auto"})
        say(match, "1 AH", "2 KH", "3 8H", "0 6H")
        assert match.deal_index == 0
    match = turkish_leader(make, "rifki", {"early_end": "auto", "d.hearts_lead": "free"})
    say(match, "1 AH", "2 KH", "3 8H", "0 6H")
    assert match.deal_index == 1


@pytest.mark.parametrize(("variant", "num_deals"), [("international", 10), ("turkish_short", 20)])
def test_1_5_end_of_match(make: MatchFactory, variant: str, num_deals: int) -> None:
    match = make(variant, {}, 3, deals_with({}))
    play_at_random(match, num_deals)
    assert match.phase == "OVER"
    assert match.actor is None
    assert match.legal() == set()
    assert len(match.deal_scores) == num_deals
    sums = [sum(scores[seat] for scores in match.deal_scores) for seat in SEATS]
    assert list(match.totals) == sums


def test_illegal_actions_are_refused(make: MatchFactory) -> None:
    match = auction(make)
    for name in ("match", "accept", "AS", "bid:+9", "nonsense"):
        with pytest.raises(ValueError):
            match.push(name)
    assert match.phase == "BID"


# ---------------------------------------------------------------------------------------------
# 2.1 Set-up of A, 2.2 negative deals

NEGATIVES = ["no_tricks", "no_hearts", "no_queens", "no_men", "no_king", "no_last2"]


@pytest.mark.parametrize("first_dealer", SEATS)
def test_2_1_dealers_and_first_leads(make: MatchFactory, first_dealer: int) -> None:
    match = make("international", {}, first_dealer, deals_with({}))
    for k, contract in enumerate(NEGATIVES):
        play_at_random(match, k)
        dealer = (first_dealer + k) % 4
        assert (match.dealer, match.actor, match.phase) == (dealer, dealer, "PLAY")
        assert (match.contract, match.trump) == (contract, None)
    for k in range(6, 10):
        play_at_random(match, k)
        dealer = (first_dealer + k) % 4
        assert (match.dealer, match.actor, match.phase) == (dealer, (dealer + 1) % 4, "BID")
        assert match.contract is None


def test_2_1_lead_negative_dealer_left(make: MatchFactory) -> None:
    match = match_at(make, 2, 3, options={"a.lead_negative": "dealer_left"})
    assert match.actor == 0


@pytest.mark.parametrize(("value", "leader"), [("dealer", 0), ("dealer_left", 1), ("declarer", 2)])
def test_2_1_lead_positive_after_a_sale(make: MatchFactory, value: str, leader: int) -> None:
    match = auction(make, {"a.lead_positive": value})
    say(match, "1 pass", "2 bid:+1", "3 pass", "0 accept", "2 declare:D")
    assert (match.phase, match.actor) == ("PLAY", leader)


@pytest.mark.parametrize(("value", "leader"), [("dealer", 0), ("dealer_left", 1), ("declarer", 0)])
def test_2_1_lead_positive_kept(make: MatchFactory, value: str, leader: int) -> None:
    match = auction(make, {"a.lead_positive": value})
    say(match, "1 pass", "2 bid:+1", "3 pass", "0 refuse", "0 declare:NEG")
    assert (match.phase, match.actor) == ("PLAY", leader)


@pytest.mark.parametrize(
    ("options", "totals"),
    [
        ({}, [-260, -260, -200, -240, -160, -180]),
        (SHORT, [-160, -160, -200, -240, -160, -180]),
        (BALANCED, [-160, -160, -160, -160, -160, -160]),
    ],
)
def test_2_2_totals(make: MatchFactory, options: Options, totals: list[int]) -> None:
    short = bool(options)
    plan = all_to_one(1, short)
    special = dict.fromkeys(range(6), hands_of(plan))
    match = make("international", options, 0, deals_with(special, short))
    for k, total in enumerate(totals):
        assert list(play_plan(match, plan)) == [0, total, 0, 0], NEGATIVES[k]
    assert list(match.totals) == [0, sum(totals), 0, 0]


def test_2_2_deal_1(make: MatchFactory) -> None:
    plan = counted_plan([5, 3, 4, 1])
    match = match_at(make, 0, 0, hands_of(plan))
    assert play_plan(match, plan) == [-100, -60, -80, -20]


# Eight kings and jacks: three to seat 0, one to seat 2 and so on, as the examples ask.
MEN_3_0_4_1 = [
    follow(2, "S", "AKJ4"),
    follow(2, "H", "AKJ4"),
    follow(0, "D", "AKJ4"),
    follow(0, "C", "AK54"),
    follow(3, "C", "QJ76"),
    follow(1, "S", "QT98"),
    follow(1, "H", "QT98"),
    follow(1, "D", "QT98"),
    follow(1, "C", "T983"),
    follow(0, "S", "7653"),
    follow(0, "H", "7653"),
    follow(0, "D", "7653"),
    (0, "2S 2H 2D 2C"),
]


def test_2_2_deal_4(make: MatchFactory) -> None:
    match = match_at(make, 3, 1, hands_of(MEN_3_0_4_1))
    assert play_plan(match, MEN_3_0_4_1) == [-90, 0, -120, -30]


def test_2_2_deal_6(make: MatchFactory) -> None:
    plan = counted_plan([13, 0, 0, 0])[:9]
    plan += [follow(0, "C", "AKQJ"), follow(0, "C", "T987")]
    plan += [(2, "6C 5C 4C 2H"), (0, "3C 2D 2C 2S")]
    match = match_at(make, 5, 3, hands_of(plan))
    assert play_plan(match, plan) == [-90, 0, -90, 0]


def test_2_2_no_king_has_no_duty_to_throw(make: MatchFactory) -> None:
    match = match_at(make, 4, 1, VOID_IN_SPADES)
    say(match, "1 AS")
    assert match.legal() == set(VOID_IN_SPADES[2])
    match = match_at(make, 4, 1, VOID_IN_SPADES)
    say(match, "1 AH")
    assert match.legal() == cards("KH QH 5H 4H 3H")


def test_2_2_no_king_lead_no_hearts(make: MatchFactory) -> None:
    match = match_at(make, 4, 2, VOID_IN_SPADES, {"a.no_king_lead": "no_hearts"})
    assert match.legal() == {card for card in VOID_IN_SPADES[2] if card[1] != "H"}


def test_2_2_no_king_force_void(make: MatchFactory) -> None:
    options = {"a.no_king_force": "void"}
    match = match_at(make, 4, 1, VOID_IN_SPADES, options)
    say(match, "1 AS")
    assert match.legal() == {"KH"}
    match = match_at(make, 4, 1, VOID_IN_SPADES, options)
    say(match, "1 AH")
    assert match.legal() == cards("KH QH 5H 4H 3H")


def test_2_2_no_king_force_first_opportunity(make: MatchFactory) -> None:
    options = {"a.no_king_force": "first_opportunity"}
    for lead in ("AS", "AH", "2H"):
        match = match_at(make, 4, 1, VOID_IN_SPADES, options)
        say(match, f"1 {lead}")
        assert match.legal() == {"KH"}
    match = match_at(make, 4, 1, VOID_IN_SPADES, options)
    say(match, "1 AD")
    assert match.legal() == cards("KD JD 3D 2D")


def test_11_8_nothing_is_forced_on_the_leader(make: MatchFactory) -> None:
    options = {"a.no_king_force": "first_opportunity"}
    match = match_at(make, 4, 2, VOID_IN_SPADES, options)
    assert match.legal() == set(VOID_IN_SPADES[2]) - {"KH"}


def test_2_2_no_king_force_is_for_that_deal_only(make: MatchFactory) -> None:
    match = match_at(make, 1, 1, VOID_IN_SPADES, {"a.no_king_force": "first_opportunity"})
    say(match, "1 AS")
    assert match.legal() == set(VOID_IN_SPADES[2])


# ---------------------------------------------------------------------------------------------
# 2.3 Positive deals


def test_2_3_declarations(make: MatchFactory) -> None:
    match = auction(make)
    say(match, "1 pass", "2 pass", "3 pass", "0 refuse")
    assert match.phase == "DECLARE"
    assert calls(match, "declare:") == {"S", "H", "D", "C", "NT", "NEG"}


def test_2_3_no_trump_not_allowed(make: MatchFactory) -> None:
    options = {"a.allow_no_trump": False}
    match = auction(make, options)
    say(match, "1 pass", "2 pass", "3 pass", "0 refuse")
    assert calls(match, "declare:") == {"S", "H", "D", "C", "NEG"}
    match = auction(make, options)
    say(match, "1 bid:+1", "2 pass", "3 pass", "0 accept")
    assert calls(match, "declare:") == {"S", "H", "D", "C"}
    match = auction(make, options | {"a.ultimatum.fallback": "free"})
    say(match, "1 pass", "2 pass", "3 pass", "0 ultimatum:+1", "1 reject", "2 reject", "3 reject")
    assert calls(match, "declare:") == {"S", "H", "D", "C", "NEG"}


@pytest.mark.parametrize(
    ("options", "declared", "one", "others"),
    [
        ({}, "NT", 325, 0),
        ({}, "NEG", 325 - 975, 325),
        (SHORT, "NT", 200, 0),
        (SHORT, "NEG", 200 - 600, 200),
        (BALANCED, "NT", 240, 0),
        (BALANCED, "NEG", 240 - 720, 240),
    ],
)
def test_2_3_values(
    make: MatchFactory, options: Options, declared: str, one: int, others: int
) -> None:
    plan = all_to_one(3, bool(options))
    match = auction(make, options, plan)
    say(match, "1 pass", "2 pass", "3 pass", "0 refuse", f"0 declare:{declared}")
    assert play_plan(match, plan) == [others, others, others, one]


@pytest.mark.parametrize(
    ("options", "second", "third"),
    [
        ({}, set(TWO_VOIDS[2]), set(TWO_VOIDS[3])),
        ({"a.must_trump": True}, cards("9H 5H 3H"), cards("TH 8H 4H")),
        ({"a.must_trump": True, "a.must_overtrump": True}, cards("9H 5H 3H"), cards("TH 8H")),
        # 11.7: only together with must_trump.
        ({"a.must_overtrump": True}, set(TWO_VOIDS[2]), set(TWO_VOIDS[3])),
    ],
)
def test_2_3_void_rule(
    make: MatchFactory, options: Options, second: set[str], third: set[str]
) -> None:
    match = match_at(make, 6, 1, TWO_VOIDS, options)
    say(match, "2 pass", "3 pass", "0 pass", "1 refuse", "1 declare:H")
    assert match.legal() == set(TWO_VOIDS[1])  # the lead is free
    say(match, "1 AS")
    assert match.legal() == second
    say(match, "2 5H")
    assert match.legal() == third


def test_2_3_void_rule_without_trump_is_free(make: MatchFactory) -> None:
    options = {"a.must_trump": True, "a.must_overtrump": True}
    for declared in ("NT", "NEG"):
        match = match_at(make, 6, 1, TWO_VOIDS, options)
        say(match, "2 pass", "3 pass", "0 pass", "1 refuse", f"1 declare:{declared}", "1 AS")
        assert match.legal() == set(TWO_VOIDS[2])


def test_11_7_overtrump_leaves_following_suit_alone(make: MatchFactory) -> None:
    options = {"a.must_trump": True, "a.must_overtrump": True}
    match = match_at(make, 6, 1, TWO_VOIDS, options)
    say(match, "2 pass", "3 pass", "0 pass", "1 refuse", "1 declare:H", "1 2H", "2 9H")
    assert match.legal() == cards("TH 8H 4H")


def test_2_3_points_come_trick_by_trick_and_the_rest_at_the_end(make: MatchFactory) -> None:
    plan = counted_plan([3, 0, 4, 6])
    match = auction(make, {}, plan)
    say(match, "1 bid:-1", "2 pass", "3 pass", "0 accept")
    assert list(match.points) == [0, 0, 0, 0]
    by_seat = {(plan[0][0] + step) % 4: card for step, card in enumerate(plan[0][1].split())}
    say(match, *(f"{seat} {by_seat[seat]}" for seat in SEATS))
    assert list(match.points) == [-75, 0, 0, 0]
    play_plan(match, plan[1:])
    assert list(match.points) == [0, 0, 0, 0]
    assert list(match.deal_scores[6]) == [175, 250, 25, -125]


# ---------------------------------------------------------------------------------------------
# 2.4 Auction


def test_2_4_trace_1(make: MatchFactory) -> None:
    match = auction(make)
    say(match, "1 bid:+2", "2 bid:+3", "3 bid:-1", "1 match", "2 bid:+4", "3 pass", "1 match")
    say(match, "2 pass")
    assert (match.phase, match.actor) == ("DECIDE", 0)
    assert "take_unplayed" not in match.legal()  # six offers
    say(match, "0 negotiate:+5")
    assert (match.phase, match.actor) == ("NEGOTIATE", 1)  # p1 holds
    say(match, "1 decline", "0 accept")
    assert (match.phase, match.actor) == ("DECLARE", 1)


def test_2_4_trace_1_six_offers(make: MatchFactory) -> None:
    for threshold in (6, 7):
        match = auction(make, {"a.failed.threshold": threshold})
        say(match, "1 bid:+2", "2 bid:+3", "3 bid:-1", "1 match", "2 bid:+4", "3 pass", "1 match")
        say(match, "2 pass")
        assert ("take_unplayed" in match.legal()) == (threshold == 7)


def test_2_4_trace_2(make: MatchFactory) -> None:
    match = auction(make)
    say(match, "1 pass", "2 bid:+5", "3 bid:+8", "2 match")
    assert (match.phase, match.actor, match.legal()) == ("BID", 3, {"pass"})
    say(match, "3 pass")
    assert (match.phase, match.actor) == ("DECLARE", 2)


def test_2_4_trace_3(make: MatchFactory) -> None:
    plan = counted_plan([0, 2, 9, 2])
    match = auction(make, {}, plan)
    say(match, "1 bid:+4", "2 pass", "3 pass", "0 ultimatum:+8")
    assert (match.phase, match.actor) == ("ULTIMATUM", 1)
    assert match.legal() == {"accept", "reject"}
    say(match, "1 reject", "2 accept")
    assert (match.phase, match.actor) == ("DECLARE", 2)
    say(match, "2 declare:S")
    assert play_plan(match, plan) == [200, 50, 25, 50]


def test_2_4_trace_3_all_reject(make: MatchFactory) -> None:
    plan = counted_plan([3, 0, 4, 6])
    match = auction(make, {}, plan)
    say(match, "1 bid:+4", "2 pass", "3 pass", "0 ultimatum:+8", "1 reject", "2 reject", "3 reject")
    assert (match.phase, match.actor, match.contract) == ("PLAY", 0, "nulls")
    assert play_plan(match, plan) == [100, 325, 25, -125]  # nobody pays


def test_2_4_trace_4(make: MatchFactory) -> None:
    match = auction(make)
    say(match, "1 pass", "2 pass", "3 pass")
    assert (match.phase, match.actor) == ("DECIDE", 0)
    assert match.legal() == {"refuse", "take_unplayed"} | {f"ultimatum:{r}" for r in LADDER}
    say(match, "0 refuse")
    assert {"declare:S", "declare:NT", "declare:NEG"} <= match.legal()


def test_2_4_ladder(make: MatchFactory) -> None:
    match = auction(make)
    assert (match.phase, match.actor) == ("BID", 1)
    assert match.legal() == {"pass"} | {f"bid:{r}" for r in LADDER}
    say(match, "1 bid:+3")
    assert calls(match, "bid:") == set(LADDER[3:])
    say(match, "2 bid:-1")
    assert calls(match, "bid:") == set(LADDER[4:])
    say(match, "3 bid:-2")  # a jump
    assert calls(match, "bid:") == {"+7", "+8"}


@pytest.mark.parametrize(
    ("max_plus", "rungs"),
    [
        (1, "+1"),
        (2, "+1 +2"),
        (3, "+1 +2 +3 -1"),
        (4, "+1 +2 +3 -1 +4"),
        (5, "+1 +2 +3 -1 +4 +5"),
        (6, "+1 +2 +3 -1 +4 +5 +6 -2"),
        (7, "+1 +2 +3 -1 +4 +5 +6 -2 +7"),
        (8, "+1 +2 +3 -1 +4 +5 +6 -2 +7 +8"),
    ],
)
def test_2_7_max_plus(make: MatchFactory, max_plus: int, rungs: str) -> None:
    match = auction(make, {"a.auction.max_plus": max_plus})
    assert calls(match, "bid:") == cards(rungs)
    say(match, "1 pass", "2 pass", "3 pass")
    assert calls(match, "ultimatum:") == cards(rungs)


def test_2_4_pass_is_final(make: MatchFactory) -> None:
    match = auction(make)
    say(match, "1 pass", "2 bid:+1", "3 bid:+2", "2 bid:+3", "3 bid:+4", "2 match", "3 pass")
    assert match.phase == "DECIDE"


def test_2_4_matching_is_for_seats_before_the_holder(make: MatchFactory) -> None:
    match = auction(make)
    assert "match" not in match.legal()  # no holder
    say(match, "1 bid:+1")
    assert "match" not in match.legal()
    say(match, "2 bid:+2")
    assert "match" not in match.legal()
    say(match, "3 bid:+3")
    assert "match" in match.legal()
    say(match, "1 pass")
    assert "match" in match.legal()
    say(match, "2 match")
    assert "match" not in match.legal()
    say(match, "3 bid:-1", "2 match", "3 pass", "0 accept")
    assert (match.phase, match.contract, match.actor) == ("PLAY", "nulls", 0)


def test_2_4_matched_call_may_be_overbid(make: MatchFactory) -> None:
    match = auction(make)
    say(match, "1 bid:+1", "2 bid:+2", "3 pass", "1 match")
    assert match.legal() == {"pass"} | {f"bid:{r}" for r in LADDER[2:]}


def test_2_4_match_off(make: MatchFactory) -> None:
    match = auction(make, {"a.auction.match": "off"})
    say(match, "1 bid:+3", "2 bid:-1", "3 pass")
    assert match.legal() == {"pass"} | {f"bid:{r}" for r in LADDER[4:]}


def test_2_4_match_same_value(make: MatchFactory) -> None:
    options = {"a.auction.match": "same_value"}
    match = auction(make, options)
    say(match, "1 bid:+2", "2 bid:+3", "3 pass")
    assert {name for name in match.legal() if "match" in name} == {"match", "match:-1"}
    match = auction(make, options)
    say(match, "1 bid:+2", "2 bid:-1", "3 pass")
    assert {name for name in match.legal() if "match" in name} == {"match", "match:+3"}
    match = auction(make, options)
    say(match, "1 bid:+2", "2 bid:+6", "3 bid:-2")
    assert {name for name in match.legal() if "match" in name} == {"match", "match:+6"}
    say(match, "1 match:+6", "2 pass", "3 pass", "0 accept")
    assert match.phase == "DECLARE"  # a plus call was sold
    match = auction(make, options)
    say(match, "1 bid:+2", "2 bid:+4", "3 pass")
    assert {name for name in match.legal() if "match" in name} == {"match"}


def test_11_1_same_value_keeps_the_floor(make: MatchFactory) -> None:
    match = auction(make, {"a.auction.match": "same_value"})
    say(match, "1 bid:+2", "2 bid:-1", "3 pass", "1 match:+3")
    assert match.legal() == {"pass"} | {f"bid:{r}" for r in LADDER[4:]}
    say(match, "2 pass")
    assert match.phase == "DECIDE"
    assert calls(match, "ultimatum:") == set(LADDER[4:])
    assert calls(match, "negotiate:") == set(LADDER[4:])


def test_11_1_match_by_the_other_call_does_not_raise_the_floor(make: MatchFactory) -> None:
    match = auction(make, {"a.auction.match": "same_value"})
    say(match, "1 bid:+2", "2 bid:+3", "3 pass", "1 match:-1")
    assert match.legal() == {"pass"} | {f"bid:{r}" for r in LADDER[3:]}
    say(match, "2 pass")
    assert calls(match, "ultimatum:") == set(LADDER[3:])
    assert calls(match, "negotiate:") == set(LADDER[4:])
    say(match, "0 accept")
    assert (match.phase, match.contract) == ("PLAY", "nulls")


def test_2_4_binding_eight(make: MatchFactory) -> None:
    match = auction(make)
    say(match, "1 bid:+8", "2 pass")
    assert (match.actor, match.legal()) == (3, {"pass"})
    say(match, "3 pass")
    assert (match.phase, match.actor) == ("DECLARE", 1)


def test_2_4_eight_binds_only_in_an_ultimatum(make: MatchFactory) -> None:
    options = {"a.auction.plus8_binding": "ultimatum_only"}
    match = auction(make, options)
    say(match, "1 bid:+8", "2 pass", "3 pass")
    assert (match.phase, match.actor) == ("DECIDE", 0)
    assert match.legal() == {"accept", "refuse", "take_unplayed"}
    match = auction(make, options)
    say(match, "1 bid:+7", "2 pass", "3 pass", "0 ultimatum:+8", "1 accept")
    assert (match.phase, match.actor) == ("DECLARE", 1)
    match = auction(make, options)
    say(match, "1 bid:+7", "2 pass", "3 pass", "0 negotiate:+8", "1 agree")
    assert match.legal() == {"accept", "refuse", "take_unplayed"}


def test_2_7_top_plus_binds(make: MatchFactory) -> None:
    match = auction(make, {"a.auction.max_plus": 5})
    say(match, "1 bid:+5", "2 pass", "3 pass")
    assert (match.phase, match.actor) == ("DECLARE", 1)


def test_11_24_the_holders_call_binds(make: MatchFactory) -> None:
    options = {"a.auction.max_plus": 3, "a.auction.match": "same_value"}
    match = auction(make, options)
    say(match, "1 bid:+1", "2 bid:-1", "3 pass", "1 pass")
    assert match.phase == "DECIDE"
    match = auction(make, options)
    say(match, "1 bid:+1", "2 bid:-1", "3 pass", "1 match:+3", "2 pass")
    assert (match.phase, match.actor) == ("DECLARE", 1)
    match = auction(make, options)
    say(match, "1 bid:+1", "2 bid:+3", "3 pass", "1 match:-1", "2 pass")
    assert match.phase == "DECIDE"


def test_2_4_decide(make: MatchFactory) -> None:
    match = auction(make)
    say(match, "1 bid:+6", "2 pass", "3 pass")
    assert match.legal() == cards(
        "accept refuse take_unplayed negotiate:+7 negotiate:+8"
        " ultimatum:-2 ultimatum:+7 ultimatum:+8"
    )


def test_2_4_accept_and_trump_at_declare(make: MatchFactory) -> None:
    match = auction(make)
    say(match, "1 bid:+1", "2 pass", "3 pass", "0 accept")
    assert (match.phase, match.actor) == ("DECLARE", 1)
    assert (match.contract, match.trump) == (None, None)
    assert calls(match, "declare:") == {"S", "H", "D", "C", "NT"}
    say(match, "1 declare:H")
    assert (match.phase, match.actor) == ("PLAY", 0)
    assert (match.contract, match.trump) == ("positive", "H")


def test_2_4_negotiation_agreed(make: MatchFactory) -> None:
    plan = counted_plan([2, 6, 3, 2])
    match = auction(make, {}, plan)
    say(match, "1 bid:+3", "2 pass", "3 pass", "0 negotiate:+5", "1 agree")
    assert (match.phase, match.actor) == ("DECIDE", 0)
    assert calls(match, "negotiate:") == set()  # one request
    assert calls(match, "ultimatum:") == set(LADDER[6:])
    say(match, "0 accept", "1 declare:S")
    assert play_plan(match, plan) == [175, 25, 75, 50]


def test_2_4_negotiation_declined(make: MatchFactory) -> None:
    match = auction(make)
    say(match, "1 bid:+3", "2 pass", "3 pass", "0 negotiate:+5", "1 decline")
    assert calls(match, "negotiate:") == set()
    assert calls(match, "ultimatum:") == set(LADDER[3:])
    assert {"accept", "refuse"} <= match.legal()


@pytest.mark.parametrize("requests", [0, 1, 2, 3])
def test_2_4_negotiation_requests(make: MatchFactory, requests: int) -> None:
    match = auction(make, {"a.negotiation.max_requests": requests})
    say(match, "1 bid:+1", "2 pass", "3 pass")
    for request in range(requests):
        say(match, f"0 negotiate:{LADDER[4 + request]}", f"1 {'agree' if request else 'decline'}")
    assert match.phase == "DECIDE"
    assert calls(match, "negotiate:") == set()


def test_2_4_negotiated_eight_is_sold(make: MatchFactory) -> None:
    match = auction(make)
    say(match, "1 bid:+3", "2 pass", "3 pass", "0 negotiate:+8", "1 agree")
    assert (match.phase, match.actor) == ("DECLARE", 1)


def test_2_4_negotiation_changes_the_kind(make: MatchFactory) -> None:
    match = auction(make)
    say(match, "1 bid:+2", "2 pass", "3 pass", "0 negotiate:-1", "1 agree", "0 accept")
    assert (match.phase, match.contract) == ("PLAY", "nulls")


def test_11_20_ultimatum_by_rung_negotiation_by_worth(make: MatchFactory) -> None:
    match = auction(make)
    say(match, "1 bid:+3", "2 pass", "3 pass")
    assert "ultimatum:-1" in match.legal()
    assert calls(match, "negotiate:") == {"+4", "+5", "+6", "-2", "+7", "+8"}


def test_2_4_ultimatum_asks_those_who_passed_too(make: MatchFactory) -> None:
    match = auction(make)
    say(match, "1 pass", "2 pass", "3 pass", "0 ultimatum:+1", "1 reject", "2 reject", "3 accept")
    assert (match.phase, match.actor) == ("DECLARE", 3)


def test_2_4_ultimatum_on_a_minus(make: MatchFactory) -> None:
    plan = counted_plan([2, 0, 5, 6])
    match = auction(make, {}, plan)
    say(match, "1 bid:+3", "2 pass", "3 pass", "0 ultimatum:-2", "1 accept")
    assert (match.phase, match.contract, match.actor) == ("PLAY", "nulls", 0)
    assert play_plan(match, plan) == [325, 175, -50, -125]


def test_2_4_ultimatum_disabled(make: MatchFactory) -> None:
    options = {"a.ultimatum.enabled": False, "a.ultimatum.timing": "both"}
    match = auction(make, options)
    assert match.phase == "BID"
    say(match, "1 bid:+3", "2 pass", "3 pass")
    assert calls(match, "ultimatum:") == set()


def test_2_4_ultimatum_eight_only(make: MatchFactory) -> None:
    options: dict[str, object] = {"a.ultimatum.demands": "eight_only"}
    match = auction(make, options)
    say(match, "1 bid:+3", "2 pass", "3 pass")
    assert calls(match, "ultimatum:") == {"+8"}
    match = auction(make, options | {"a.auction.max_plus": 3})
    say(match, "1 bid:+2", "2 pass", "3 pass")
    assert calls(match, "ultimatum:") == {"+3"}
    match = auction(make, options | {"a.auction.max_plus": 3})
    say(match, "1 bid:-1", "2 pass", "3 pass")  # above the top plus
    assert calls(match, "ultimatum:") == set()


@pytest.mark.parametrize("respondents", ["active", "holder"])
def test_2_4_ultimatum_respondents(make: MatchFactory, respondents: str) -> None:
    options = {"a.ultimatum.respondents": respondents}
    match = auction(make, options)
    say(match, "1 bid:+3", "2 bid:+4", "3 pass", "1 pass", "0 ultimatum:+8")
    assert match.actor == 2
    say(match, "2 reject")
    assert (match.phase, match.contract, match.actor) == ("PLAY", "nulls", 0)
    match = auction(make, options)
    say(match, "1 bid:+3", "2 bid:+4", "3 pass", "1 pass", "0 ultimatum:+8", "2 accept")
    assert (match.phase, match.actor) == ("DECLARE", 2)


@pytest.mark.parametrize("respondents", ["active", "holder"])
def test_11_4_an_ultimatum_nobody_could_answer(make: MatchFactory, respondents: str) -> None:
    match = auction(make, {"a.ultimatum.respondents": respondents})
    say(match, "1 pass", "2 pass", "3 pass")
    assert match.legal() == {"refuse", "take_unplayed"}


def test_11_4_fallback_free(make: MatchFactory) -> None:
    plan = counted_plan([2, 6, 3, 2])
    match = auction(make, {"a.ultimatum.fallback": "free"}, plan)
    say(match, "1 bid:+4", "2 pass", "3 pass", "0 ultimatum:+8", "1 reject", "2 reject", "3 reject")
    assert (match.phase, match.actor) == ("DECLARE", 0)
    assert calls(match, "declare:") == {"S", "H", "D", "C", "NT", "NEG"}
    say(match, "0 declare:S")
    assert play_plan(match, plan) == [50, 150, 75, 50]


def test_11_3_open(make: MatchFactory) -> None:
    options = {"a.ultimatum.timing": "both"}
    match = auction(make, options)
    assert (match.phase, match.actor) == ("OPEN", 0)
    assert match.legal() == {"open"} | {f"ultimatum:{r}" for r in LADDER}
    say(match, "0 open")
    assert (match.phase, match.actor) == ("BID", 1)
    say(match, "1 bid:+7", "2 pass", "3 pass", "0 ultimatum:+8")  # at the end as well
    assert (match.phase, match.actor) == ("ULTIMATUM", 1)

    match = auction(make, options)
    say(match, "0 ultimatum:+2", "1 reject", "2 accept")
    assert (match.phase, match.actor) == ("DECLARE", 2)
    match = auction(make, options)
    say(match, "0 ultimatum:+2", "1 reject", "2 reject", "3 reject")
    assert (match.phase, match.contract, match.actor) == ("PLAY", "nulls", 0)
    match = auction(make, options | {"a.ultimatum.fallback": "free"})
    say(match, "0 ultimatum:+2", "1 reject", "2 reject", "3 reject")
    assert (match.phase, match.actor) == ("DECLARE", 0)


def test_11_3_open_respondents(make: MatchFactory) -> None:
    options = {"a.ultimatum.timing": "both", "a.ultimatum.respondents": "active"}
    match = auction(make, options)
    say(match, "0 ultimatum:+2", "1 reject", "2 reject", "3 reject")  # before it all are active
    assert match.phase == "PLAY"


def test_11_19_open_only_when_an_ultimatum_is_possible(make: MatchFactory) -> None:
    options: dict[str, object] = {"a.ultimatum.timing": "both"}
    match = auction(make, options | {"a.ultimatum.respondents": "holder"})
    assert match.phase == "BID"
    match = auction(make, options | {"a.ultimatum.demands": "eight_only"})
    assert match.legal() == {"open", "ultimatum:+8"}
    match = auction(make, options | {"a.ultimatum.demands": "eight_only", "a.auction.max_plus": 6})
    assert match.legal() == {"open", "ultimatum:+6"}


def test_11_2_no_declaration_after_a_minus_sale(make: MatchFactory) -> None:
    match = auction(make)
    say(match, "1 bid:-1", "2 pass", "3 pass", "0 accept")
    assert (match.phase, match.contract, match.trump) == ("PLAY", "nulls", None)


def test_11_21_lead_declarer_after_a_minus_sale(make: MatchFactory) -> None:
    match = auction(make, {"a.lead_positive": "declarer"})
    say(match, "1 pass", "2 bid:-1", "3 pass", "0 accept")
    assert (match.phase, match.actor) == ("PLAY", 2)


# ---------------------------------------------------------------------------------------------
# 2.5 Settlement; seat 0 is the auctioneer, seat 1 the buyer


def sold(
    make: MatchFactory,
    call: str,
    tricks: Sequence[int],
    options: Options = NO_OPTIONS,
    declared: str | None = None,
) -> list[int]:
    """Scores of a deal sold to seat 1 for the call, with these tricks by seat."""
    plan = counted_plan(tricks, options.get("a.pack") == 32)
    match = auction(make, options, plan)
    say(match, f"1 bid:{call}", "2 pass", "3 pass")
    if match.phase == "DECIDE":
        say(match, "0 accept")
    if declared is not None:
        say(match, f"1 declare:{declared}")
    assert match.contract == ("positive" if declared in ("S", "NT") else "nulls")
    return list(play_plan(match, plan))


@pytest.mark.parametrize("declared", ["S", "NT"])
def test_2_5_plus_five(make: MatchFactory, declared: str) -> None:
    assert sold(make, "+5", [2, 6, 3, 2], declared=declared) == [175, 25, 75, 50]


def test_2_5_plus_five_short(make: MatchFactory) -> None:
    assert sold(make, "+5", [2, 3, 4, 4], declared="S") == [175, -50, 100, 100]


def test_2_5_plus_eight(make: MatchFactory) -> None:
    assert sold(make, "+8", [0, 9, 2, 2], declared="S") == [200, 25, 50, 50]


def test_2_5_plus_transfer_capped(make: MatchFactory) -> None:
    options = {"a.plus_settlement": "transfer_capped"}
    assert sold(make, "+5", [2, 3, 4, 4], options, "S") == [125, 0, 100, 100]
    assert sold(make, "+5", [2, 6, 3, 2], options, "S") == [175, 25, 75, 50]


def test_2_5_minus_one(make: MatchFactory) -> None:
    assert sold(make, "-1", [3, 0, 4, 6]) == [175, 250, 25, -125]


def test_2_5_minus_two_fewer_than_offered(make: MatchFactory) -> None:
    assert sold(make, "-2", [1, 2, 4, 6]) == [325, 100, 25, -125]


def test_2_5_minus_two_more_than_offered(make: MatchFactory) -> None:
    assert sold(make, "-2", [5, 0, 4, 4]) == [100, 175, 25, 25]


def test_2_5_minus_two_as_offered(make: MatchFactory) -> None:
    assert sold(make, "-2", [2, 0, 5, 6]) == [325, 175, -50, -125]


def test_2_5_minus_fixed_transfer(make: MatchFactory) -> None:
    options = {"a.minus_settlement": "fixed_transfer"}
    assert sold(make, "-2", [1, 2, 4, 6], options) == [400, 25, 25, -125]


def test_2_5_kept_by_the_auctioneer(make: MatchFactory) -> None:
    plan = counted_plan([2, 6, 3, 2])
    match = auction(make, {}, plan)
    say(match, "1 bid:+5", "2 pass", "3 pass", "0 refuse", "0 declare:S")
    assert play_plan(match, plan) == [50, 150, 75, 50]


FREE_DEAL = {"a.auction.bid_binds_deal": False}


def test_2_5_bid_does_not_bind_the_deal(make: MatchFactory) -> None:
    for call in ("+3", "-1"):
        match = auction(make, FREE_DEAL)
        say(match, f"1 bid:{call}", "2 pass", "3 pass", "0 accept")
        assert calls(match, "declare:") == {"S", "H", "D", "C", "NT", "NEG"}


def test_2_5_bid_does_not_bind_plus_in_nulls(make: MatchFactory) -> None:
    # Base 175, 325, 25, -125; three pluses are 75.
    assert sold(make, "+3", [2, 0, 4, 7], FREE_DEAL, "NEG") == [250, 250, 25, -200]


def test_2_5_bid_does_not_bind_minus_in_positive(make: MatchFactory) -> None:
    assert sold(make, "-2", [1, 6, 4, 2], FREE_DEAL, "S") == [175, 0, 100, 50]


def test_2_5_bid_does_not_bind_minus_in_nulls(make: MatchFactory) -> None:
    assert sold(make, "-2", [1, 2, 4, 6], FREE_DEAL, "NEG") == [325, 100, 25, -125]


def test_11_9_other_kind_is_paid_in_full(make: MatchFactory) -> None:
    options = FREE_DEAL | {"a.plus_settlement": "transfer_capped"}
    assert sold(make, "+3", [2, 0, 4, 7], options, "NEG") == [250, 250, 25, -200]
    options = FREE_DEAL | {"a.minus_settlement": "absorb_capped"}
    assert sold(make, "-2", [0, 7, 4, 2], options, "S") == [150, 25, 100, 50]


# ---------------------------------------------------------------------------------------------
# 2.6 Failed auction


def test_2_6_unplayed(make: MatchFactory) -> None:
    match = auction(make)
    say(match, "1 pass", "2 pass", "3 pass", "0 take_unplayed")
    assert list(match.deal_scores[6]) == [100, 75, 75, 75]
    assert (match.deal_index, match.dealer, match.phase) == (7, 1, "BID")
    assert list(match.points) == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("spoken", "offer_count", "best_value"),
    [
        (["1 bid:+4", "2 pass", "3 pass"], True, False),
        (["1 bid:+1", "2 bid:+2", "3 pass", "1 match", "2 pass"], False, True),
        (["1 pass", "2 pass", "3 pass"], True, True),
    ],
)
def test_2_6_examples(
    make: MatchFactory, spoken: list[str], offer_count: bool, best_value: bool
) -> None:
    for criterion, allowed in [
        ("offer_count", offer_count),
        ("best_value", best_value),
        ("never", False),
    ]:
        match = auction(make, {"a.failed.criterion": criterion})
        say(match, *spoken)
        assert match.phase == "DECIDE"
        assert ("take_unplayed" in match.legal()) == allowed, criterion


def test_2_6_best_value_of_a_minus(make: MatchFactory) -> None:
    for threshold in (3, 4):
        options = {"a.failed.criterion": "best_value", "a.failed.threshold": threshold}
        match = auction(make, options)
        say(match, "1 bid:-1", "2 pass", "3 pass")
        assert ("take_unplayed" in match.legal()) == (threshold == 4)


def test_2_6_not_after_an_ultimatum(make: MatchFactory) -> None:
    match = auction(make, {"a.ultimatum.fallback": "free"})
    say(match, "1 pass", "2 pass", "3 pass", "0 ultimatum:+1", "1 reject", "2 reject", "3 reject")
    assert "take_unplayed" not in match.legal()


def test_11_5_an_agreed_negotiation_is_no_offer(make: MatchFactory) -> None:
    match = auction(make)
    say(match, "1 bid:+1", "2 bid:+2", "3 pass", "1 pass", "0 negotiate:+3", "2 agree")
    assert "take_unplayed" in match.legal()  # two offers
    assert "refuse" in match.legal()
    match = auction(make, {"a.failed.criterion": "best_value"})
    say(match, "1 bid:+1", "2 bid:+2", "3 pass", "1 pass")
    assert "take_unplayed" in match.legal()
    say(match, "0 negotiate:+3", "2 agree")
    assert "take_unplayed" not in match.legal()  # but the best offer is now worth three


# ---------------------------------------------------------------------------------------------
# 2.7 32 cards


def test_2_7_balanced_plus_three(make: MatchFactory) -> None:
    assert sold(make, "+3", [1, 4, 2, 1], BALANCED, "S") == [120, 30, 60, 30]


def test_2_7_balanced_minus_one(make: MatchFactory) -> None:
    assert sold(make, "-1", [2, 1, 3, 2], BALANCED) == [150, 60, -30, 60]


def test_2_7_literal_plus_four(make: MatchFactory) -> None:
    assert sold(make, "+4", [1, 5, 1, 1], SHORT, "S") == [125, 25, 25, 25]


@pytest.mark.parametrize(("options", "each"), [(SHORT, 50), (BALANCED, 60)])
def test_11_10_unplayed_32(make: MatchFactory, options: Options, each: int) -> None:
    match = auction(make, options)
    say(match, "1 pass", "2 pass", "3 pass", "0 take_unplayed")
    assert list(match.deal_scores[6]) == [each] * 4


@pytest.mark.parametrize(("options", "total"), [({}, 0), (SHORT, -300), (BALANCED, 0)])
def test_2_8_match_sum(make: MatchFactory, options: Options, total: int) -> None:
    match = make("international", options, 2, deals_with({}, bool(options)))
    play_at_random(match, 10)
    assert sum(match.totals) == total


# ---------------------------------------------------------------------------------------------
# 5 System D

PENALTIES = {"kupa", "el", "erkek", "kiz", "rifki", "soniki"}
EVERY_CHOICE = {f"contract:{name}" for name in PENALTIES} | {f"contract:koz:{s}" for s in SUITS}


def chosen(
    make: MatchFactory, contract: str, plan: Plan, options: Options = NO_OPTIONS
) -> list[int]:
    match = turkish(make, hands_of(plan), options)
    say(match, f"1 contract:{contract}")
    return list(play_plan(match, plan))


def test_5_kupa(make: MatchFactory) -> None:
    plan = all_to_one(0)[:9]
    plan += [follow(2, "H", "AKQJ"), follow(2, "H", "T987"), follow(0, "H", "6543")]
    plan += [(0, "2H 2S 2D 2C")]
    assert chosen(make, "kupa", plan) == [-125, 0, -200, 0]


def test_5_erkek(make: MatchFactory) -> None:
    plan = [(1, trick) if winner == 3 else (winner, trick) for winner, trick in MEN_3_0_4_1]
    assert chosen(make, "erkek", plan) == [-120, -40, -160, 0]


def test_5_koz(make: MatchFactory) -> None:
    assert chosen(make, "koz:S", counted_plan([7, 2, 3, 1])) == [280, 80, 120, 40]


def test_5_soniki(make: MatchFactory) -> None:
    assert chosen(make, "soniki", counted_plan([3, 4, 3, 3])) == [0, -320, 0, 0]


@pytest.mark.parametrize(
    ("contract", "total"),
    [
        ("kupa", -325),
        ("el", -325),
        ("erkek", -320),
        ("kiz", -320),
        ("rifki", -320),
        ("soniki", -320),
        ("koz:S", 520),
        ("koz:H", 520),
    ],
)
def test_5_totals(make: MatchFactory, contract: str, total: int) -> None:
    plan = all_to_one(2)
    if contract == "koz:S":
        plan = counted_plan([0, 0, 13, 0])
    assert chosen(make, contract, plan) == [0, 0, total, 0]


@pytest.mark.parametrize("first_dealer", SEATS)
def test_5_selector_sits_after_the_dealer_and_leads(make: MatchFactory, first_dealer: int) -> None:
    """Readings 11.15 and 11.23."""
    match = make("turkish_short", {}, first_dealer, deals_with({}))
    for k in range(6):
        play_at_random(match, k)
        selector = (first_dealer + 1 + k) % 4
        assert match.dealer == (first_dealer + k) % 4
        assert (match.phase, match.actor, match.contract) == ("CHOOSE", selector, None)
        match.push(min(match.legal()))
        assert (match.phase, match.actor) == ("PLAY", selector)


def choose_and_play(match: Match, *names: str) -> None:
    """Chooses these contracts in the coming deals and plays each at random."""
    for name in names:
        assert f"contract:{name}" in match.legal()
        match.push(f"contract:{name}")
        play_at_random(match, match.deal_index + 1)


def test_5_choose(make: MatchFactory) -> None:
    match = turkish(make)
    assert match.legal() == EVERY_CHOICE
    choose_and_play(match, "kupa", "kupa", "kupa", "kupa")  # no cap for the table
    assert match.legal() == EVERY_CHOICE - {"contract:kupa"}
    choose_and_play(match, "koz:S", "el", "el", "el")
    choose_and_play(match, "koz:S", "rifki", "kiz", "kiz")  # suits may repeat
    assert calls(match, "contract:") == PENALTIES - {"kupa"}  # the koz quota is used up
    choose_and_play(match, "el")
    assert calls(match, "contract:") == {f"koz:{s}" for s in SUITS}  # the penalties are


def test_5_full_match(make: MatchFactory) -> None:
    match = make("turkish_short", {"d.match": "full"}, 0, deals_with({}))
    for _ in range(6):
        for _ in SEATS:
            names = sorted(calls(match, "contract:") & PENALTIES)
            choose_and_play(match, names[0])
    assert calls(match, "contract:") == {f"koz:{s}" for s in SUITS}
    for _ in range(4 * 4):
        choose_and_play(match, "koz:D")
    assert match.phase == "OVER"
    assert sum(match.totals) == 600


def test_5_hearts_lead(make: MatchFactory) -> None:
    no_hearts = {card for card in VOID_IN_SPADES[1] if card[1] != "H"}
    for contract in ("kupa", "rifki"):
        match = turkish_leader(make, contract, {"d.hearts_lead": "free"})
        assert match.legal() == set(VOID_IN_SPADES[1])
        match = turkish_leader(make, contract, {"d.hearts_lead": "never"})
        assert match.legal() == no_hearts
        say(match, "1 AS", "2 QH", "3 9S", "0 8S")
        assert match.legal() == no_hearts - {"AS"}
        match = turkish_leader(make, contract)
        say(match, "1 AS", "2 QH", "3 9S", "0 8S")
        assert match.legal() == set(VOID_IN_SPADES[1]) - {"AS"}
    for contract in ("el", "erkek", "kiz", "soniki", "koz:D"):
        match = turkish_leader(make, contract, {"d.hearts_lead": "never"})
        assert match.legal() == set(VOID_IN_SPADES[1])


def test_11_16_duck_compares_with_the_highest_card_so_far(make: MatchFactory) -> None:
    options = {"d.force_penalty": "discard_and_duck", "d.hearts_lead": "free"}
    match = turkish_leader(make, "kupa", options)
    say(match, "1 AH")
    assert match.legal() == cards("KH QH 5H 4H 3H")  # all below the ace
    match = turkish_leader(make, "kupa", options)
    say(match, "1 2H", "2 5H")
    assert match.legal() == cards("TH 9H 8H")  # none below the five
    say(match, "3 TH")
    assert match.legal() == cards("7H 6H")  # not the jack
    match = turkish_leader(make, "erkek", options)
    say(match, "1 AD")
    assert match.legal() == cards("KD JD")
    match = turkish_leader(make, "rifki", options)
    say(match, "1 AH")
    assert match.legal() == {"KH"}
    match = turkish_leader(make, "rifki", options)
    say(match, "1 2H")
    assert match.legal() == cards("KH QH 5H 4H 3H")


@pytest.mark.parametrize("contract", ["el", "soniki"])
def test_11_16_force_penalty_has_no_effect(make: MatchFactory, contract: str) -> None:
    options = {"d.force_penalty": "discard_and_duck"}
    match = turkish_leader(make, contract, options)
    say(match, "1 AS")
    assert match.legal() == set(VOID_IN_SPADES[2])
    match = turkish_leader(make, contract, options)
    say(match, "1 AH")
    assert match.legal() == cards("KH QH 5H 4H 3H")


def test_5_global_cap(make: MatchFactory) -> None:
    match = turkish(make, options={"d.global_cap": 2})
    choose_and_play(match, "kupa", "kupa")
    assert calls(match, "contract:") & PENALTIES == PENALTIES - {"kupa"}


def test_6_3_global_cap_looks_ahead(make: MatchFactory) -> None:
    match = turkish(make, options={"d.global_cap": 2})
    # Choices of the seats 1, 2, 3, 0 in turn.
    choose_and_play(match, "kupa", "kupa", "erkek", "kiz")
    choose_and_play(match, "el", "el", "kiz", "koz:S")
    choose_and_play(match, "erkek", "koz:S", "koz:S", "koz:S")
    choose_and_play(match, "koz:S")
    assert calls(match, "contract:") & PENALTIES == {"rifki", "soniki"}
    choose_and_play(match, "rifki")
    # Seat 3 owes one and seat 0 two of rifki (one left) and soniki (two left): were seat 3 to take
    # rifki, seat 0 would have to take soniki twice.
    assert match.actor == 3
    assert calls(match, "contract:") & PENALTIES == {"soniki"}
    choose_and_play(match, "soniki", "rifki", "koz:C", "koz:C", "koz:C", "soniki")
    assert match.phase == "OVER"
    assert sum(match.totals) == 300  # 11.17


def test_11_18_partnership_leaves_seat_scores(make: MatchFactory) -> None:
    plan = counted_plan([7, 2, 3, 1])
    options = {"d.partnership": True}
    assert chosen(make, "koz:S", plan, options) == [280, 80, 120, 40]


def test_5_partnership() -> None:
    assert team_totals([210, -35, -120, 250]) == [90, 215]


# ---------------------------------------------------------------------------------------------
# 9 Options and refused combinations


@pytest.mark.parametrize(
    ("variant", "options"),
    [
        ("international", {"a.pac": 32}),
        ("international", {"a.pack": 36}),
        ("international", {"a.auction.max_plus": 0}),
        ("international", {"a.auction.max_plus": 9}),
        ("international", {"a.failed.threshold": 9}),
        ("international", {"a.negotiation.max_requests": 4}),
        ("international", {"a.allow_no_trump": "yes"}),
        ("international", {"early_end": "ask"}),
        ("international", {"d.match": "full"}),  # 11.25: another system
        ("turkish_short", {"a.must_trump": True}),
        ("turkish_short", {"d.global_cap": 2, "d.match": "full"}),
        ("turkish_short", {"d.global_cap": 3}),
        ("international", {"a.table32": "balanced160"}),
        ("nothing", {}),
    ],
)
def test_9_refused_options(make: MatchFactory, variant: str, options: Options) -> None:
    with pytest.raises(ValueError):
        make(variant, options, 0, deals_with({}, options.get("a.pack") == 32))


# ---------------------------------------------------------------------------------------------
# The two tiny games

# Seat 1 will lead; seat 2 has no club.
TINY = parse_hands("87..8.JT987", "AK.K7.7.AKQ", "QJ.QJT.AKQ.", "T9.A98.JT9.")


def tiny_three(make: MatchFactory, contract: str) -> Match:
    match = match_at(make, 0, 0, TINY, variant="tiny_three")
    say(match, f"1 contract:{contract}")
    return match


def test_tiny_three_choice(make: MatchFactory) -> None:
    match = match_at(make, 0, 0, TINY, variant="tiny_three")
    assert (match.phase, match.actor) == ("CHOOSE", 1)
    choices = {"low", "girls"} | {f"suit:{s}" for s in SUITS}
    assert calls(match, "contract:") == choices
    match.push("contract:suit:H")
    assert (match.phase, match.actor) == ("PLAY", 1)
    assert (match.contract, match.trump) == ("suit", "H")
    assert match.legal() == set(TINY[1])
    play_at_random(match, 4)
    assert calls(match, "contract:") == {"low", "girls"}
    choose_and_play(match, "girls")
    play_at_random(match, 8)
    assert match.phase == "OVER"


def test_tiny_three_reversed_ranks(make: MatchFactory) -> None:
    match = tiny_three(make, "low")
    say(match, "1 KH", "2 JH", "3 8H", "0 7S")
    assert match.actor == 3  # the eight is the highest of them
    assert list(match.points) == [0, 0, 0, -2]
    match = tiny_three(make, "suit:D")
    say(match, "1 KH", "2 JH", "3 8H", "0 8D")
    assert list(match.points) == [3, 0, 0, 0]


def test_tiny_three_girls(make: MatchFactory) -> None:
    match = tiny_three(make, "girls")
    say(match, "1 7H")
    assert match.legal() == {"QH"}  # below the seven
    say(match, "2 QH", "3 9H")
    assert match.legal() == set(TINY[0])  # void without a queen
    say(match, "0 7S")
    assert list(match.points) == [0, -4, 0, 0]
    match = tiny_three(make, "girls")
    say(match, "1 KH")
    assert match.legal() == cards("QH JH TH")  # the queen beats the king
    match = tiny_three(make, "girls")
    say(match, "1 AC")
    assert match.legal() == cards("QS QH QD")


def test_tiny_three_suit(make: MatchFactory) -> None:
    match = tiny_three(make, "suit:H")
    say(match, "1 AC")
    assert match.legal() == cards("QH JH TH")
    say(match, "2 TH")
    assert match.legal() == {"AH"}


def tiny_counter(make: MatchFactory, contract: str) -> Match:
    """Seat 1 deals, chooses and leads; then comes seat 0."""
    match = make("tiny_counter", {}, 1, deals_with({0: TINY}, short=True))
    say(match, f"1 contract:{contract}")
    return match


def test_tiny_counter_direction(make: MatchFactory) -> None:
    match = make("tiny_counter", {}, 1, deals_with({}, short=True))
    for k in range(5):
        play_at_random(match, k)
        dealer = (1 - k) % 4
        assert (match.dealer, match.actor, match.phase) == (dealer, dealer, "CHOOSE")
    play_at_random(match, 12)
    assert match.phase == "OVER"
    match = tiny_counter(make, "tricks")
    say(match, "1 AC", "0 7C", "3 8H", "2 TH")
    assert list(match.points) == [0, -2, 0, 0]


def test_tiny_counter_contracts(make: MatchFactory) -> None:
    match = tiny_counter(make, "king")
    assert match.legal() == set(TINY[1]) - {"KH"}
    match = tiny_counter(make, "hearts")
    assert match.legal() == set(TINY[1]) - {"KH", "7H"}
    say(match, "1 AC", "0 7C", "3 8H", "2 TH")
    assert list(match.points) == [0, -6, 0, 0]
    assert match.legal() == set(TINY[1]) - {"AC"}
    match = tiny_counter(make, "koz:H")
    say(match, "1 AC", "0 7C")
    assert match.legal() == cards("AH 9H 8H")
    say(match, "3 AH")
    assert match.legal() == cards("QH JH TH")  # no duty to play a higher one
    say(match, "2 TH")
    assert list(match.points) == [0, 0, 0, 2]


def test_tiny_counter_throws_the_king_and_ends_early(make: MatchFactory) -> None:
    hands = parse_hands("87..8.JT987", "AK.Q7.7.AKQ", "QJ.KJT.AKQ.", "T9.A98.JT9.")
    match = make("tiny_counter", {}, 1, deals_with({0: hands}, short=True))
    say(match, "1 contract:king", "1 AC", "0 7C", "3 8H")
    assert match.legal() == {"KH"}
    say(match, "2 KH")
    assert list(match.deal_scores[0]) == [0, -16, 0, 0]
    assert match.deal_index == 1


def test_tiny_counter_table_cap(make: MatchFactory) -> None:
    match = make("tiny_counter", {}, 1, deals_with({}, short=True))
    choose_and_play(match, "king", "king", "king")
    penalties = {"hearts", "tricks"}
    assert calls(match, "contract:") == penalties | {f"koz:{s}" for s in SUITS}
