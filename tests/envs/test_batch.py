"""The batched environment equals single games, whatever its size, form and way of resetting."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from king_env.engine import batch, observe
from king_env.engine.actions import NUM_ACTIONS
from king_env.engine.layout import PHASES, Games, Tables
from king_env.envs.batch import BatchEnv, BatchStep
from king_env.game import Game
from king_env.rules.catalogue import Variant
from king_env.view import legal_ids, observation_of
from tests.naive import demands_can_be_met
from tests.playing import SHIPPED, VARIANTS, new_game, play
from tests.rules.factories import find_variant

Array = npt.NDArray[Any]
EVERYTHING = [find_variant(name, {}) for name in VARIANTS]


def choose(env: BatchEnv, state: BatchStep) -> Array:
    """A legal action for each row: a function of the game alone, not of the batch."""
    actions = []
    for row, number in enumerate(state.rows):
        game = env.games[int(number)]
        legal = legal_ids(game.deal.legal)
        key = f"{int(game.match)} {int(game.position)} {int(game.deal.decisions)}"
        actions.append(random.Random(key).choice(legal) if legal else 0)
        if not legal:
            assert not state.mask[row].any()
    return np.array(actions, dtype=np.int64)


def run(env: BatchEnv, **how: Any) -> tuple[list[list[int]], list[list[int]]]:
    """Plays an episode in every game; returns scores and sums of rewards."""
    state = env.reset(**how)
    sums = np.zeros((env.num_envs, 4), dtype=np.int64)
    done = np.zeros(env.num_envs, dtype=np.int64)
    while state.rows.size:
        state = env.step(choose(env, state))
        sums += state.reward
        done += state.done
    assert done.tolist() == [1] * env.num_envs
    return env.games.totals.tolist(), sums.tolist()


def paid(variant: Variant, scores: list[int]) -> list[int]:
    """What seats with these scores are paid: their team's points in a partnership."""
    if not variant.spec.partnership:
        return scores
    return [scores[seat] + scores[(seat + 2) % 4] for seat in range(4)]


# ---------------------------------------------------------------- the batch and the single game


@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("variant", SHIPPED)
def test_the_size_of_the_batch_changes_nothing(variant: str, episode: str) -> None:
    num = 6 if episode == "deal" else 2
    whole, _ = run(BatchEnv(variant, num, seed=1, episode=episode))
    for size in (1, 2):
        for first in range(0, num, size):
            part = BatchEnv(variant, size, seed=1, episode=episode)
            numbers = np.arange(first, first + size)
            scores, _ = run(part, numbers=numbers)
            assert scores == whole[first : first + size]


@pytest.mark.parametrize("start", ["decision", "play"])
def test_a_batch_equals_single_games_action_by_action(start: str) -> None:
    variants: list[Any] = EVERYTHING
    env = BatchEnv(variants, 12, seed=9, start=start, skip_forced=False)
    games = [
        Game(variants[i % len(variants)], seed=9, match=i, episode="deal", start=start)
        for i in range(12)
    ]
    state = env.reset()
    while state.rows.size:
        assert state.rows.tolist() == [i for i, game in enumerate(games) if not game.is_over]
        for row, i in enumerate(state.rows):
            game = games[i]
            assert int(state.seat[row]) == game.actor
            assert legal_ids(state.mask[row]) == game.legal_actions
            vector = observation_of(game.games, game.tables, 0, int(state.seat[row]))
            dense = observe.unpack_bits(state.bits[row : row + 1], observe.NUM_BITS)[0]
            assert np.array_equal(dense, vector[: observe.NUM_BITS])
            numbers = np.clip(state.numbers[row] / observe.NUMBER_SCALES, -16, 16)
            np.testing.assert_allclose(numbers, vector[observe.NUM_BITS :], rtol=1e-6)
        actions = choose(env, state)
        before = [game.scores for game in games]
        for row, i in enumerate(state.rows):
            games[i].push(int(actions[row]))
        state = env.step(actions)
        for i, game in enumerate(games):
            gained = [now - then for now, then in zip(game.scores, before[i], strict=True)]
            assert state.reward[i].tolist() == paid(game.variant, gained)
    assert env.games.totals.tolist() == [game.scores for game in games]


@pytest.mark.parametrize("reward", ["step", "deal"])
@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("skip_forced", [False, True])
def test_rewards_of_a_seat_sum_to_its_score(episode: str, reward: str, skip_forced: bool) -> None:
    for variant in VARIANTS:
        loaded = find_variant(variant, {})
        env = BatchEnv(loaded, 3, seed=2, episode=episode, reward=reward, skip_forced=skip_forced)
        scores, sums = run(env)
        assert sums == [paid(loaded, points) for points in scores]


