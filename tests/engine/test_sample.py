"""Worlds: valid, uniform, and silent about what is real."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pytest

from king_env.cards import CARD_NAMES, cards_of, mask_of
from king_env.engine import sample
from king_env.engine.layout import NO_CARD, Games, allocate
from king_env.game import Game
from tests.engine.test_deal import chi_square_bound
from tests.playing import VARIANTS, new_game, pick, play, positions


def worlds_of(game: Game, seat: int, count: int, seed: int) -> Games:
    """Worlds drawn from a seat's view."""
    view = game.view(seat)
    return view.sample_worlds(count, np.random.default_rng(seed))


def num_left(game: Game, seat: int) -> int:
    return game.variant.spec.hand_size - int(game.record.deal.played[seat]).bit_count()


def possible_deals(game: Game, seat: int) -> Iterator[tuple[int, int, int]]:
    """All hands of the three others that fit, by trying everything."""
    deal = game.record.deal
    others = [(seat + distance) % 4 for distance in (1, 2, 3)]
    seen = int(deal.hands[seat]) | mask_of(
        card for player in range(4) for card in cards_of(int(deal.played[player]))
    )
    hidden = list(cards_of(int(game.tables.pack[0]) & ~seen))
    shown, owner = int(deal.shown), int(deal.shown_owner)

    def fits(player: int, cards: tuple[int, ...]) -> bool:
        if shown != NO_CARD and shown in hidden and (shown in cards) != (player == owner):
            return False
        return not mask_of(cards) & int(deal.not_held[player])

    for first in combinations(hidden, num_left(game, others[0])):
        if not fits(others[0], first):
            continue
        rest = [card for card in hidden if card not in first]
        for second in combinations(rest, num_left(game, others[1])):
            third = tuple(card for card in rest if card not in second)
            if fits(others[1], second) and fits(others[2], third):
                yield mask_of(first), mask_of(second), mask_of(third)


def late_positions(variant: str, num_cards: int, count: int) -> Iterator[tuple[Game, int]]:
    """Positions with some hidden cards left, seen from each seat in turn."""
    for number in range(count):
        game = new_game(variant, seed=number)
        rng = random.Random(number)
        while not game.is_over:
            seat = number % 4
            hidden = sum(num_left(game, other) for other in range(4) if other != seat)
            if game.phase == "PLAY" and hidden == num_cards and rng.random() < 0.3:
                yield game, seat
                break
            game.push(pick(game, rng))


# ---------------------------------------------------------------- valid


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_history_can_be_played_in_every_world(variant: str) -> None:
    rng = random.Random(variant)
    for number in range(2):
        game = new_game(variant, seed=number)
        start = game.clone()
        while not game.is_over:
            if rng.random() < 0.03:
                for seat in range(4):
                    for world in worlds_of(game, seat, 2, rng.getrandbits(32)):
                        check_world(game, start, seat, world)
            deals = len(game.deals)
            game.push(pick(game, rng))
            if len(game.deals) > deals:
                start = game.clone()


def check_world(game: Game, start: Game, seat: int, world: Any) -> None:
    deal, real = world.deal, game.record.deal
    assert int(deal.hands[seat]) == int(real.hands[seat])
    together = 0
    for player in range(4):
        held = int(deal.hands[player]) | int(deal.undealt[player])
        assert held.bit_count() == num_left(game, player)
        assert int(deal.hands[player]).bit_count() == int(real.hands[player]).bit_count()
        assert int(deal.played[player]) == int(real.played[player])
        assert not held & int(deal.not_held[player])
        assert not together & held
        together |= held
        whole = held | int(deal.played[player])
        assert mask_of(deal.order[player][: game.variant.spec.hand_size].tolist()) == whole
    played = mask_of(c for player in range(4) for c in cards_of(int(deal.played[player])))
    assert together == int(game.tables.pack[0]) & ~played
    assert int(world.seed) != int(game.games.seed[0])
    # The same actions from the hands of the world: every one is legal.
    replayed = start.clone()
    size = game.variant.spec.hand_size
    replayed.set_hands([[CARD_NAMES[card] for card in hand[:size]] for hand in deal.order])
    for player, action in game.deals[-1].actions:
        assert replayed.actor == player
        replayed.push(action)
    assert np.array_equal(replayed.record.deal.points, real.points)
    assert np.array_equal(replayed.record.deal.not_held, real.not_held)
    if seat == game.actor:
        assert replayed.legal_actions == game.legal_actions


