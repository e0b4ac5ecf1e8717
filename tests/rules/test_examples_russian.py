"""Systems B and C: the worked examples of the rule text, and what each option changes.

Tests are named by section of the rule text; deals are written as in `plans.py`. Every
implementation in `factories.py` plays them.
"""

from __future__ import annotations

import pytest

from tests.rules.factories import Match, MatchFactory
from tests.rules.plans import (
    NO_OPTIONS,
    SEATS,
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

NAMES = ["tricks", "hearts", "boys", "girls", "king", "last2", "all"]
NEGATIVES = [f"no_{name}" for name in NAMES]
POSITIVES = [f"take_{name}" for name in NAMES]
SUIT_ORDERS = set("SHDC")
EVERY_ORDER = SUIT_ORDERS | {"NT", "LAST", "MISERE", "WRITE2"}

# Seat 1 will lead; seat 2 has no spade and holds the king of hearts.
VOID_IN_SPADES = parse_hands("T8.7.T.JT87", "AQ7.AQ.A7.K", ".KJ8.KQ9.A9", "KJ9.T9.J8.Q")

# Tricks 3/1/0/4, hearts 2/3/0/3, boys 3/2/0/3, girls 1/1/0/2, the king of hearts to seat 1, the
# last two tricks to seats 0 and 3. Seat 1 leads.
ERALASH_1 = [
    (0, "AC 7C 9C 8C"),
    (3, "AD TD KC KD"),
    (3, "JC QD 7S TC"),
    (3, "9D 8D AH 7D"),
    (1, "KH QS 9H JH"),
    (0, "AS JS 8S QH"),
    (0, "JD 9S KS 7H"),
    (3, "TH 8H TS QC"),
]
# Tricks 2/2/3/1, hearts 0/4/4/0, boys 2/2/3/1, girls 0/2/1/1, the king of hearts to seat 1, the
# last two tricks to seat 0. Seat 1 leads.
ERALASH_2 = [
    (2, "JC JH TH 7C"),
    (2, "AC KS 7H TC"),
    (1, "KC 9C 8S QH"),
    (1, "QC KH 8H 9H"),
    (3, "QS TS 7S KD"),
    (2, "QD 7D 8D AH"),
    (0, "TD 8C 9D 9S"),
    (0, "AD AS JD JS"),
]
# Boys 5/0/2/1.
BOYS_5_0_2_1 = [
    follow(0, "S", "AKQJ"),
    follow(0, "S", "T987"),
    follow(0, "H", "AKT9"),
    follow(3, "H", "QJ87"),
    follow(0, "D", "AKQJ"),
    follow(1, "D", "T987"),
    follow(2, "C", "AKQJ"),
    follow(1, "C", "T987"),
]
# Queens 1/0/2/1.
GIRLS_1_0_2_1 = [
    follow(2, "S", "AKQJ"),
    follow(1, "S", "T987"),
    follow(0, "H", "AKQJ"),
    follow(1, "H", "T987"),
    follow(2, "D", "AKQJ"),
    follow(1, "D", "T987"),
    follow(3, "C", "AKQJ"),
    follow(0, "C", "T987"),
]


def misere_plan(plan: Plan) -> Plan:
    """The same winners with reversed ranks, where everybody follows suit."""
    return [(winner, " ".join(reversed(trick.split()))) for winner, trick in plan]


def russian(
    make: MatchFactory,
    deal_index: int,
    hands: Hands | None = None,
    options: Options = NO_OPTIONS,
    variant: str = "russian_auction",
) -> Match:
    """A match at the start of a deal in which seat 1 leads or orders."""
    return match_at(make, deal_index, 0, hands, options, variant)


def market(make: MatchFactory, options: Options = NO_OPTIONS, hands: Hands | None = None) -> Match:
    """The first ordered deal; seat 1 orders."""
    return russian(make, 7, hands, options)


# ---------------------------------------------------------------------------------------------
# 3.1 Set-up, 3.2 stage 1


@pytest.mark.parametrize("first_dealer", SEATS)
def test_3_1_first_leaders(make: MatchFactory, first_dealer: int) -> None:
    match = make("russian_auction", {}, first_dealer, deals_with({}, short=True))
    for k, contract in enumerate(NEGATIVES):
        play_at_random(match, k)
        dealer = (first_dealer + k) % 4
        assert (match.dealer, match.phase, match.actor) == (dealer, "PLAY", (dealer + 1) % 4)
        assert (match.contract, match.trump) == (contract, None)
    for k in range(7, 15):
        play_at_random(match, k)
        dealer = (first_dealer + k) % 4
        assert (match.dealer, match.phase, match.actor) == (dealer, "ORDER", (dealer + 1) % 4)
        assert (match.contract, match.trump) == (None, None)
    play_at_random(match, 15)
    assert match.phase == "OVER"
    assert sum(match.totals) == 0


@pytest.mark.parametrize("boys", ["KJ2", "K4", "J4"])
def test_3_2_totals(make: MatchFactory, boys: str) -> None:
    plan = all_to_one(2, short=True)
    special = dict.fromkeys(range(7), hands_of(plan))
    match = make("russian_auction", {"b.boys": boys}, 0, deals_with(special, short=True))
    for k in range(7):
        assert list(play_plan(match, plan)) == [0, 0, -96 if k == 6 else -16, 0]
    assert list(match.totals) == [0, 0, -192, 0]


@pytest.mark.parametrize(("boys", "jack", "king"), [("KJ2", -2, -2), ("K4", 0, -4), ("J4", -4, 0)])
def test_3_2_boys(make: MatchFactory, boys: str, jack: int, king: int) -> None:
    match = russian(make, 2, VOID_IN_SPADES, {"b.boys": boys})
    say(match, "1 AS", "2 9C", "3 JS", "0 8S")
    assert list(match.points) == [0, jack, 0, 0]
    say(match, "1 QS", "2 AC", "3 KS", "0 TS")
    assert list(match.points) == [0, jack, 0, king]


@pytest.mark.parametrize(("boys", "king", "jack"), [("KJ2", 2, 2), ("K4", 4, 0), ("J4", 0, 4)])
def test_11_13_boys_in_eralash(make: MatchFactory, boys: str, king: int, jack: int) -> None:
    match = russian(make, 6, hands_of(ERALASH_1), {"b.boys": boys})
    expected = [-22, -28, 0, -30]  # the first example without its boys
    for winner, trick in ERALASH_1:
        expected[winner] -= king * trick.count("K") + jack * trick.count("J")
    assert list(play_plan(match, ERALASH_1)) == expected


@pytest.mark.parametrize("deal_index", range(7))
def test_3_2_lead_rules(make: MatchFactory, deal_index: int) -> None:
    match = russian(make, deal_index, VOID_IN_SPADES)
    hand = set(VOID_IN_SPADES[1])
    no_hearts = NEGATIVES[deal_index] in ("no_hearts", "no_king", "no_all")
    assert match.legal() == (hand - cards("AH QH") if no_hearts else hand)


@pytest.mark.parametrize("deal_index", [1, 4, 6])
def test_3_2_hearts_are_led_from_a_hand_of_hearts(make: MatchFactory, deal_index: int) -> None:
    plan = all_to_one(1, short=True)
    match = russian(make, deal_index, hands_of(plan))
    for winner, trick in plan[:6]:
        by_seat = {(winner + step) % 4: card for step, card in enumerate(trick.split())}
        say(match, *(f"{seat} {by_seat[seat]}" for seat in (1, 2, 3, 0)))
    assert match.legal() == cards("AH TH")


@pytest.mark.parametrize(
    ("options", "thrown_in"),
    [
        ({}, {"no_king"}),
        ({"b.king_force": False}, set()),
        ({"b.eralash_force_king": True}, {"no_king", "no_all"}),
        ({"b.king_force": False, "b.eralash_force_king": True}, {"no_all"}),
    ],
)
def test_3_2_void_rules(make: MatchFactory, options: Options, thrown_in: set[str]) -> None:
    for deal_index, contract in enumerate(NEGATIVES):
        match = russian(make, deal_index, VOID_IN_SPADES, options)
        say(match, "1 AS")
        thrown = {"KH"} if contract in thrown_in else set(VOID_IN_SPADES[2])
        assert match.legal() == thrown, contract


def test_3_2_the_king_is_not_forced_when_following_suit(make: MatchFactory) -> None:
    plan = all_to_one(1, short=True)
    match = russian(make, 4, hands_of(plan))
    for winner, trick in plan[:6]:
        by_seat = {(winner + step) % 4: card for step, card in enumerate(trick.split())}
        say(match, *(f"{seat} {by_seat[seat]}" for seat in (1, 2, 3, 0)))
    say(match, "1 AH")
    assert match.legal() == cards("KH 9H")


def test_3_2_eralash_example_1(make: MatchFactory) -> None:
    match = russian(make, 6, hands_of(ERALASH_1))
    assert list(play_plan(match, ERALASH_1)) == [-28, -32, 0, -36]


def test_3_2_eralash_example_2(make: MatchFactory) -> None:
    match = russian(make, 6, hands_of(ERALASH_2))
    assert list(play_plan(match, ERALASH_2)) == [-24, -40, -24, -8]


def test_3_2_eralash_example_3(make: MatchFactory) -> None:
    plan = all_to_one(2, short=True)
    match = russian(make, 6, hands_of(plan))
    assert list(play_plan(match, plan)) == [0, 0, -96, 0]


@pytest.mark.parametrize("variant", ["russian_auction", "russian_mirror", "russian_ordered"])
@pytest.mark.parametrize("value", ["auto", "never"])
def test_1_4_early_end(make: MatchFactory, variant: str, value: str) -> None:
    options = {} if value == "auto" else {"early_end": value}
    deal_index = 0 if variant == "russian_ordered" else 4
    match = russian(make, deal_index, VOID_IN_SPADES, options, variant)
    if variant == "russian_ordered":
        say(match, "1 order:no_king")
    say(match, "1 AS", "2 KH", "3 JS", "0 8S")
    assert match.deal_index == deal_index + (value == "auto")


# ---------------------------------------------------------------------------------------------
# 3.3 Stage 2, v1


def test_3_3_order(make: MatchFactory) -> None:
    match = market(make)
    assert (match.phase, match.actor, match.dealer) == ("ORDER", 1, 0)
    assert calls(match, "order:") == EVERY_ORDER
    for order, trump in [*((s, s) for s in "SHDC"), ("NT", None), ("LAST", None), ("MISERE", None)]:
        match = market(make)
        say(match, f"1 order:{order}")
        assert (match.phase, match.actor) == ("BUY", 2)
        assert (match.contract, match.trump) == ("ordered", trump)


def test_3_3_write_two_ends_the_deal(make: MatchFactory) -> None:
    match = market(make)
    say(match, "1 order:WRITE2")
    assert list(match.deal_scores[7]) == [6, 6, 6, 6]
    assert (match.deal_index, match.phase, match.actor, match.dealer) == (8, "ORDER", 2, 1)


def test_3_3_buying(make: MatchFactory) -> None:
    match = market(make)
    say(match, "1 order:D")
    assert match.legal() == {"pass"} | {f"buy:{n}" for n in range(1, 9)}
    say(match, "2 buy:2")
    assert match.legal() == {"pass"} | {f"buy:{n}" for n in range(3, 9)}
    say(match, "3 pass", "0 buy:5")
    # Seat 3 has passed for good, seat 1 sells.
    assert match.legal() == {"pass", "buy:6", "buy:7", "buy:8"}
    say(match, "2 buy:6", "0 buy:7", "2 pass")
    assert (match.phase, match.actor, match.legal()) == ("SELL", 1, {"accept", "refuse"})
    assert (match.contract, match.trump) == ("ordered", "D")


def test_11_11_who_can_only_pass_is_asked(make: MatchFactory) -> None:
    match = market(make)
    say(match, "1 order:D", "2 buy:8")
    assert (match.phase, match.actor, match.legal()) == ("BUY", 3, {"pass"})
    say(match, "3 pass")
    assert (match.phase, match.actor, match.legal()) == ("BUY", 0, {"pass"})
    say(match, "0 pass")
    assert match.phase == "SELL"  # the holder was not asked again


def test_3_3_nobody_buys(make: MatchFactory) -> None:
    match = market(make)
    say(match, "1 order:H", "2 pass", "3 pass", "0 pass")
    assert (match.phase, match.actor) == ("PLAY", 1)
    assert (match.contract, match.trump) == ("ordered", "H")
    assert len(match.legal()) == 8  # the lead is free, and eight cards have come


def test_3_3_refused(make: MatchFactory) -> None:
    plan = counted_plan([1, 2, 1, 4], short=True)
    match = market(make, hands=hands_of(plan))
    say(match, "1 order:H", "2 pass", "3 buy:2", "0 pass", "1 refuse")
    assert (match.phase, match.actor) == ("PLAY", 1)
    assert (match.contract, match.trump) == ("ordered", "H")
    assert list(play_plan(match, plan)) == [3, 6, 3, 12]  # nothing is paid


def test_3_3_the_buyer_orders_anew(make: MatchFactory) -> None:
    match = market(make)
    say(match, "1 order:H", "2 pass", "3 buy:2", "0 pass", "1 accept")
    assert (match.phase, match.actor) == ("ORDER", 3)
    assert (match.contract, match.trump) == (None, None)
    assert calls(match, "order:") == EVERY_ORDER
    say(match, "3 order:H")  # the same again
    assert (match.phase, match.actor) == ("PLAY", 1)
    assert (match.contract, match.trump) == ("ordered", "H")


def bought(
    make: MatchFactory,
    buyer: int,
    number: int,
    order: str,
    plan: Plan,
    options: Options = NO_OPTIONS,
) -> list[int]:
    """The scores of a deal which seat 1 sells."""
    match = market(make, options, hands_of(plan))
    say(match, "1 order:NT")
    for seat in (2, 3, 0):
        say(match, f"{seat} buy:{number}" if seat == buyer else f"{seat} pass")
    say(match, "1 accept", f"{buyer} order:{order}")
    return list(play_plan(match, plan)) if match.deal_index == 7 else list(match.deal_scores[7])


@pytest.mark.parametrize("order", ["S", "NT", "LAST"])
def test_3_3_example_1(make: MatchFactory, order: str) -> None:
    plan = counted_plan([1, 2, 1, 4], short=True)
    assert bought(make, 3, 2, order, plan) == [3, 12, 3, 6]


def test_3_3_example_2(make: MatchFactory) -> None:
    plan = counted_plan([1, 3, 2, 2], short=True)
    assert bought(make, 0, 3, "C", plan) == [-6, 18, 6, 6]


def test_3_3_example_3(make: MatchFactory) -> None:
    plan = misere_plan(counted_plan([0, 0, 5, 3], short=True))
    match = market(make, hands=hands_of(plan))
    say(match, "1 order:MISERE", "2 pass", "3 pass", "0 pass")
    assert list(play_plan(match, plan)) == [0, 0, 15, 9]


def test_3_3_example_4(make: MatchFactory) -> None:
    plan = counted_plan([2, 2, 2, 2], short=True)
    assert bought(make, 2, 1, "WRITE2", plan) == [6, 9, 3, 6]


def test_3_3_payment_cap(make: MatchFactory) -> None:
    options = {"b.v1.payment_cap": "tricks_taken"}
    plan = counted_plan([1, 3, 2, 2], short=True)
    assert bought(make, 0, 3, "C", plan, options) == [0, 12, 6, 6]
    plan = counted_plan([1, 2, 1, 4], short=True)
    assert bought(make, 3, 2, "C", plan, options) == [3, 12, 3, 6]  # he took more than he pays
    # 11.11: after WRITE2 everybody counts as having taken two.
    assert bought(make, 2, 1, "WRITE2", plan, options) == [6, 9, 3, 6]
    assert bought(make, 2, 5, "WRITE2", plan, options) == [6, 12, 0, 6]
    assert bought(make, 2, 5, "WRITE2", plan) == [6, 21, -9, 6]


@pytest.mark.parametrize(("seat", "suit"), [(1, "D"), (3, "S"), (0, "H")])
def test_3_3_by_the_last(make: MatchFactory, seat: int, suit: str) -> None:
    """The declarer's own eighth card, known when the other five come."""
    hands = [list(hand) for hand in VOID_IN_SPADES]
    for holder, last in ((1, "7D"), (3, "KS"), (0, "7H")):
        hands[holder].remove(last)
        hands[holder].append(last)
    match = market(make, hands=hands)
    say(match, "1 order:LAST")
    assert (match.contract, match.trump) == ("ordered", None)
    for other in (2, 3, 0):
        assert (match.phase, match.trump) == ("BUY", None)
        say(match, f"{other} buy:1" if other == seat else f"{other} pass")
    if seat != 1:
        say(match, "1 accept")
        assert match.contract is None
        say(match, f"{seat} order:LAST")
    assert match.phase == "PLAY"
    assert (match.contract, match.trump) == ("ordered", suit)


def test_3_3_misere_reverses_the_ranks(make: MatchFactory) -> None:
    match = market(make, hands=VOID_IN_SPADES)
    say(match, "1 order:MISERE", "2 pass", "3 pass", "0 pass")
    say(match, "1 AS", "2 KH", "3 KS", "0 8S")
    assert match.actor == 0
    assert list(match.points) == [3, 0, 0, 0]
    match = market(make, hands=VOID_IN_SPADES)
    say(match, "1 order:NT", "2 pass", "3 pass", "0 pass")
    say(match, "1 AS", "2 KH", "3 KS", "0 8S")
    assert list(match.points) == [0, 3, 0, 0]


def test_3_3_ranks_are_normal_again_after_a_sold_misere(make: MatchFactory) -> None:
    match = market(make, hands=VOID_IN_SPADES)
    say(match, "1 order:MISERE", "2 buy:1", "3 pass", "0 pass", "1 accept", "2 order:NT")
    say(match, "1 AS", "2 KH", "3 KS", "0 8S")
    assert match.actor == 1


def test_3_3_a_trump_wins(make: MatchFactory) -> None:
    match = market(make, hands=VOID_IN_SPADES)
    say(match, "1 order:H", "2 pass", "3 pass", "0 pass", "1 AS", "2 8H", "3 KS", "0 8S")
    assert match.actor == 2
    assert list(match.points) == [0, 0, 3, 0]


@pytest.mark.parametrize(
    ("order", "trumps"),
    [("H", "KH JH 8H"), ("D", "KD QD 9D"), ("LAST", "AC 9C"), ("NT", ""), ("MISERE", "")],
)
@pytest.mark.parametrize("must_trump", [False, True])
def test_11_12_must_trump(make: MatchFactory, order: str, trumps: str, must_trump: bool) -> None:
    match = market(make, {"b.must_trump": must_trump}, VOID_IN_SPADES)
    say(match, f"1 order:{order}", "2 pass", "3 pass", "0 pass", "1 AS")
    everything = set(VOID_IN_SPADES[2])
    assert match.legal() == (cards(trumps) or everything if must_trump else everything)


def test_3_3_buy_timing_before_order(make: MatchFactory) -> None:
    options = {"b.v1.buy_timing": "before_order"}
    match = market(make, options)
    assert (match.phase, match.actor, match.contract) == ("BUY", 2, None)
    say(match, "2 pass", "3 pass", "0 pass")
    assert (match.phase, match.actor) == ("ORDER", 1)
    assert calls(match, "order:") == EVERY_ORDER
    say(match, "1 order:D")
    assert (match.phase, match.actor, match.trump) == ("PLAY", 1, "D")

    match = market(make, options)
    say(match, "2 buy:1", "3 buy:2", "0 pass", "2 pass", "1 refuse")
    assert (match.phase, match.actor) == ("ORDER", 1)
    say(match, "1 order:WRITE2")
    assert list(match.deal_scores[7]) == [6, 6, 6, 6]

    plan = counted_plan([1, 2, 1, 4], short=True)
    match = market(make, options, hands_of(plan))
    say(match, "2 buy:1", "3 buy:2", "0 pass", "2 pass", "1 accept")
    assert (match.phase, match.actor) == ("ORDER", 3)
    say(match, "3 order:LAST")
    assert (match.phase, match.actor) == ("PLAY", 1)
    assert list(play_plan(match, plan)) == [3, 12, 3, 6]

    match = market(make, options)
    say(match, "2 buy:1", "3 pass", "0 pass", "1 accept", "2 order:WRITE2")
    assert list(match.deal_scores[7]) == [6, 9, 3, 6]


@pytest.mark.parametrize("buy_timing", ["after_order", "before_order"])
def test_3_3_seller_may_not_refuse(make: MatchFactory, buy_timing: str) -> None:
    options = {"b.v1.seller_may_refuse": False, "b.v1.buy_timing": buy_timing}
    match = market(make, options)
    if buy_timing == "after_order":
        say(match, "1 order:H")
    say(match, "2 pass", "3 buy:2", "0 pass")
    assert (match.phase, match.actor, match.contract) == ("ORDER", 3, None)


@pytest.mark.parametrize("most", range(1, 9))
def test_3_3_max_bid(make: MatchFactory, most: int) -> None:
    match = market(make, {"b.v1.max_bid": most})
    say(match, "1 order:H")
    assert match.legal() == {"pass"} | {f"buy:{n}" for n in range(1, most + 1)}
    say(match, f"2 buy:{most}")
    assert match.legal() == {"pass"}


def test_3_3_write_two_off(make: MatchFactory) -> None:
    match = market(make, {"b.v1.write_two": "off"})
    assert calls(match, "order:") == EVERY_ORDER - {"WRITE2"}
    say(match, "1 order:H", "2 buy:2", "3 pass", "0 pass", "1 accept")
    assert calls(match, "order:") == EVERY_ORDER - {"WRITE2"}


@pytest.mark.parametrize(("lead", "leader"), [("orderer_seat", 1), ("declarer", 3)])
def test_3_3_lead(make: MatchFactory, lead: str, leader: int) -> None:
    match = market(make, {"b.v1.lead": lead})
    say(match, "1 order:H", "2 pass", "3 buy:2", "0 pass", "1 accept", "3 order:S")
    assert (match.phase, match.actor) == ("PLAY", leader)
    match = market(make, {"b.v1.lead": lead})
    say(match, "1 order:H", "2 pass", "3 buy:2", "0 pass", "1 refuse")
    assert (match.phase, match.actor) == ("PLAY", 1)


# ---------------------------------------------------------------------------------------------
# 3.4 v2, 3.5 v3, 3.6 positive contracts


@pytest.mark.parametrize("variant", ["russian_auction", "russian_salad", "russian_mirror"])
@pytest.mark.parametrize(
    ("stage2", "num_deals", "eighth"),
    [("v1", 15, None), ("v2", 12, None), ("v3", 14, "take_tricks")],
)
def test_3_7_stage2(
    make: MatchFactory, variant: str, stage2: str, num_deals: int, eighth: str | None
) -> None:
    match = russian(make, 7, options={"b.stage2": stage2}, variant=variant)
    assert (match.phase, match.contract) == ("PLAY" if eighth else "ORDER", eighth)
    play_at_random(match, num_deals)
    assert match.phase == "OVER"
    assert sum(match.totals) == 0


@pytest.mark.parametrize("options", [NO_OPTIONS, {"b.stage2": "v2"}])
def test_3_4_salad(make: MatchFactory, options: Options) -> None:
    """The named variant, and the option of another one that comes to the same."""
    variant = "russian_auction" if options else "russian_salad"
    match = make(variant, options, 0, deals_with({}, short=True))
    for k in range(7, 11):
        play_at_random(match, k)
        assert (match.phase, match.actor) == ("ORDER", (k + 1) % 4)
        assert calls(match, "order:") == EVERY_ORDER
    play_at_random(match, 11)
    assert (match.phase, match.actor, match.contract) == ("PLAY", 0, "take_all")
    assert sum(sum(scores) for scores in match.deal_scores[7:]) == 4 * 24
    play_at_random(match, 12)
    assert match.phase == "OVER"
    assert sum(match.deal_scores[11]) == 96
    assert sum(match.totals) == 0


def test_3_4_positive_eralash(make: MatchFactory) -> None:
    match = russian(make, 11, hands_of(ERALASH_1), variant="russian_salad")
    assert list(play_plan(match, ERALASH_1)) == [28, 32, 0, 36]


def test_3_4_full_hand(make: MatchFactory) -> None:
    plan = counted_plan([1, 2, 1, 4], short=True)
    options = {"b.v2.order": "full_hand"}
    match = russian(make, 7, hands_of(plan), options, "russian_salad")
    assert (match.phase, match.actor) == ("ORDER", 1)
    assert calls(match, "order:") == SUIT_ORDERS | {"NT"}
    say(match, "1 order:S")
    assert (match.phase, match.actor) == ("PLAY", 1)
    assert (match.contract, match.trump) == ("ordered", "S")
    assert list(play_plan(match, plan)) == [3, 6, 3, 12]
    match = russian(make, 11, hands_of(ERALASH_2), options, "russian_salad")
    assert list(play_plan(match, ERALASH_2)) == [24, 40, 24, 8]


def test_11_22_v1_options_in_v2(make: MatchFactory) -> None:
    options = {
        "b.v1.buy_timing": "before_order",
        "b.v1.max_bid": 3,
        "b.v1.seller_may_refuse": False,
        "b.v1.write_two": "off",
        "b.v1.lead": "declarer",
        "b.v1.payment_cap": "tricks_taken",
    }
    plan = counted_plan([1, 3, 2, 2], short=True)
    match = russian(make, 7, hands_of(plan), options, "russian_salad")
    assert match.legal() == {"pass", "buy:1", "buy:2", "buy:3"}
    say(match, "2 pass", "3 pass", "0 buy:3")
    assert (match.phase, match.actor) == ("ORDER", 0)
    assert calls(match, "order:") == EVERY_ORDER - {"WRITE2"}
    say(match, "0 order:NT")
    assert (match.phase, match.actor) == ("PLAY", 0)
    assert list(play_plan(match, plan)) == [0, 12, 6, 6]


def test_3_5_mirror(make: MatchFactory) -> None:
    plan = all_to_one(2, short=True)
    special = dict.fromkeys(range(14), hands_of(plan))
    match = make("russian_mirror", {}, 0, deals_with(special, short=True))
    for k, contract in enumerate(NEGATIVES + POSITIVES):
        assert (match.phase, match.actor) == ("PLAY", (k + 1) % 4)
        assert match.contract == contract
        total = (96 if contract.endswith("all") else 16) * (1 if k >= 7 else -1)
        assert list(play_plan(match, plan)) == [0, 0, total, 0]
    assert match.phase == "OVER"
    assert list(match.totals) == [0, 0, 0, 0]


def test_3_6_take_king(make: MatchFactory) -> None:
    plan = all_to_one(3, short=True)
    match = russian(make, 11, hands_of(plan), variant="russian_mirror")
    assert match.contract == "take_king"
    assert list(play_plan(match, plan)) == [0, 0, 0, 16]


def test_3_6_take_girls(make: MatchFactory) -> None:
    match = russian(make, 10, hands_of(GIRLS_1_0_2_1), variant="russian_mirror")
    assert match.contract == "take_girls"
    assert list(play_plan(match, GIRLS_1_0_2_1)) == [4, 0, 8, 4]


def test_3_6_take_last_two(make: MatchFactory) -> None:
    plan = counted_plan([3, 2, 2, 1], short=True)
    match = russian(make, 12, hands_of(plan), variant="russian_mirror")
    assert match.contract == "take_last2"
    assert list(play_plan(match, plan)) == [16, 0, 0, 0]


@pytest.mark.parametrize("value", ["same", "lead_only", "none"])
def test_3_6_positive_restrictions(make: MatchFactory, value: str) -> None:
    """With `same` the duty to throw the king stays as well (11.14)."""
    options: Options = {"b.positive_restrictions": value, "b.eralash_force_king": True}
    everything = set(VOID_IN_SPADES[1])
    for name in NAMES:
        match = russian(make, 0, VOID_IN_SPADES, options, "russian_ordered")
        say(match, f"1 order:take_{name}")
        no_hearts = name in ("hearts", "king", "all") and value != "none"
        assert match.legal() == (everything - cards("AH QH") if no_hearts else everything)
        say(match, "1 AS")
        forced = name in ("king", "all") and value == "same"
        assert match.legal() == ({"KH"} if forced else set(VOID_IN_SPADES[2]))
    # The negative twins do not change.
    match = russian(make, 0, VOID_IN_SPADES, options, "russian_ordered")
    say(match, "1 order:no_king")
    assert match.legal() == everything - cards("AH QH")
    say(match, "1 AS")
    assert match.legal() == {"KH"}


def test_3_6_options_of_the_twin(make: MatchFactory) -> None:
    match = russian(make, 11, VOID_IN_SPADES, {"b.king_force": False}, "russian_mirror")
    say(match, "1 AS")
    assert match.legal() == set(VOID_IN_SPADES[2])
    options = {"b.positive_restrictions": "none"}
    match = russian(make, 11, VOID_IN_SPADES, options, "russian_salad")
    assert (match.contract, match.legal()) == ("take_all", set(VOID_IN_SPADES[1]))


# ---------------------------------------------------------------------------------------------
# 4 System C


def ordered(
    make: MatchFactory,
    orderer: int,
    contract: str,
    plan: Plan,
    options: Options = NO_OPTIONS,
) -> list[int]:
    """The scores of a first deal with this order."""
    match = match_at(make, 0, (orderer - 1) % 4, hands_of(plan), options, "russian_ordered")
    assert (match.phase, match.actor, match.contract) == ("ORDER", orderer, None)
    say(match, f"{orderer} order:{contract}")
    assert (match.phase, match.actor) == ("PLAY", orderer)
    assert (match.contract, match.trump) == (contract, None)
    return list(play_plan(match, plan))


def test_4_example_1(make: MatchFactory) -> None:
    plan = counted_plan([3, 2, 2, 1], short=True)
    assert ordered(make, 0, "take_tricks", plan) == [6, 4, 4, 2]


def test_4_example_2(make: MatchFactory) -> None:
    assert ordered(make, 1, "no_all", ERALASH_1) == [-28, -32, 0, -36]


def test_4_example_3(make: MatchFactory) -> None:
    assert ordered(make, 2, "take_boys", BOYS_5_0_2_1) == [10, 0, 4, 2]


def test_4_each_contract_once_a_player(make: MatchFactory) -> None:
    match = make("russian_ordered", {}, 3, deals_with({}, short=True))
    unused = [set(NEGATIVES + POSITIVES) for _ in SEATS]
    for k in range(56):
        orderer = k % 4  # left of the dealer
        assert (match.dealer, match.phase, match.actor) == ((k - 1) % 4, "ORDER", orderer)
        # In any mixture, and without regard to what the others have ordered.
        assert calls(match, "order:") == unused[orderer]
        order = sorted(unused[orderer])[-1 if k % 3 else 0]
        unused[orderer].remove(order)
        match.push(f"order:{order}")
        play_at_random(match, k + 1)
    assert match.phase == "OVER"
    assert sum(match.totals) == 0


def test_11_13_options_of_c(make: MatchFactory) -> None:
    plan = [follow(3, "S", "AKQJ")] + BOYS_5_0_2_1[1:]
    assert ordered(make, 2, "take_boys", plan) == [6, 0, 4, 6]
    assert ordered(make, 2, "take_boys", plan, {"b.boys": "K4"}) == [8, 0, 4, 4]
    assert ordered(make, 2, "no_boys", plan, {"b.boys": "J4"}) == [-4, 0, -4, -8]
    options: Options
    thrown: set[str]
    for options, thrown in [
        ({}, {"KH"}),
        ({"b.king_force": False}, set(VOID_IN_SPADES[2])),
    ]:
        match = russian(make, 0, VOID_IN_SPADES, options, "russian_ordered")
        say(match, "1 order:no_king", "1 AS")
        assert match.legal() == thrown
    for options, thrown in [
        ({}, set(VOID_IN_SPADES[2])),
        ({"b.eralash_force_king": True}, {"KH"}),
    ]:
        match = russian(make, 0, VOID_IN_SPADES, options, "russian_ordered")
        say(match, "1 order:no_all", "1 AS")
        assert match.legal() == thrown


# ---------------------------------------------------------------------------------------------
# 9 Refused options


@pytest.mark.parametrize(
    ("variant", "options"),
    [
        ("russian_auction", {"b.stage2": "v4"}),
        ("russian_auction", {"b.boys": "KJ4"}),
        ("russian_auction", {"b.v1.max_bid": 0}),
        ("russian_auction", {"b.v1.max_bid": 9}),
        ("russian_auction", {"b.v1.write_two": "all"}),
        ("russian_auction", {"b.v1.payment_cap": 2}),
        ("russian_auction", {"b.must_trump": "yes"}),
        ("russian_auction", {"early_end": "ask"}),
        ("russian_auction", {"a.pack": 32}),  # 11.25: another system
        ("russian_mirror", {"e.hearts_lead": "free"}),
        ("russian_ordered", {"b.stage2": "v1"}),
        ("russian_ordered", {"b.must_trump": True}),
        ("russian_ordered", {"b.v1.max_bid": 3}),
    ],
)
def test_9_refused_options(make: MatchFactory, variant: str, options: Options) -> None:
    with pytest.raises(ValueError):
        make(variant, options, 0, deals_with({}, short=True))


def test_11_25_options_without_effect_are_allowed(make: MatchFactory) -> None:
    options = {"b.v1.max_bid": 3, "b.v2.order": "full_hand"}
    match = make("russian_mirror", options, 0, deals_with({}, short=True))
    play_at_random(match, 14)
    assert match.phase == "OVER"