def test_partners_are_paid_for_their_team() -> None:
    for episode in ("deal", "match"):
        env = BatchEnv("turkish_short", 4, options={"d.partnership": True}, episode=episode)
        scores, sums = run(env)
        assert sums == [[a + c, b + d, a + c, b + d] for a, b, c, d in scores]


def test_rewards_by_deal_come_at_the_end_of_deals_only() -> None:
    env = BatchEnv("international", 3, episode="match", reward="deal", seed=4)
    state = env.reset()
    paid = 0
    while state.rows.size:
        before = env.games.position.copy()
        state = env.step(choose(env, state))
        ended = (env.games.position != before) | state.done
        assert not state.reward[~ended].any()
        paid += int(state.reward.any(axis=1).sum())
    assert paid == 30


# ---------------------------------------------------------------- forced moves


@pytest.mark.parametrize("variant", VARIANTS)
def test_skipping_forced_moves_changes_no_score(variant: str) -> None:
    loaded = find_variant(variant, {})
    scores = []
    decisions = []
    for forced in (False, True):
        env = BatchEnv(loaded, 8, seed=3, skip_forced=forced)
        count = 0
        state = env.reset()
        sums = np.zeros((8, 4), dtype=np.int64)
        while state.rows.size:
            count += state.rows.size
            if forced:
                assert all(len(legal_ids(mask)) > 1 for mask in state.mask)
            state = env.step(choose(env, state))
            sums += state.reward
        scores.append(env.games.totals.tolist())
        decisions.append(count)
        assert sums.tolist() == [paid(loaded, points) for points in scores[-1]]
    assert scores[0] == scores[1]
    assert decisions[1] < decisions[0]


# ---------------------------------------------------------------- autoreset


def episodes_played(env: BatchEnv, rounds: int) -> dict[int, tuple[list[int], list[int]]]:
    """By number of the episode: its scores, as its rewards sum up, and as the game said them."""
    state = env.reset()
    sums = np.zeros((env.num_envs, 4), dtype=np.int64)
    found: dict[int, tuple[list[int], list[int]]] = {}
    while not set(range(rounds * env.num_envs)) <= set(found):
        numbers = env.games.match.copy()
        totals = env.games.totals.copy()
        state = env.step(choose(env, state))
        sums += state.reward
        for i in np.flatnonzero(state.done):
            if int(env.games.match[i]) == int(numbers[i]):
                totals[i] = env.games.totals[i]  # not begun anew yet
            found[int(numbers[i])] = (sums[i].tolist(), totals[i].tolist())
            sums[i] = 0
    return found


@pytest.mark.parametrize("autoreset", ["same_step", "next_step"])
@pytest.mark.parametrize("variant", SHIPPED)
def test_autoreset_plays_the_same_episodes(variant: str, autoreset: str) -> None:
    env = BatchEnv(variant, 3, seed=5, autoreset=autoreset)
    assert env.metadata["autoreset_mode"] == autoreset
    found = episodes_played(env, 3)
    scores, _ = run(BatchEnv(variant, 9, seed=5))
    for number in range(9):
        assert found[number][0] == paid(env.variants[0], scores[number])


def test_same_step_begins_the_next_episode_at_once() -> None:
    env = BatchEnv("international", 2, seed=5, autoreset="same_step")
    state = env.reset()
    for _ in range(150):
        state = env.step(choose(env, state))
        assert state.rows.tolist() == [0, 1]
        assert state.mask.any(axis=1).all()
        for i in np.flatnonzero(state.done):
            assert int(env.games.deal.trick_number[i]) == 0
            assert not env.games.totals[i].any()


def test_next_step_waits_for_one_step_with_an_empty_mask() -> None:
    env = BatchEnv("international", 2, seed=5, autoreset="next_step")
    state = env.reset()
    waits = 0
    for _ in range(150):
        ended = state.done.copy()
        state_before = env.games.match.copy()
        for i in range(2):
            assert state.mask[i].any() != ended[i]
        actions = choose(env, state)
        actions[ended] = -5  # ignored
        state = env.step(actions)
        assert state.rows.tolist() == [0, 1]
        for slot in np.flatnonzero(ended):
            waits += 1
            assert not state.reward[slot].any() and not state.done[slot]
            assert int(env.games.match[slot]) == int(state_before[slot]) + 2
            assert int(env.games.deal.trick_number[slot]) == 0
    assert waits >= 4


