"""The cards: a function of (seed, match, deal) and of nothing else."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from king_env.cards import CARD_NAMES, mask_of, pack_mask
from king_env.engine import step
from king_env.engine.layout import Games, allocate
from king_env.envs.batch import BatchEnv
from king_env.rules.tables import tables_of
from tests.playing import VARIANTS, new_game, play
from tests.rules.factories import find_variant


def chi_square_bound(degrees: int) -> float:
    """A value that a chi-square statistic exceeds once in about 10,000 fair draws.

    Source: Wilson and Hilferty's approximation, 3.72 standard deviations.
    """
    part = 2 / (9 * degrees)
    return float(degrees * (1 - part + 3.72 * part**0.5) ** 3)


def fresh(variant: str, seed: int, match: int) -> Games:
    games = allocate(1)
    step.new_match(games, tables_of(find_variant(variant, {})), 0, np.uint64(seed), match)
    return games


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_cards_do_not_depend_on_what_was_played(variant: str) -> None:
    one, other = (
        play(new_game(variant, seed=11, match=4), random.Random(number)) for number in (1, 2)
    )
    assert [log.actions for log in one.deals] != [log.actions for log in other.deals]
    assert [log.dealt for log in one.deals] == [log.dealt for log in other.deals]
    assert [log.dealer for log in one.deals] == [log.dealer for log in other.deals]
    # The deal of a suite is the deal of the match of that number, at the position it stands at.
    for match in (4, 4 + len(one.deals)):
        position = match % len(one.deals)
        suite = new_game(variant, seed=11, match=match, episode="deal")
        whole = new_game(variant, seed=11, match=match)
        while whole.position < position:
            play(whole, random.Random(3), 1)
        assert suite.position == position
        assert suite.deals[0].dealt == whole.deals[-1].dealt
        assert suite.deals[0].dealer == whole.deals[-1].dealer


@pytest.mark.parametrize("num_envs", [1, 3, 7])
@pytest.mark.parametrize("episode", ["deal", "match"])
def test_slot_i_plays_i_then_i_plus_n(num_envs: int, episode: str) -> None:
    env = BatchEnv(
        "turkish_short", num_envs, episode=episode, seed=5, autoreset="same_step", start="decision"
    )
    step_ = env.reset()
    rng = random.Random(num_envs)
    seen: list[list[int]] = [[int(env.games.match[i])] for i in range(num_envs)]
    rounds = 3 if episode == "deal" else 2
    while min(map(len, seen)) < rounds:
        legal = (step_.mask[:, :, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
        choices = [rng.choice(np.flatnonzero(row.ravel()).tolist()) for row in legal]
        step_ = env.step(np.array(choices))
        for slot in np.flatnonzero(step_.done):
            number = int(env.games.match[slot])
            seen[slot].append(number)
            single = new_game("turkish_short", seed=5, match=number, episode=episode)
            assert np.array_equal(env.games.deal.order[slot], single.record.deal.order)
            assert env.games.position[slot] == single.position
    for first, numbers in enumerate(seen):
        assert numbers[0] == first
        assert {after - before for before, after in pairwise(numbers)} == {num_envs}


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_card_is_dealt_once(variant: str) -> None:
    spec = find_variant(variant, {}).spec
    for match in range(200):
        deal = fresh(variant, 1, match)[0].deal
        order = deal.order[:, : spec.hand_size]
        assert mask_of(order.ravel().tolist()) == pack_mask(spec.pack)
        for seat in range(4):
            arrived = order[seat, : int(deal.dealt)].tolist()
            assert int(deal.hands[seat]) == mask_of(arrived)
            assert int(deal.undealt[seat]) == mask_of(order[seat].tolist()) & ~mask_of(arrived)
    first = spec.deals[0].first_cards
    assert int(deal.dealt) == (first or spec.hand_size)


def test_deals_are_uniform_over_places() -> None:
    num_matches = 6000
    games = allocate(1)
    tables = tables_of(find_variant("international", {}))
    orders = np.empty((num_matches, 52), dtype=np.int64)
    for match in range(num_matches):
        step.new_match(games, tables, 0, np.uint64(2), match)
        orders[match] = games.deal.order[0].ravel()
    expected = num_matches / 52
    statistic = 0.0
    for place in range(52):
        counts = np.bincount(orders[:, place], minlength=52)
        statistic += float(((counts - expected) ** 2).sum()) / expected
    assert statistic < chi_square_bound(51 * 51)
    # Neighbours in the pack stay together as often as chance has it: 12/51 of the time in a hand.
    seat_of = np.empty((num_matches, 52), dtype=np.int64)
    seat_of[np.arange(num_matches)[:, None], orders] = np.arange(52) // 13
    for card in (0, 11, 12, 24, 38, 50):
        together = int((seat_of[:, card] == seat_of[:, card + 1]).sum())
        assert abs(together - num_matches * 12 / 51) < 4 * (num_matches * 0.235 * 0.765) ** 0.5


def test_seeds_matches_and_deals_give_other_cards() -> None:
    def cards(seed: int, match: int) -> bytes:
        return bytes(fresh("international", seed, match)[0].deal.order.tobytes())

    keys = [(seed, match) for seed in (0, 1, 2, 2**63, 2**64 - 1) for match in (0, 1, 2, 10**9)]
    assert len({cards(*key) for key in keys}) == len(keys)
    game = play(new_game("international", seed=9), random.Random(1))
    assert len({str(log.dealt) for log in game.deals}) == 10


def test_pinned_cards() -> None:
    """A seed means the same deals for ever: published results name it."""
    order = fresh("international", 7, 3)[0].deal.order
    names = [" ".join(CARD_NAMES[card] for card in order[seat][:5]) for seat in range(4)]
    assert names == ["9S 8D 6C AS 8S", "7C 8C 6H AC 2H", "4S 6S QD 9H TD", "JD QC 7S KH JH"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_first_dealer_is_drawn_by_lot(variant: str) -> None:
    counts = Counter(int(fresh(variant, 1, match)[0].first_dealer) for match in range(400))
    assert set(counts) == {0, 1, 2, 3}
    statistic = sum((count - 100) ** 2 / 100 for count in counts.values())
    assert statistic < chi_square_bound(3)


@pytest.mark.parametrize("variant", ["international", "turkish_short"])
@pytest.mark.parametrize("seat", range(4))
def test_the_first_dealer_is_fixed_by_the_option(variant: str, seat: int) -> None:
    lots = {new_game(variant, seed=1, match=match).deals[0].dealer for match in range(20)}
    assert len(lots) == 4
    for match in range(20):
        game = new_game(variant, {"first_dealer": seat}, seed=1, match=match)
        assert game.deals[0].dealer == seat
        assert game.deals[0].dealt == new_game(variant, seed=1, match=match).deals[0].dealt
    play(game, random.Random(seat))
    assert [log.dealer for log in game.deals] == [(seat + k) % 4 for k in range(len(game.deals))]


def test_dealers_go_round_counter_clockwise() -> None:
    game = play(new_game("tiny_counter", seed=1), random.Random(1))
    first = game.deals[0].dealer
    assert [log.dealer for log in game.deals] == [(first - k) % 4 for k in range(12)]