def test_worlds_go_on_to_the_end() -> None:
    for game in positions("international", 1, 0.02):
        assert game.actor is not None
        for world in worlds_of(game, game.actor, 2, 5):
            other = game.clone()
            other.games[0] = world
            play(other, random.Random(1))
            assert other.is_over and sum(other.scores) == 0


@pytest.mark.parametrize("variant", ["international", "tiny_three"])
def test_a_world_sampled_for_another_seat_can_be_played_too(variant: str) -> None:
    game = play(new_game(variant, seed=2), random.Random(2), 9)
    assert game.actor is not None
    seat = (game.actor + 1) % 4
    for world in worlds_of(game, seat, 4, 1):
        other = game.clone()
        other.games[0] = world
        assert other.legal_actions
        hand = int(world.deal.hands[game.actor])
        assert all(action >= 52 or hand >> action & 1 for action in other.legal_actions)


def test_worlds_do_not_carry_the_real_seed() -> None:
    game = play(new_game("international", seed=12345), random.Random(1), 30)
    assert game.actor is not None
    worlds = worlds_of(game, game.actor, 50, 1)
    assert 12345 not in worlds.seed.tolist()
    assert len(set(worlds.seed.tolist())) == 50
    # Later deals differ from the real ones and from each other.
    later = set()
    for world in worlds[:5]:
        other = game.clone()
        other.games[0] = world
        play(other, random.Random(3))
        later.add(str(other.deals[-1].dealt))
    real = play(game.clone(), random.Random(3)).deals[-1].dealt
    assert len(later) == 5 and str(real) not in later


# ---------------------------------------------------------------- counted and uniform


@pytest.mark.parametrize("variant", VARIANTS)
def test_worlds_are_counted_as_by_enumeration(variant: str) -> None:
    scratch = allocate(1)
    restricted = 0
    num_cards = (6, 7, 8, 9) if variant == "international" else (5, 6, 8)
    for num in num_cards:
        for game, seat in late_positions(variant, num, 8):
            view = game.view(seat)
            expected = sum(1 for _ in possible_deals(game, seat))
            found = sample.count_worlds(view.record, view.tables, scratch, 0, seat)
            assert found == expected > 0
            sizes = [num_left(game, (seat + d) % 4) for d in (1, 2)]
            restricted += expected < comb(num, sizes[0]) * comb(num - sizes[0], sizes[1])
    assert restricted >= 8


def test_the_first_count_is_the_multinomial() -> None:
    view = new_game("international", seed=1).view(0)
    found = sample.count_worlds(view.record, view.tables, allocate(1), 0, 0)
    assert found == comb(39, 13) * comb(26, 13)


def statistic_of(game: Game, seat: int, per_world: int, seed: int) -> tuple[float, int]:
    """Chi-square of sampled worlds over all possible ones; and their number."""
    expected = list(possible_deals(game, seat))
    worlds = worlds_of(game, seat, per_world * len(expected), seed)
    others = [(seat + distance) % 4 for distance in (1, 2, 3)]
    hands = worlds.deal.hands
    found = Counter(tuple(int(hand[player]) for player in others) for hand in hands)
    assert set(found) <= set(expected)
    return sum((found[key] - per_world) ** 2 / per_world for key in expected), len(expected)


@pytest.mark.parametrize("variant", VARIANTS)
def test_worlds_are_uniform(variant: str) -> None:
    """Exact: the frequencies of all possible deals, in positions where there are few of them."""
    tested = 0
    total, degrees = 0.0, 0
    for num in (3, 5, 6, 7):
        for game, seat in late_positions(variant, num, 8):
            size = sum(1 for _ in possible_deals(game, seat))
            if not 2 <= size <= 250:
                continue
            statistic, count = statistic_of(game, seat, 100, tested)
            assert statistic < chi_square_bound(count - 1)
            total += statistic
            degrees += count - 1
            tested += 1
    assert tested >= 8
    assert total < chi_square_bound(degrees)


def test_worlds_are_uniform_with_hand_made_knowledge() -> None:
    """Classes that play brings about rarely: every pair of holders has cards of its own."""
    game = next(game for game, seat in late_positions("international", 9, 40) if seat == 0)
    deal: Any = game.games[0].deal
    hidden = [card for seat in (1, 2, 3) for card in cards_of(int(deal.hands[seat]))]
    deal.not_held[:] = 0
    deal.not_held[1] = mask_of(hidden[6:8])
    deal.not_held[2] = mask_of([hidden[0], hidden[8]])
    deal.not_held[3] = mask_of(hidden[2:4])
    statistic, count = statistic_of(game, 0, 40, 3)
    assert count > 100
    assert statistic < chi_square_bound(count - 1)