def test_disabled_leaves_games_out_when_they_are_over() -> None:
    env = BatchEnv("turkish_short", 4, seed=5)
    state = env.reset()
    in_play = {0, 1, 2, 3}
    while state.rows.size:
        state = env.step(choose(env, state))
        in_play -= set(np.flatnonzero(state.done).tolist())
        assert set(state.rows.tolist()) == in_play
    assert env.step(np.zeros(0, dtype=np.int64)).rows.size == 0
    assert env.reset(seed=6).rows.tolist() == [0, 1, 2, 3]


# ---------------------------------------------------------------- what a deal is


@pytest.mark.parametrize("variant", VARIANTS)
def test_deal_i_stands_at_position_i_mod_k(variant: str) -> None:
    loaded = find_variant(variant, {})
    num_deals = len(loaded.spec.deals)
    env = BatchEnv(loaded, 3 * num_deals, seed=8, skip_forced=False)
    env.reset()
    assert env.games.position.tolist() == [i % num_deals for i in range(3 * num_deals)]
    assert not env.games.totals.any()
    for i, game in enumerate(env.games):
        deal = loaded.spec.deals[i % num_deals]
        phase = PHASES[int(game.deal.phase)]
        assert phase == {"none": "PLAY", "auction": "BID"}.get(
            deal.decision, chosen_in(loaded.spec)
        )
        assert int(game.used.sum()) == sum(
            d.decision == "choose" for d in loaded.spec.deals[: i % num_deals]
        )
        check_used(loaded.spec, game)
        if deal.decision == "choose":
            assert legal_ids(game.deal.legal)


def chosen_in(spec: Any) -> str:
    """The phase in which contracts are chosen or ordered."""
    return "ORDER" if spec.phases.choose is None else str(spec.phases.choose.phase)


def check_used(spec: Any, game: Any) -> None:
    """The invented choices could have been made: own limits, quotas, the cap of the table."""
    choose = spec.phases.choose
    if choose is None:
        assert not game.used.any()
        return
    for seat in range(4):
        for index, group in enumerate(choose.group):
            made = sum(
                int(game.used[seat, c])
                for c, contract in enumerate(spec.contract)
                if contract.group == group.id
            )
            assert made + int(game.left[seat, index]) == group.per_player
        for c, contract in enumerate(spec.contract):
            assert int(game.used[seat, c]) <= (contract.per_player or 99)
    for c, contract in enumerate(spec.contract):
        assert int(game.used[:, c].sum()) <= (contract.per_table or 99)
    # Everybody has chosen as often as it was his turn.
    step, first = spec.step, int(game.first_dealer)
    turns: Counter[int] = Counter()
    for position in range(int(game.position)):
        dealer = (first + step * position) % 4
        ahead = spec.deals[position].chooser == "next"
        turns[(dealer + step * ahead) % 4] += 1
    assert [int(game.used[seat].sum()) for seat in range(4)] == [turns[seat] for seat in range(4)]


@pytest.mark.parametrize(
    ("variant", "options"), [("turkish_short", {"d.global_cap": 2}), ("tiny_counter", {})]
)
def test_a_choice_is_legal_if_all_quotas_can_still_be_met(
    variant: str, options: dict[str, object]
) -> None:
    """Look-ahead, against trying everything, over many invented histories."""
    refused = 0
    spec = find_variant(variant, options).spec
    penalties = [c for c, contract in enumerate(spec.contract) if contract.per_table]
    quota = next(g.per_player for g in spec.phases.choose.group if g.id == "penalty")  # type: ignore[union-attr]
    for number in range(200):
        game = new_game(variant, options, seed=1, match=number, episode="deal")
        seat = game.actor
        legal = set(game.legal_names())
        assert seat is not None and legal
        for chosen in penalties:
            used = game.record.used.astype(int)
            name = f"contract:{spec.contract[chosen].id}"
            if used[seat, chosen] or used[seat, penalties].sum() == quota:
                assert name not in legal
                continue
            used[seat, chosen] += 1
            places = {
                str(c): (spec.contract[c].per_table - int(used[:, c].sum())) for c in penalties
            }
            before = [{str(c) for c in penalties if used[player, c]} for player in range(4)]
            owed = [quota - int(used[player, penalties].sum()) for player in range(4)]
            possible = min(places.values()) >= 0 and demands_can_be_met(before, owed, places)
            assert (name in legal) == possible
            refused += min(places.values()) >= 0 and not possible
    assert refused > 0


def test_a_capped_match_can_be_finished() -> None:
    for number in (1, 8, 17):
        game = new_game("turkish_short", {"d.global_cap": 2}, seed=1, match=number, episode="deal")
        game.games.end[0] = 20  # go on to the end of the match
        play(game, random.Random(number))
        assert game.is_over and not game.record.left.any()


