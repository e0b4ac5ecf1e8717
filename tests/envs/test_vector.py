"""The batched Gymnasium environment equals single ones, in every mode and form."""

from __future__ import annotations

import random
import warnings
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

from agents.base import CompiledOpponents
from agents.registry import make_agent
from king_env import king_v0  # noqa: F401  # registers the id
from king_env.engine.actions import NUM_ACTIONS, ActionId
from king_env.envs.batch import BatchEnv
from king_env.envs.gymnasium_ids import SEAT_ID
from king_env.envs.seat import KingSeatEnv
from king_env.envs.vector import KingSeatVectorEnv
from king_env.game import IllegalActionError
from king_env.view import View
from tests.playing import VARIANTS
from tests.rules.factories import find_variant

N = 6
Array = npt.NDArray[Any]


class Plain:
    """The rule-based agent, without its compiled and batched forms."""

    name = "plain"

    def __init__(self) -> None:
        self._agent = make_agent("rule")

    def act(self, view: View, rng: np.random.Generator) -> ActionId:
        return self._agent.act(view, rng)


class Batched(Plain):
    """The same with a batched form."""

    def act_batch(self, views: Any, tables: Any, keys: Array) -> Array:
        return self._agent.act_batch(views, tables, keys)  # type: ignore[attr-defined,no-any-return]


def choose(masks: Array, step: int) -> Array:
    """A legal action for each game, or 0 where there is none."""
    actions = np.zeros(len(masks), dtype=np.int64)
    for i, mask in enumerate(masks):
        legal = np.flatnonzero(mask).tolist()
        actions[i] = random.Random(f"{step} {i}").choice(legal) if legal else 0
    return actions


def parts(observation: Any) -> list[Array]:
    return list(observation.values()) if isinstance(observation, dict) else [observation]


def same(batched: Any, i: int, single: Any) -> None:
    for many, one in zip(parts(batched), parts(single), strict=True):
        assert np.array_equal(many[i], one) and many.dtype == one.dtype


def make(**how: Any) -> KingSeatVectorEnv:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = gymnasium.make_vec(SEAT_ID, N, vectorization_mode="vector_entry_point", **how)
    assert isinstance(made, KingSeatVectorEnv)
    return made


# ---------------------------------------------------------------- what single environments do