def test_a_contradiction_is_said() -> None:
    game = next(game for game, _ in late_positions("international", 6, 40))
    view = game.view(0)
    view.record.deal.not_held[0, 1:] = 2**52 - 1
    with pytest.raises(ValueError, match="no deal"):
        view.sample_worlds(3, np.random.default_rng(1))


# ---------------------------------------------------------------- cards that have not arrived


def test_own_cards_that_have_not_arrived_are_hidden_too() -> None:
    game = new_game("tiny_three", seed=5)
    for seat in (0, 3):
        own = int(game.record.deal.hands[seat])
        assert own.bit_count() == 3
        view = game.view(seat)
        assert not view.record.deal.undealt.any()
        worlds = worlds_of(game, seat, 2000, seat)
        places: Counter[tuple[int, int, int]] = Counter()
        for deal in worlds.deal:
            assert int(deal.hands[seat]) == own
            for player in range(4):
                assert int(deal.hands[player]).bit_count() == 3
                assert int(deal.undealt[player]).bit_count() == 5
                for later, cards in enumerate((deal.hands[player], deal.undealt[player])):
                    if (player, later) != (seat, 0):
                        for card in cards_of(int(cards)):
                            places[player, later, card] += 1
        hidden = list(cards_of(int(game.tables.pack[0]) & ~own))
        assert len(hidden) == 29
        statistic = 0.0
        for player in range(4):
            for later, size in enumerate((3, 5)):
                if (player, later) == (seat, 0):
                    continue
                expected = 2000 * size / 29
                statistic += sum(
                    (places[player, later, card] - expected) ** 2 / expected for card in hidden
                )
        assert statistic < chi_square_bound(28 * 6)


def test_any_card_that_has_not_arrived_may_be_the_last() -> None:
    """The last card of the declarer may name the trumps: no suit is likelier than it is."""
    game = new_game("tiny_three", seed=5)
    own = int(game.record.deal.hands[0])
    hidden = list(cards_of(int(game.tables.pack[0]) & ~own))
    worlds = worlds_of(game, 0, 4000, 7)
    for player in range(4):
        last = Counter(int(deal.order[player][7]) for deal in worlds.deal)
        assert last.keys() <= set(hidden)
        expected = 4000 / len(hidden)
        statistic = sum((last[card] - expected) ** 2 / expected for card in hidden)
        assert statistic < chi_square_bound(len(hidden) - 1)
    for deal in worlds.deal:
        for player in range(4):
            order = [int(card) for card in deal.order[player][:8]]
            assert mask_of(order[:3]) == int(deal.hands[player])
            assert mask_of(order[3:]) == int(deal.undealt[player])


def test_all_cards_are_known_to_be_dealt_after_the_choice() -> None:
    game = new_game("tiny_three", seed=5)
    game.push(game.legal_actions[0])
    for seat in range(4):
        for deal in worlds_of(game, seat, 3, 1).deal:
            assert not deal.undealt.any()
            assert int(deal.hands[seat]) == int(game.record.deal.hands[seat])


# ---------------------------------------------------------------- the shown card


def test_the_shown_card_stays_with_its_owner() -> None:
    for seat in range(4):
        for game, _ in late_positions("international", 6, 6):
            deal: Any = game.games[0].deal
            owner = 2
            if not int(deal.hands[owner]):
                continue
            card = next(iter(cards_of(int(deal.hands[owner]))))
            deal.shown, deal.shown_owner = card, owner
            view = game.view(seat)
            found = sample.count_worlds(view.record, view.tables, allocate(1), 0, seat)
            assert found == sum(1 for _ in possible_deals(game, seat))
            worlds = worlds_of(game, seat, 30, 1)
            for world in worlds.deal:
                assert int(world.hands[owner]) >> card & 1
                # It was the last to arrive.
                assert world.order[owner][game.variant.spec.hand_size - 1] == card
            if seat != owner and found <= 100:
                statistic, count = statistic_of(game, seat, 60, 2)
                assert count == 1 or statistic < chi_square_bound(count - 1)


def test_a_shown_card_that_was_played_is_a_played_card() -> None:
    game, _ = next(late_positions("international", 6, 6))
    deal: Any = game.games[0].deal
    owner = next(seat for seat in range(4) if int(deal.played[seat]))
    deal.shown, deal.shown_owner = next(iter(cards_of(int(deal.played[owner])))), owner
    for seat in range(4):
        for world in worlds_of(game, seat, 5, 1).deal:
            assert not int(world.hands[owner]) >> int(deal.shown) & 1