def test_start_play_skips_decisions() -> None:
    num = 4000
    env = BatchEnv("international", num, seed=6, start="play", skip_forced=False)
    env.reset()
    assert (env.games.deal.phase == PHASES.index("PLAY")).all()
    assert (env.games.deal.buyer == 4).all()
    contracts = [contract.id for contract in env.variants[0].spec.contract]
    positive, nulls = contracts.index("positive"), contracts.index("nulls")
    counts: Counter[str] = Counter()
    for i in range(num):
        deal = env.games[i].deal
        if i % 10 < 6:
            assert int(deal.contract) == i % 10
            continue
        assert int(deal.declarer) == int(deal.chooser) == int(deal.dealer)
        if int(deal.contract) == nulls:
            counts["nulls"] += 1
            assert int(deal.trump) == 4
        else:
            assert int(deal.contract) == positive
            counts["trump" if int(deal.trump) < 4 else "no trump"] += 1
            if int(deal.trump) < 4:
                hand = int(deal.hands[int(deal.declarer)])
                lengths = [(hand >> (13 * suit) & 0x1FFF).bit_count() for suit in range(4)]
                assert lengths[int(deal.trump)] == max(lengths)
    for name, share in (("trump", 2), ("no trump", 1), ("nulls", 1)):
        assert abs(counts[name] - 400 * share) < 4 * (1600 * share / 4 * (1 - share / 4)) ** 0.5


def test_start_play_draws_contracts_by_their_share_of_a_match() -> None:
    num = 8000
    env = BatchEnv("turkish_short", num, seed=6, start="play", skip_forced=False)
    env.reset()
    contracts = [contract.id for contract in env.variants[0].spec.contract]
    counts = Counter(contracts[int(c)] for c in env.games.deal.contract)
    # Eight of twenty deals are koz, two each of the penalties in the mean.
    assert abs(counts["koz"] - num * 0.4) < 4 * (num * 0.24) ** 0.5
    for name in contracts[:6]:
        assert abs(counts[name] - num * 0.1) < 5 * (num * 0.09) ** 0.5
    assert (env.games.deal.declarer == env.games.deal.leader).all()
    for game in env.games[:200]:
        assert int(game.used.sum()) == int(game.position) + 1
    scores, sums = run(BatchEnv("turkish_short", 40, seed=6, start="play"))
    assert sums == scores
    assert {sum(seats) for seats in scores} <= {-325, -320, 520}  # nobody pays


def test_numbers_and_skip_by_game() -> None:
    env = BatchEnv("international", 4, seed=6, skip_forced=False)
    numbers = np.array([8, 8, 17, 23], dtype=np.int64)
    skip = np.array([0, 1, 0, 1], dtype=np.uint8)
    env.reset(numbers=numbers, skip=skip)
    assert env.games.match.tolist() == numbers.tolist()
    assert env.games.position.tolist() == [8, 8, 7, 3]
    assert np.array_equal(env.games.deal.order[0], env.games.deal.order[1])
    phases = [PHASES[int(phase)] for phase in env.games.deal.phase]
    assert phases == ["BID", "PLAY", "BID", "PLAY"]
    again = env.reset()
    assert env.games.match.tolist() == [0, 1, 2, 3] and again.rows.size == 4


# ---------------------------------------------------------------- opponents


class FirstLegal:
    """An opponent in slow Python: plays the first legal action for the seats it controls."""

    def advance(self, games: Games, tables: Tables, first: int, last: int) -> None:
        for i in range(first, last):
            while int(games.deal.actor[i]) < 4:
                legal = legal_ids(games.deal.legal[i])
                if not int(games.control[i, int(games.deal.actor[i])]) and len(legal) > 1:
                    break
                row, action = np.array([i]), np.array([legal[0]])
                batch.step_rows(games, tables, row, action, 0)


def test_opponents_play_the_seats_they_control() -> None:
    control = np.ones((8, 4), dtype=np.uint8)
    control[np.arange(8), np.arange(8) % 4] = 0
    env = BatchEnv("international", 8, seed=3, opponents=FirstLegal())
    state = env.reset(control=control)
    sums = np.zeros((8, 4), dtype=np.int64)
    while state.rows.size:
        for row, i in enumerate(state.rows):
            assert int(state.seat[row]) == i % 4
        state = env.step(choose(env, state))
        sums += state.reward
    assert sums.tolist() == env.games.totals.tolist()
    # Whoever asks first plays all seats again.
    state = env.reset(control=np.zeros((8, 4), dtype=np.uint8))
    assert len(set(state.seat.tolist())) > 1