MODES = list(AutoresetMode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_batch_equals_single_environments(variant: str, mode: AutoresetMode) -> None:
    loaded = find_variant(variant, {})
    check_batch(mode, variant=loaded, opponents=("random", "rule", "greedy"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "how",
    [
        {"obs_format": "flat"},
        {"obs": "dense"},
        {"obs": "packed", "reward": "deal"},
        {"start": "play", "skip_forced": False},
        {"opponents": Batched(), "copy": False},
        {"opponents": Plain(), "obs_format": "flat"},
        {"seat": 2, "copy": False},
        {"variant": "turkish_short", "options": {"d.partnership": True}},
    ],
    ids=lambda how: " ".join(f"{key}={value!r:.12}" for key, value in how.items()),
)
def test_a_batch_equals_single_environments_with(how: dict[str, Any], mode: AutoresetMode) -> None:
    check_batch(mode, **how)


def check_batch(mode: AutoresetMode, num_steps: int = 45, **how: Any) -> None:
    env = make(autoreset_mode=mode, **how)
    assert env.metadata["autoreset_mode"] is mode
    how = {name: value for name, value in how.items() if name != "copy"}
    singles = [KingSeatEnv(**how) for _ in range(N)]
    observations, infos = env.reset(seed=11)
    numbers = [i - N for i in range(N)]

    def begin(i: int) -> tuple[Any, dict[str, Any]]:
        """Starts the next episode of slot i; one passed over by N is passed over by 1 here."""
        while True:
            numbers[i] += N
            observation, info = singles[i].reset(seed=11, options={"match": numbers[i]})
            if info["match"] == numbers[i]:
                return observation, info

    def check(i: int, observation: Any, info: dict[str, Any]) -> None:
        same(observations, i, observation)
        assert np.array_equal(infos["action_mask"][i], info["action_mask"])
        assert infos["seat"][i] == info["seat"] and infos["match"][i] == info["match"]

    ended = np.zeros(N, dtype=np.bool_)
    endings = 0
    for i in range(N):
        check(i, *begin(i))
    for step in range(num_steps):
        assert infos["_action_mask"].all() and infos["action_mask"].dtype == np.int8
        assert env.observation_space.contains(observations)
        actions = choose(infos["action_mask"], step)
        if mode is AutoresetMode.DISABLED and ended.any():
            with pytest.raises(ResetNeeded, match="have ended"):
                env.step(actions)
            observations, infos = env.reset(options={"reset_mask": ended})
            assert np.array_equal(infos["_action_mask"], ended)
            for i in np.flatnonzero(ended).tolist():
                check(i, *begin(i))
            ended[:] = False
            actions = choose(infos["action_mask"], step)
        before = ended
        observations, rewards, ended, truncations, infos = env.step(actions)
        assert rewards.dtype == np.float64 and not truncations.any()
        for i, single in enumerate(singles):
            if mode is AutoresetMode.NEXT_STEP and before[i]:
                assert rewards[i] == 0 and not ended[i]
                check(i, *begin(i))
                continue
            observation, reward, terminated, _, info = single.step(actions[i])
            assert rewards[i] == reward and ended[i] == terminated
            if terminated:
                endings += 1
                told = infos
                if mode is AutoresetMode.SAME_STEP:
                    told = infos["final_info"]
                    assert infos["_final_obs"][i] and infos["_final_info"][i]
                    for one, other in zip(
                        parts(infos["final_obs"][i]), parts(observation), strict=True
                    ):
                        assert np.array_equal(one, other)
                    assert not told["action_mask"][i].any() and told["_action_mask"][i]
                    check(i, *begin(i))
                else:
                    check(i, observation, info)
                assert told["scores"][i].tolist() == info["scores"].tolist()
                assert told["_scores"][i] and told["seat"][i] == info["seat"]
            else:
                check(i, observation, info)
        if mode is AutoresetMode.SAME_STEP:
            assert ("final_obs" in infos) == ended.any()
    assert endings > N


def test_the_games_are_those_of_the_batched_self_play_environment() -> None:
    env = make(opponents="random", autoreset_mode="SameStep")
    _, infos = env.reset(seed=5)
    other = BatchEnv("international", N, seed=5, opponents=CompiledOpponents(5))
    control = np.ones((N, 4), dtype=np.uint8)
    control[np.arange(N), infos["seat"]] = 0
    state = other.reset(control=control, numbers=infos["match"])
    seats = infos["seat"]
    for step in range(6):
        assert np.array_equal(state.seat, seats) and np.array_equal(state.rows, np.arange(N))
        actions = choose(infos["action_mask"], step)
        _, rewards, ended, _, infos = env.step(actions)
        state = other.step(actions)
        assert np.array_equal(rewards, state.reward[np.arange(N), seats])
        assert not ended.any()


def test_variants_may_be_mixed() -> None:
    env = make(variant=["international", "turkish_short"], opponents=Plain(), obs_format="flat")
    observations, _ = env.reset(seed=2)
    for i in range(N):
        name = ["international", "turkish_short"][i % 2]
        single = KingSeatEnv(name, obs_format="flat")
        assert np.array_equal(single.reset(seed=2, options={"match": i})[0], observations[i])
    assert env.point_scale.shape == (N,)


# ---------------------------------------------------------------- arrays


def test_returned_arrays_stay_as_they_are() -> None:
    env = make()
    kept: list[tuple[Any, Any]] = []

    def keep(observations: Any, infos: Any) -> None:
        for array in (*parts(observations), infos["action_mask"], infos["seat"]):
            kept.append((array, array.copy()))

    observations, infos = env.reset(seed=1)
    keep(observations, infos)
    for step in range(20):
        observations, rewards, ended, _, infos = env.step(choose(infos["action_mask"], step))
        keep(observations, infos)
        kept += [(rewards, rewards.copy()), (ended, ended.copy())]
    assert all(np.array_equal(array, before) for array, before in kept)


def test_without_copies_two_observations_can_be_used_together() -> None:
    env = make(copy=False, obs_format="flat")
    first, infos = env.reset(seed=1)
    before = first.copy()
    second, *_, infos = env.step(choose(infos["action_mask"], 0))
    assert np.array_equal(first, before) and not np.shares_memory(first, second)
    third, *_ = env.step(choose(infos["action_mask"], 1))
    assert np.shares_memory(first, third)


def test_wrappers_and_the_method_of_sb3_contrib() -> None:
    env = gymnasium.wrappers.vector.RecordEpisodeStatistics(make())
    _, infos = env.reset(seed=1)
    told = []
    for step in range(40):
        masks = env.unwrapped.action_masks()  # type: ignore[attr-defined]
        assert np.array_equal(masks, infos["action_mask"].astype(bool))
        _, _, ended, _, infos = env.step(choose(infos["action_mask"], step))
        if ended.any():
            told += infos["episode"]["l"][ended].tolist()
    assert told and min(told) > 0


def test_the_default_of_make_vec_is_the_batched_one() -> None:
    assert isinstance(gymnasium.make_vec(SEAT_ID, 2), KingSeatVectorEnv)
    sync = gymnasium.make_vec(SEAT_ID, 2, vectorization_mode="sync")
    observations, infos = sync.reset(seed=1)
    assert sync.observation_space.contains(observations) and infos["action_mask"].any(axis=1).all()


# ---------------------------------------------------------------- seeds and options


def test_reset() -> None:
    env = make(opponents="random")
    first, infos = env.reset(seed=3)
    later, infos_later = env.reset()
    assert (infos_later["match"] - infos["match"] >= N).all()
    again, _ = env.reset(options={"match": 0})
    for one, two, three in zip(parts(first), parts(later), parts(again), strict=True):
        assert np.array_equal(one, three) and not np.array_equal(one, two)
    _, infos = env.reset(options={"match": np.full(N, 4)})
    assert len(set(infos["match"].tolist())) == 1
    unseeded = [parts(make().reset()[0])[0].tobytes() for _ in range(2)]
    assert unseeded[0] != unseeded[1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"reset_mask": [True] * N}, "expected a bool array"),
        ({"reset_mask": np.zeros(N, dtype=np.bool_)}, "one game at least"),
        ({"reset_mask": np.ones(N + 1, dtype=np.bool_)}, "expected shape"),
        ({"match": -1}, "match: found -1"),
        ({"match": [1, 2]}, "one number or 6"),
        ({"match": "first"}, "match: found 'first'"),
    ],
)
def test_bad_reset_options(options: dict[str, Any], words: str) -> None:
    env = make()
    env.reset(seed=1)
    with pytest.raises(ValueError, match=words):
        env.reset(options=options)


