"""Plain cases that the rule-based agent must get right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.registry import make_agent
from king_env.cards import CARD_NAMES
from king_env.game import Game
from tests.agents.choices import GreedyChoices
from tests.rules.factories import find_variant
from train.evaluation.duplicate import evaluate


def rule(game: Game) -> str:
    assert game.actor is not None
    action = make_agent("rule").act(game.view(game.actor), np.random.default_rng(0))
    return game.names.format(action)


def full_hands(*hands: str) -> list[list[str]]:
    """Four hands: the first ones as given, the last holds the rest of the pack."""
    given = [hand.split() for hand in hands]
    used = {card for hand in given for card in hand}
    return given + [[card for card in CARD_NAMES if card not in used]]


def game_at(deal: int, hands: list[list[str]], first: int = 0) -> Game:
    """International, seat ``first`` leading deal ``deal`` (from 0), with these hands."""
    dealer = (first - deal) % 4
    game = Game(find_variant("international", {"first_dealer": dealer}), seed=1)
    while len(game.deals) <= deal:
        game.push(game.legal_actions[-1] if game.phase == "PLAY" else game.legal_actions[0])
    game.set_hands(hands)
    return game


def play(game: Game, *names: str) -> Game:
    for name in names:
        game.push(name)
    return game


HAND_0 = "AS KS QS JS AH KH QH JH AD KD QD AC KC"
HAND_1 = "TS 7S 4S TH 7H 4H JD 8D 5D QC 9C 6C 3C"
HAND_2 = "9S 6S 3S 9H 6H 3H TD 7D 4D JC 8C 5C 2C"


def test_ducks_with_the_highest_loser() -> None:
    game = game_at(0, full_hands(HAND_0, HAND_1, HAND_2))
    play(game, "AS")
    assert rule(game) == "TS"


def test_throws_a_queen_under_a_higher_card() -> None:
    seat_1 = "QS 3S 2S QH 3H 2H QD 3D 2D QC 4C 3C 2C"
    seat_0 = "AS KS JS AH KH JH AD KD JD AC KC JC TC"
    seat_2 = "TS 9S 8S TH 9H 8H TD 9D 8D 9C 8C 7C 6C"
    game = game_at(2, full_hands(seat_0, seat_1, seat_2))
    play(game, "AS")
    assert rule(game) == "QS"


def test_throws_a_queen_when_out_of_the_suit() -> None:
    seat_1 = "QH 8H 7H 3H 2H QD 5D 3D 2D 9C 4C 3C 2C"
    seat_0 = "AS KS JS TS AH KH JH AD KD JD AC KC JC"
    seat_2 = "QS 9S 8S 7S TH 9H TD 9D 8D TC 8C 7C 6C"
    game = game_at(2, full_hands(seat_0, seat_1, seat_2))
    play(game, "AS")
    assert rule(game) in ("QH", "QD")


def test_gives_the_king_of_hearts_away() -> None:
    seat_1 = "KH 3H 2H AD KD QD JD TD 9D 5C 4C 3C 2C"
    seat_0 = "AS KS JS TS AH QH JH 8D 7D 6D AC KC JC"
    seat_2 = "QS 9S 8S 7S TH 9H 5D 4D 3D TC 8C 7C 6C"
    game = game_at(4, full_hands(seat_0, seat_1, seat_2))
    under_ace = play(game.clone(), "AH")
    assert rule(under_ace) == "KH"
    out_of_spades = play(game.clone(), "AS")
    assert rule(out_of_spades) == "KH"


def positive_deal(hands: list[list[str]], declaration: str) -> Game:
    return play(game_at(6, hands), "pass", "pass", "pass", "refuse", declaration)


def test_last_in_hand_wins_cheaply() -> None:
    seat_3 = "AS TS 3S AH TH 3H AD TD 3D AC TC 3C 2C"
    seat_0 = "9S 8S 7S 9H 8H 7H 9D 8D 7D 9C 8C 7C 6C"
    seat_1 = "6S 5S 4S 6H 5H 4H 6D 5D 4D QC JC 5C 4C"
    rest = [card for card in CARD_NAMES if card not in f"{seat_0} {seat_1} {seat_3}".split()]
    hands = [seat_0.split(), seat_1.split(), rest, seat_3.split()]
    game = positive_deal(hands, "declare:NT")
    assert game.actor == 0
    play(game, "9S", "4S", "2S")
    assert rule(game) == "TS"


def test_ruffs_a_trick_it_cannot_follow() -> None:
    seat_1 = "6S 5S 4S 3S 2S 6H 5H 4H 3H 2H QD 5D 2D"
    seat_0 = "AS KS QS JS TS AH KH QH JH TH AC KC QC"
    seat_2 = "9S 8S 7S 9H 8H 7H AD KD JD TD 9D JC TC"
    game = positive_deal(full_hands(seat_0, seat_1, seat_2), "declare:D")
    play(game, "AC")
    assert rule(game) in ("2D", "5D")


def test_bids_on_a_strong_hand_and_not_on_an_even_one() -> None:
    strong = "AS KS QS JS TS 9S 8S AH KH AD KD AC 2C"
    weak = "7S 6S 5S TH 9H 8H 7H TD 9D 8D TC 9C 8C"
    auctioneer = "4S 3S 2S QH JH 6H 5H QD JD 7D 7C 6C 5C"
    game = game_at(6, full_hands(auctioneer, strong, weak))
    assert game.actor == 1
    assert rule(game).startswith("bid:+")
    swapped = game_at(6, full_hands(auctioneer, weak, strong))
    assert rule(swapped) == "pass"


def test_declares_the_suit_it_is_strong_in_and_nulls_with_nothing() -> None:
    strong = "AS KS QS JS TS 9S 8S AH KH AD KD AC 2C"
    low = "5S 4S 3S 2S 4H 3H 2H 4D 3D 2D 5C 4C 3C"
    middle = "7S 6S TH 9H 8H 7H TD 9D 8D TC 9C 8C 7C"
    game = play(game_at(6, full_hands(strong, low, middle)), "pass", "pass", "pass")
    assert rule(game) != "take_unplayed"
    assert rule(play(game, "refuse")) == "declare:S"
    game = play(game_at(6, full_hands(low, strong, middle)), "pass", "pass", "pass", "refuse")
    assert rule(game) == "declare:NEG"


def test_keeps_trump_for_a_strong_hand() -> None:
    strong = "AS KS QS JS TS 9S 8S AH KH AD KD AC 2C"
    low = "5S 4S 3S 2S 4H 3H 2H 4D 3D 2D 5C 4C 3C"
    middle = "7S 6S TH 9H 8H 7H TD 9D 8D TC 9C 8C 7C"
    variant = find_variant("turkish_short", {"first_dealer": 3})
    game = Game(variant, seed=1)
    game.set_hands(full_hands(strong, low, middle), 3)
    assert rule(game) == "contract:koz:S"
    game = Game(variant, seed=1)
    game.set_hands(full_hands(low, strong, middle), 3)
    assert not rule(game).startswith("contract:koz")


def ordered_deal(first_cards: dict[int, str]) -> Game:
    """The first ordered deal of `russian_auction`; seat 0 orders on these first three cards."""
    variant = find_variant("russian_auction", {})
    position = [deal.decision for deal in variant.spec.deals].index("order")
    game = Game(variant, match=position, episode="deal")
    pack = [name for name in CARD_NAMES if name[0] in "789TJQKA"]
    hands = {seat: cards.split() for seat, cards in first_cards.items()}
    rest = [name for name in pack if name not in " ".join(first_cards.values()).split()]
    dealt = []
    for seat in range(4):
        hand = hands.get(seat, [])
        num = 8 - len(hand)
        dealt.append(hand + rest[:num])
        rest = rest[num:]
    game.set_hands(dealt, dealer=3)
    assert game.actor == 0 and game.phase == "ORDER"
    return game


HIGH, LOW, MIDDLE, MIXED = "AS KS QS", "7S 7H 7D", "9D TD 9C", "JH TC 9H"


def test_orders_what_the_first_cards_are_good_for() -> None:
    assert rule(ordered_deal({0: HIGH, 1: MIDDLE, 2: MIXED, 3: "JC QC 8C"})) == "order:S"
    assert rule(ordered_deal({0: LOW, 1: MIDDLE, 2: MIXED, 3: "JC QC 8C"})) == "order:MISERE"
    poor = rule(ordered_deal({0: MIDDLE, 1: HIGH, 2: MIXED, 3: "JC QC 8C"}))
    assert poor not in ("order:S", "order:MISERE")


def test_buys_with_strong_cards_only_and_sells_for_enough() -> None:
    game = play(ordered_deal({0: MIDDLE, 1: HIGH, 2: MIXED, 3: LOW}), "order:LAST")
    assert rule(game) == "buy:1"
    play(game, "buy:1")
    assert rule(game) == "pass"
    play(game, "pass", "pass")
    assert game.phase == "SELL" and rule(game) == "accept"
    game = play(ordered_deal({0: HIGH, 1: MIDDLE, 2: MIXED, 3: LOW}), "order:S")
    play(game, "buy:1", "pass", "pass")
    assert rule(game) == "refuse"


def test_chooses_every_contract_once_where_orders_have_quotas() -> None:
    """In ordered King with a hand of high cards a positive contract comes first."""
    variant = find_variant("russian_ordered", {})
    game = Game(variant, seed=1)
    game.set_hands(
        [
            "AS KS QS AH KH AD KD AC".split(),
            "7S 8S 9S 7H 8H 7D 8D 7C".split(),
            "TS JS 9H TH 9D TD 8C 9C".split(),
            "JH QH JD QD TC JC QC KC".split(),
        ],
        dealer=3,
    )
    assert rule(game).startswith("order:take_")
    game.set_hands(
        [
            "7S 8S 9S 7H 8H 7D 8D 7C".split(),
            "AS KS QS AH KH AD KD AC".split(),
            "TS JS 9H TH 9D TD 8C 9C".split(),
            "JH QH JD QD TC JC QC KC".split(),
        ],
        dealer=3,
    )
    assert rule(game).startswith("order:no_")


@pytest.mark.slow
def test_calibration_writes_a_module_of_the_right_shape(tmp_path: Path) -> None:
    from agents import calibrate, hand_values

    out = tmp_path / "hand_values.py"
    small = ["--rounds", "1", "--deals", "300", "--hand-deals", "2000"]
    assert calibrate.main([*small, "--out", str(out)]) == 0
    values: dict[str, Any] = {}
    exec(out.read_text(), values)
    for name in ("CARD_WEIGHTS", "HAND_WEIGHTS", "HAND_MEANS"):
        assert values[name].shape == getattr(hand_values, name).shape
        assert np.isfinite(values[name]).all()


@pytest.mark.slow
def test_calibrated_choices_beat_the_longest_suit() -> None:
    result = evaluate("rule", GreedyChoices(), "international", deals=1000, seed_list="development")
    assert result.strata["auction"].margin.low > 3