class Quick(FirstLegal):
    """Plays every game of the first deal to its end, whoever controls it."""

    def advance(self, games: Games, tables: Tables, first: int, last: int) -> None:
        for i in range(first, last):
            control = games.control[i].copy()
            if int(games.match[i]) < last:
                games.control[i] = 1
            super().advance(games, tables, i, i + 1)
            games.control[i] = control


@pytest.mark.parametrize(
    "autoreset",
    [
        "disabled",
        "same_step",
        "next_step",
    ],
)
def test_games_that_opponents_finish_before_the_caller_is_asked(autoreset: str) -> None:
    """With take_unplayed and max_plus=1 this happens in real games: a forced pass asks nobody."""
    env = BatchEnv("international", 2, seed=3, opponents=Quick(), autoreset=autoreset)
    state = env.reset()
    if autoreset == "disabled":
        assert state.rows.tolist() == []
        return
    assert state.rows.tolist() == [0, 1]
    for _ in range(3):
        state = env.step(choose(env, state))
    assert env.games.match.tolist() == [2, 3]
    assert state.mask.any(axis=1).all()


# ---------------------------------------------------------------- dense and packed, bad input


def test_dense_is_packed() -> None:
    variants: list[Any] = EVERYTHING
    envs = {
        obs: BatchEnv(variants, 8, seed=4, obs=obs, autoreset="same_step")
        for obs in ("packed", "dense")
    }
    states = {obs: env.reset() for obs, env in envs.items()}
    for _ in range(100):
        one, two = states["packed"], states["dense"]
        assert two.bits.dtype == np.uint8 and two.bits.shape == (8, observe.NUM_BITS)
        assert two.mask.dtype == np.int8 and two.mask.shape == (8, NUM_ACTIONS)
        assert np.array_equal(observe.unpack_bits(one.bits, observe.NUM_BITS), two.bits)
        assert [legal_ids(mask) for mask in one.mask] == [
            np.flatnonzero(mask).tolist() for mask in two.mask
        ]
        for name in ("rows", "seat", "numbers", "reward", "done"):
            assert np.array_equal(getattr(one, name), getattr(two, name))
        actions = choose(envs["packed"], one)
        states = {obs: env.step(actions) for obs, env in envs.items()}


def test_an_illegal_action_changes_nothing() -> None:
    env = BatchEnv("international", 4, seed=4, autoreset="same_step")
    state = env.reset()
    good = choose(env, state)
    for _ in range(30):
        state = env.step(good)
        good = choose(env, state)
    before = env.games.tobytes(), state.bits.copy(), state.mask.copy(), state.reward.copy()
    for wrong in (-1, NUM_ACTIONS, 2**40, 60, 53):
        bad = good.copy()
        bad[2] = wrong
        with pytest.raises(ValueError, match=rf"action {wrong} is not legal for seat \d of game 2"):
            env.step(bad)
        assert env.games.tobytes() == before[0]
        for old, new in zip(before[1:], (state.bits, state.mask, state.reward), strict=True):
            assert np.array_equal(old, new)
    for shape in (3, 5):
        with pytest.raises(ValueError, match="shape"):
            env.step(np.zeros(shape, dtype=np.int64))
    env.step(good.astype(np.int32))


def test_a_step_before_reset() -> None:
    with pytest.raises(ValueError, match="before reset"):
        BatchEnv(num_envs=1).step(np.zeros(1, dtype=np.int64))


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ({"variant": "chess"}, ["'chess'"]),
        ({"variant": ["international", "chess"]}, ["'chess'"]),
        ({"variant": []}, ["variant"]),
        ({"options": {"a.pack": 40}}, ["a.pack", "40"]),
        ({"num_envs": 0}, ["num_envs", "0"]),
        ({"episode": "game"}, ["episode", "'game'", "deal, match"]),
        ({"start": "later"}, ["start", "'later'", "decision, play"]),
        ({"episode": "match", "start": "play"}, ["start='play'", "deal"]),
        ({"reward": "trick"}, ["reward", "'trick'", "step, deal"]),
        ({"obs": "float"}, ["obs", "'float'", "packed, dense"]),
        ({"autoreset": "always"}, ["autoreset", "'always'", "disabled"]),
        ({"seed": -1}, ["seed", "-1"]),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], parts: list[str]) -> None:
    with pytest.raises(ValueError) as caught:
        BatchEnv(**{"num_envs": 2, **arguments}).reset()
    for part in parts:
        assert part in str(caught.value)


def test_the_same_seed_twice() -> None:
    env = BatchEnv("international", 3, seed=1)
    first, _ = run(env)
    again, _ = run(env)
    other, _ = run(env, seed=2)
    assert first == again != other
