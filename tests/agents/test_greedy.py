"""What the fixed baseline does, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agents.registry import make_agent
from king_env.cards import CARD_NAMES
from king_env.game import Game
from tests.rules.factories import find_variant


def hands_with(seats: dict[int, str]) -> list[list[str]]:
    """Four hands that hold the given cards; the rest of the pack fills them up in order."""
    given = {seat: cards.split() for seat, cards in seats.items()}
    used = {card for cards in given.values() for card in cards}
    rest = [card for card in CARD_NAMES if card not in used]
    hands = []
    for seat in range(4):
        own = given.get(seat, [])
        hands.append(own + [rest.pop() for _ in range(13 - len(own))])
    return hands


def greedy(game: Game) -> str:
    assert game.actor is not None
    action = make_agent("greedy").act(game.view(game.actor), np.random.default_rng(0))
    return game.names.format(action)


def play(game: Game, *names: str) -> Game:
    for name in names:
        game.push(name)
    return game


SOLID = "AS KS QS JS TS 9S 8S 7S 6S 5S 4S 3S 2S"
HEARTS = "AH KH QH JH TH 9H 8H 7H 6H 5H 4H 3H 2H"


def positive_deal(hands: list[list[str]], declaration: str) -> Game:
    """The first auctioned deal: nobody bids, the dealer, seat 2, declares."""
    game = Game(find_variant("international", {"first_dealer": 0}), seed=1)
    while game.phase == "PLAY":
        game.push(game.legal_actions[0])
    game.set_hands(hands)
    return play(game, "pass", "pass", "pass", "refuse", declaration)


def test_leads_and_follows_low_in_a_negative_deal() -> None:
    game = Game(find_variant("international", {"first_dealer": 0}), seed=1)
    game.set_hands(hands_with({0: "AS 3S 7H", 1: "KS 9S 4S"}), 0)
    assert greedy(game) == "3S" or greedy(game).startswith("2")
    play(game, "AS")
    assert greedy(game) == "4S"


@pytest.mark.parametrize(("lead", "answer"), [("9S", "TS"), ("QS", "KS"), ("AS", "4S")])
def test_wins_as_cheaply_as_it_can_in_a_positive_deal(lead: str, answer: str) -> None:
    leader = "AS QS 9S AH QH JH TH 9H 8H 7H 6H 5H 4H"
    follower = "KS TS 4S AD KD QD JD TD 9D 8D 7D 6D 5D"
    game = positive_deal(hands_with({2: leader, 3: follower}), "declare:NT")
    assert game.actor == 2
    play(game, lead)
    assert greedy(game) == answer


def test_ruffs_with_the_lowest_trump() -> None:
    leader = "AS QS 9S AH QH JH TH 9H 8H 7H 6H 5H 4H"
    follower = "AD KD QD JD TD 9D 8D 7D 6D 5D KC 9C 8C"
    game = positive_deal(hands_with({2: leader, 3: follower}), "declare:C")
    play(game, "AS")
    assert greedy(game) == "8C"


def test_neither_bids_nor_sells_and_declares_its_longest_suit() -> None:
    game = Game(find_variant("international", {"first_dealer": 0}), seed=1)
    while game.phase == "PLAY":
        game.push(game.legal_actions[0])
    game.set_hands(hands_with({2: HEARTS, 3: SOLID}))
    assert greedy(game) == "pass"
    play(game, "bid:+3", "pass", "pass")
    assert game.phase == "DECIDE"
    assert greedy(game) == "refuse"
    play(game, "negotiate:+5")
    assert greedy(game) == "decline"
    play(game, "decline", "ultimatum:+8")
    assert greedy(game) == "reject"
    refused = play(game.clone(), "reject", "reject", "reject")
    assert refused.phase == "PLAY"
    game = Game(find_variant("international", {"first_dealer": 0}), seed=1)
    while game.phase == "PLAY":
        game.push(game.legal_actions[0])
    game.set_hands(hands_with({2: HEARTS}))
    play(game, "pass", "pass", "pass", "refuse")
    assert greedy(game) == "declare:H"


def test_chooses_by_exposure() -> None:
    variant: Any = find_variant("turkish_short", {"first_dealer": 3})
    game = Game(variant, seed=1)
    game.set_hands(hands_with({0: SOLID}), 3)
    assert game.actor == 0
    assert greedy(game) == "contract:koz:S"