def test_a_mask_with_a_seed_or_before_the_first_reset() -> None:
    some = np.arange(N) < 2
    with pytest.raises(ValueError, match="the first reset starts all"):
        make().reset(options={"reset_mask": some})
    env = make()
    env.reset(seed=1)
    with pytest.raises(ValueError, match="a new seed starts all"):
        env.reset(seed=2, options={"reset_mask": some})


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("opponents", ["rule", Batched()])
def test_an_illegal_action_is_an_error_and_changes_nothing(opponents: Any) -> None:
    env = make(start="play", opponents=opponents)
    _, infos = env.reset(seed=1)
    actions = choose(infos["action_mask"], 0)
    before = env._seats.games.tobytes()
    wrong = actions.copy()
    wrong[3] = NUM_ACTIONS - 1
    with pytest.raises(IllegalActionError, match=r"game 3: action .* of seat 3 in phase PLAY"):
        env.step(wrong)
    for malformed in (actions[1:], actions.astype(float), actions[:, None]):
        with pytest.raises(ValueError, match="expected 6 integers"):
            env.step(malformed)
    assert env._seats.games.tobytes() == before
    env.step(actions)


@pytest.mark.parametrize("opponents", ["rule", Batched()])
@pytest.mark.parametrize("mode", MODES)
def test_an_illegal_action_may_end_the_episode(mode: AutoresetMode, opponents: Any) -> None:
    env = make(start="play", illegal="terminate", opponents=opponents, autoreset_mode=mode)
    _, infos = env.reset(seed=1)
    actions = choose(infos["action_mask"], 0)
    actions[3] = -5
    _, rewards, ended, _, infos = env.step(actions)
    assert ended.tolist() == [False] * 3 + [True] + [False] * 2
    assert rewards[3] == -1
    if mode is AutoresetMode.SAME_STEP:
        assert infos["match"][3] == 3 + N and infos["action_mask"][3].any()
    else:
        assert not infos["action_mask"][3].any()
    if mode is AutoresetMode.NEXT_STEP:
        _, rewards, ended, _, infos = env.step(choose(infos["action_mask"], 1))
        assert rewards[3] == 0 and not ended[3] and infos["match"][3] == 3 + N


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="autoreset_mode: found 'never'; allowed: NextStep, Same"):
        make(autoreset_mode="never")
    with pytest.raises(ValueError, match="num_envs: found 0"):
        KingSeatVectorEnv(0)
    with pytest.raises(ValueError, match="empty list"):
        make(variant=[])
    with pytest.raises(ValueError, match="render_mode"):
        make(render_mode="human")
    with pytest.raises(ResetNeeded):
        make().step(np.zeros(N, dtype=np.int64))


def test_render() -> None:
    env = make(render_mode="ansi")
    env.reset(seed=1)
    shown = env.render()
    assert shown is not None and len(shown) == N and "seat 0" in shown[0]
    assert make().render() is None
