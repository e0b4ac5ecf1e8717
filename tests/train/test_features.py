from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest

from agents.neural import features
from king_env.engine import observe
from king_env.engine.actions import DECLARE, NUM_ACTIONS, ORDER, SLOT
from king_env.engine.layout import Games
from king_env.envs.batch import BatchEnv

Observed = tuple[
    npt.NDArray[np.uint64], npt.NDArray[np.int16], npt.NDArray[np.uint64], npt.NDArray[np.uint8]
]


def look(env: BatchEnv, games: Games, rows: npt.NDArray[np.int64], canonical: bool) -> Observed:
    words = np.zeros((len(rows), observe.NUM_WORDS), dtype=np.uint64)
    numbers = np.zeros((len(rows), observe.NUM_NUMBERS), dtype=np.int16)
    mask = np.zeros((len(rows), 3), dtype=np.uint64)
    orders = np.zeros(len(rows), dtype=np.uint8)
    observe.observe_actors(games, env.tables, rows, words, numbers, mask)
    features.relabel(games, env.tables, rows, int(canonical), words, numbers, mask, orders)
    return words, numbers, mask, orders


def play_some(env: BatchEnv, steps: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    step = env.reset()
    for _ in range(steps):
        legal = np.unpackbits(step.mask.view(np.uint8), axis=1, bitorder="little")
        chance = rng.random(legal.shape) * legal
        step = env.step(chance.argmax(1))
    return step.rows


def permuted_cards(cards: int, suits: tuple[int, ...]) -> int:
    return sum(((cards >> (13 * old)) & 0x1FFF) << (13 * new) for old, new in enumerate(suits))


def with_suits_moved(games: Games, suits: tuple[int, ...]) -> Games:
    """Returns copies of games in which suit s is called ``suits[s]``."""
    moved = games.copy()
    for game in moved:
        deal = game.deal
        for name in ("hands", "undealt", "played", "taken", "not_held"):
            deal[name][:] = [permuted_cards(int(cards), suits) for cards in deal[name]]
        deal.trick_cards = permuted_cards(int(deal.trick_cards), suits)
        cards = permuted_cards(int(deal.legal[0]) & (2**52 - 1), suits)
        deal.legal[0] = cards | (int(deal.legal[0]) >> 52 << 52)
        for place in range(4):
            card = int(deal.trick[place])
            deal.trick[place] = suits[card // 13] * 13 + card % 13
        deal.best = suits[int(deal.best) // 13] * 13 + int(deal.best) % 13
        if 0 <= deal.trump < 4:
            deal.trump = suits[int(deal.trump)]
    return moved


@pytest.mark.parametrize("start", ["decision", "play"])
@pytest.mark.parametrize("steps", [0, 5, 17, 30])
def test_relabelled_games_look_the_same(start: str, steps: int) -> None:
    env = BatchEnv("international", 60, start=start, seed=4)
    rng = np.random.default_rng(steps)
    rows = play_some(env, steps, rng)
    positions = env.games.position[rows]
    rows = rows[~np.isin(positions, [1, 4])]  # where hearts are like other suits
    dealt = env.games.deal.hands | env.games.deal.played
    actor = env.games.deal.actor
    distinct = [
        len({(int(dealt[row, actor[row]]) >> (13 * suit)) & 0x1FFF for suit in range(4)}) == 4
        for row in rows
    ]
    rows = rows[distinct]
    assert len(rows) > 10
    before = look(env, env.games, rows, True)
    for suits in itertools.permutations(range(4)):
        after = look(env, with_suits_moved(env.games, suits), rows, True)
        for place in range(3):
            assert np.array_equal(before[place], after[place])


@pytest.mark.parametrize("variant", ["international", "turkish_short"])
@pytest.mark.parametrize("steps", [0, 8, 25])
def test_actions_translate_both_ways_and_stay_legal(variant: str, steps: int) -> None:
    env = BatchEnv(variant, 80, seed=9)
    rows = play_some(env, steps, np.random.default_rng(1))
    _, _, real_mask, _ = look(env, env.games, rows, False)
    _, _, mask, orders = look(env, env.games, rows, True)
    real = np.empty(len(rows), dtype=np.int64)
    back = np.empty(len(rows), dtype=np.int64)
    for action in range(NUM_ACTIONS):
        actions = np.full(len(rows), action)
        features.to_real(env.games, env.tables, rows, orders, actions, real)
        features.to_canonical(env.games, env.tables, rows, orders, real, back)
        assert (back == action).all()
        word, bit = np.uint64(action & 63), (real & 63).astype(np.uint64)
        here = (mask[:, action >> 6] >> word) & np.uint64(1)
        there = (real_mask[np.arange(len(rows)), real >> 6] >> bit) & np.uint64(1)
        assert np.array_equal(here, there)
        if not (action < 52 or DECLARE <= action < DECLARE + 4 or ORDER <= action < ORDER + 4
                or action >= SLOT):  # fmt: skip
            assert (real == action).all()


def test_hearts_keep_their_place_where_they_count() -> None:
    env = BatchEnv("international", 40, seed=2)
    env.reset()
    rows = np.arange(40)
    orders = look(env, env.games, rows, True)[3]
    hearts_first = (orders & 3) == 1
    assert hearts_first[np.isin(env.games.position, [1, 4])].all()
    same = look(env, env.games, rows, False)[3]
    assert (same == features.SAME_ORDER).all()
