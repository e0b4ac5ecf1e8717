"""One seat for Gymnasium: the field's checker, rewards, opponents, copies, bad input."""

from __future__ import annotations

import copy
import pickle
import random
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

import king_env
from agents.registry import make_agent
from king_env import king_v0  # noqa: F401  # registers the id
from king_env.engine.actions import NUM_ACTIONS, ActionId
from king_env.envs import opponents as opponents_module
from king_env.envs.gymnasium_ids import SEAT_ID
from king_env.envs.seat import KingSeatEnv
from king_env.game import Game, IllegalActionError
from king_env.policy import Policy, decision_keys
from king_env.rules.catalogue import Variant, VariantError
from king_env.view import View, observation_of
from tests.playing import SHIPPED, VARIANTS, pick
from tests.rules.factories import find_variant


class Historian:
    """Plays by the public history alone, so that a view without it plays something else."""

    name = "historian"

    def act(self, view: View, rng: np.random.Generator) -> ActionId:
        return random.Random(str(view.history)).choice(view.legal_actions)


class Wild:
    """Plays illegal actions."""

    name = "wild"

    def act(self, view: View, rng: np.random.Generator) -> ActionId:
        return NUM_ACTIONS - 1


def choose(info: dict[str, Any], rng: random.Random) -> int:
    return int(rng.choice(np.flatnonzero(info["action_mask"]).tolist()))


def finish(env: Any, info: dict[str, Any], rng: random.Random) -> tuple[float, dict[str, Any]]:
    """Plays an episode to its end; returns the sum of rewards and the last info."""
    total = 0.0
    while True:
        _, reward, terminated, truncated, info = env.step(choose(info, rng))
        assert type(reward) is float and type(terminated) is bool and truncated is False
        total += reward
        if terminated:
            return total, info


def own(variant: Variant, scores: Any, seat: int) -> int:
    """What a seat plays for."""
    partner = scores[(seat + 2) % 4] if variant.spec.partnership else 0
    return int(scores[seat] + partner)


# ---------------------------------------------------------------- Gymnasium's own checks


@pytest.mark.parametrize("variant", SHIPPED)
def test_check_env(variant: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = gymnasium.make(SEAT_ID, variant=variant, illegal="terminate")
        check_env(made.unwrapped)


@pytest.mark.parametrize(
    "how",
    [
        {"obs_format": "flat"},
        {"obs": "dense"},
        {"obs": "packed"},
        {"episode": "match"},
        {"start": "play", "skip_forced": False, "seat": 2},
        {"opponents": Historian()},
    ],
    ids=lambda how: next(iter(how)),
)
def test_check_env_with(how: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(SEAT_ID, illegal="terminate", **how).unwrapped)


def test_importing_king_env_registers_where_gymnasium_is_there_and_costs_nothing_else() -> None:
    program = """
import sys
import king_env
assert not {"numba", "gymnasium", "numpy"} & set(sys.modules)
import gymnasium
gymnasium.make("king_env.king_v0:king/KingSeat-v0", opponents="random").reset(seed=1)
"""
    second = """
import gymnasium
import king_env
import sys
assert "numba" not in sys.modules
env = gymnasium.make("king/KingSeat-v0", opponents="random")
assert "pettingzoo" not in sys.modules and "torch" not in sys.modules
env.reset(seed=1)
"""
    for text in (program, second):
        subprocess.run([sys.executable, "-W", "error", "-c", text], check=True)
    assert SEAT_ID in gymnasium.registry and king_env.__version__


def test_wrappers_of_gymnasium() -> None:
    env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make(SEAT_ID, obs_format="flat"))
    _, info = env.reset(seed=1)
    total, info = finish(env, info, random.Random(1))
    assert info["episode"]["r"] == total
    assert not env.get_wrapper_attr("action_masks")().any()


# ---------------------------------------------------------------- the same game as anywhere else


def reference(
    variant: Variant, agent: Policy, seed: int, number: int, seat: int, episode: str
) -> Iterator[tuple[Game, int]]:
    """Plays an episode as a ``Game``, other seats by the agent; yields at the learner's turns."""
    game = Game(variant, seed=seed, match=number, episode=episode)
    keys = np.zeros(1, dtype=np.uint64)
    while not game.is_over:
        legal = game.legal_actions
        actor = game.actor
        assert actor is not None
        if len(legal) == 1:
            game.push(legal[0])
        elif actor == seat:
            before = game.scores
            yield game, own(variant, before, seat)
        else:
            decision_keys(game.games, np.zeros(1, np.int64), seed, keys)
            view = game.view(actor)
            batched = getattr(agent, "act_batch", None)
            if batched is None:
                rng = np.random.Generator(np.random.PCG64(int(keys[0])))
                game.push(agent.act(view, rng))
            else:
                game.push(int(batched(view.record, view.tables, keys)[0]))
    yield game, own(variant, game.scores, seat)


@pytest.mark.parametrize("agent", ["random", "rule", "historian"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_an_episode_is_the_one_that_a_game_plays(variant: str, agent: str) -> None:
    loaded = find_variant(variant, {})
    policy: Policy = Historian() if agent == "historian" else make_agent(agent)
    env = KingSeatEnv(loaded, opponents=policy)
    for number in range(3):
        observation, info = env.reset(seed=7, options={"match": number})
        rng = random.Random(number)
        seat, terminated, paid = info["seat"], False, 0.0
        first = True
        for game, score in reference(loaded, policy, 7, info["match"], seat, "deal"):
            # What was scored before the first decision is paid after it.
            assert (first or paid == score) and terminated == game.is_over
            first = False
            vector = observation_of(game.games, game.tables, 0, seat)
            np.testing.assert_allclose(observation["observation"], vector, rtol=1e-6)
            mask = info["action_mask"]
            assert observation["action_mask"] is mask and mask.dtype == np.int8
            assert np.flatnonzero(mask).tolist() == ([] if terminated else game.legal_actions)
            assert env.action_masks().tolist() == mask.astype(bool).tolist()
            if terminated:
                assert info["scores"].tolist() == game.scores
                break
            action = pick(game, rng)
            observation, reward, terminated, _, info = env.step(action)
            paid += reward
            game.push(action)


@pytest.mark.parametrize("reward", ["step", "deal"])
@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_rewards_sum_to_the_score(variant: str, episode: str, reward: str) -> None:
    loaded = find_variant(variant, {})
    env = KingSeatEnv(
        loaded, opponents=("random", "greedy", "rule"), episode=episode, reward=reward
    )
    for number in range(2):
        _, info = env.reset(seed=3 if number == 0 else None)
        total, info = finish(env, info, random.Random(number))
        assert total == own(loaded, info["scores"], info["seat"])


def test_a_partner_is_paid_too() -> None:
    variant = king_env.load_variant("turkish_short", {"d.partnership": True})
    env = KingSeatEnv(variant, opponents="random")
    _, info = env.reset(seed=2)
    total, info = finish(env, info, random.Random(1))
    seat, scores = info["seat"], info["scores"]
    assert total == scores[seat] + scores[(seat + 2) % 4]
    assert env.point_scale > 1


def test_observation_forms_hold_the_same() -> None:
    envs = {obs: KingSeatEnv(obs=obs) for obs in ("float", "dense", "packed")}
    flat = KingSeatEnv(obs_format="flat")
    found = {obs: env.reset(seed=5)[0] for obs, env in envs.items()}
    vector = flat.reset(seed=5)[0]
    assert np.array_equal(found["float"]["observation"], vector)
    dense, packed = found["dense"], found["packed"]
    num_bits = dense["bits"].size
    assert np.array_equal(dense["bits"], vector[:num_bits])
    unpacked = np.unpackbits(packed["bits"].view(np.uint8), bitorder="little")[:num_bits]
    assert np.array_equal(unpacked, dense["bits"])
    assert np.array_equal(packed["numbers"], dense["numbers"])
    for obs, env in envs.items():
        assert env.observation_space.contains(found[obs])
    assert isinstance(flat.observation_space, spaces.Box)


# ---------------------------------------------------------------- seats, seeds, options


@pytest.mark.parametrize("variant", ["international", "turkish_short"])
def test_each_place_of_the_schedule_falls_to_each_seat(variant: str) -> None:
    env = KingSeatEnv(variant, opponents="random")
    num_deals = len(env.variant.spec.deals)
    met: Counter[tuple[int, int]] = Counter()
    _, info = env.reset(seed=1)
    while info["match"] < 4 * num_deals:
        met[info["match"] % num_deals, info["seat"]] += 1
        _, info = env.reset()
    assert set(met.values()) == {1} and len(met) > 3.5 * num_deals


def test_matches_rotate_the_seat_and_a_given_seat_stays() -> None:
    env = KingSeatEnv(episode="match")
    assert [env.reset(seed=1 if n == 0 else None)[1]["seat"] for n in range(5)] == [0, 1, 2, 3, 0]
    env = KingSeatEnv(seat=3)
    assert {env.reset(seed=1 if n == 0 else None)[1]["seat"] for n in range(5)} == {3}


def test_reset_goes_on_and_finds_an_episode_again() -> None:
    env = KingSeatEnv()
    first = env.reset(seed=4)
    second = env.reset()
    assert [first[1]["match"], second[1]["match"]] == [0, 1]
    again = env.reset(options={"match": 0})
    assert np.array_equal(first[0]["observation"], again[0]["observation"])
    assert env.reset()[1]["match"] == 1
    unseeded = [KingSeatEnv().reset()[0]["observation"].tobytes() for _ in range(2)]
    assert unseeded[0] != unseeded[1]


def test_what_opponents_draw_follows_from_the_seed() -> None:
    env = KingSeatEnv(opponents="random", start="play")

    def play(seed: int) -> list[int]:
        _, info = env.reset(seed=seed)
        return [int(n) for n in finish(env, info, random.Random(0))[1]["scores"]]

    assert play(1) == play(1)
    assert len({tuple(play(seed)) for seed in range(5)}) > 1


def test_an_episode_without_a_decision_is_passed_over() -> None:
    env = KingSeatEnv("international", opponents="random", seat=1)
    skipped = 0
    for number in range(300):
        _, info = env.reset(seed=9, options={"match": number})
        for passed in range(number, info["match"]):
            turns = list(reference(env.variant, make_agent("random"), 9, passed, 1, "deal"))
            assert len(turns) == 1  # the end only
            skipped += 1
        assert info["action_mask"].any()
    assert skipped < 100


# ---------------------------------------------------------------- copies


@pytest.mark.parametrize("opponents", ["random", Historian()])
@pytest.mark.parametrize("how", ["deepcopy", "pickle", "clone"])
def test_copies_go_on_alike(how: str, opponents: Any) -> None:
    env = KingSeatEnv(opponents=opponents, episode="match")
    _, info = env.reset(seed=3)
    rng = random.Random(1)
    for _ in range(9):
        _, _, _, _, info = env.step(choose(info, rng))
    other = {
        "deepcopy": copy.deepcopy,
        "pickle": lambda e: pickle.loads(pickle.dumps(e)),
        "clone": KingSeatEnv.clone,
    }[how](env)
    before = env.render_mode, env._seats.games.tobytes()
    ends = [finish(e, info, random.Random(2)) for e in (other, env)]
    assert ends[0][0] == ends[1][0]
    assert ends[0][1]["scores"].tolist() == ends[1][1]["scores"].tolist()
    assert before[1] != env._seats.games.tobytes()


# ---------------------------------------------------------------- opponents by name


def test_three_opponents_sit_after_the_learner() -> None:
    env = KingSeatEnv(opponents=("random", "greedy", "rule"), seat=1)
    env.reset(seed=1)
    ids = [getattr(make_agent(name), "policy_id") for name in ("random", "greedy", "rule")]  # noqa: B009
    assert env._seats.games.control[0].tolist() == [ids[2], 0, ids[0], ids[1]]


@pytest.mark.parametrize(
    ("opponents", "words"),
    [
        ("rulle", "rulle"),
        (["rule", "rule"], "found 2 agents; allowed: one, or three"),
        ([1, 2, 3], "expected a name, or an agent"),
    ],
)
def test_bad_opponents(opponents: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        KingSeatEnv(opponents=opponents)


def test_agents_of_other_distributions(monkeypatch: pytest.MonkeyPatch) -> None:
    class Entry:
        name = "historian"

        def load(self) -> Any:
            return Historian

    monkeypatch.setattr(opponents_module, "entry_points", lambda group: [Entry()])
    env = KingSeatEnv(opponents="historian")
    _, info = env.reset(seed=1)
    finish(env, info, random.Random(1))
    with pytest.raises(ValueError, match=r"no agent 'rule' in king_env.agents: .*historian"):
        KingSeatEnv(opponents="rule")


def test_an_opponent_that_plays_nonsense_is_told() -> None:
    env = KingSeatEnv(opponents=Wild(), seat=0)
    with pytest.raises(ValueError, match=r"agent 'wild': action .* is not legal"):
        for _ in range(20):
            _, info = env.reset(seed=1)
            env.step(choose(info, random.Random(1)))


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("opponents", ["rule", Historian()])
def test_an_illegal_action_is_an_error_and_changes_nothing(opponents: Any) -> None:
    env = KingSeatEnv(start="play", opponents=opponents)
    _, info = env.reset(seed=1)
    for _ in range(3):
        _, _, _, _, info = env.step(choose(info, random.Random(1)))
    wrong = int(np.flatnonzero(info["action_mask"] == 0)[0])
    before = env._seats.games.tobytes()
    with pytest.raises(IllegalActionError, match="seat 0 in phase PLAY"):
        env.step(wrong)
    for action in (-1, NUM_ACTIONS):
        with pytest.raises(IllegalActionError, match="no such id"):
            env.step(action)
    assert env._seats.games.tobytes() == before
    env.step(choose(info, random.Random(1)))


@pytest.mark.parametrize("opponents", ["rule", Historian()])
def test_an_illegal_action_may_end_the_episode(opponents: Any) -> None:
    env = KingSeatEnv(start="play", illegal="terminate", opponents=opponents)
    _, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(NUM_ACTIONS - 1)
    assert (reward, terminated, truncated) == (-1.0, True, False)
    assert not info["action_mask"].any() and "phase PLAY" in info["illegal"]
    assert env.observation_space.contains(observation)
    with pytest.raises(ResetNeeded):
        env.step(0)
    assert env.reset()[1]["action_mask"].any()


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"variant": "bridge"}, VariantError, "bridge"),
        ({"seat": 4}, ValueError, "seat: found 4; allowed: 0 to 3, None"),
        ({"episode": "game"}, ValueError, "episode: found 'game'; allowed: deal, match"),
        ({"start": "play", "episode": "match"}, ValueError, "start='play'"),
        ({"reward": "end"}, ValueError, "reward: found 'end'; allowed: step, deal"),
        ({"illegal": "ignore"}, ValueError, "illegal: found 'ignore'"),
        ({"obs": "text"}, ValueError, "obs: found 'text'; allowed: float, dense, packed"),
        ({"obs_format": "flat", "obs": "dense"}, ValueError, "goes with obs='float' only"),
        ({"render_mode": "human"}, ValueError, "render_mode: found 'human'"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        KingSeatEnv(**arguments)


def test_reset_options() -> None:
    env = KingSeatEnv()
    with pytest.warns(UserWarning, match="reset option 'color' is unknown; allowed: match"):
        env.reset(seed=1, options={"color": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env.reset(options={"color": 1})
    with pytest.raises(ValueError, match="match: found -1"):
        env.reset(options={"match": -1})
    with pytest.raises(ResetNeeded):
        KingSeatEnv().step(0)


def test_render() -> None:
    env = gymnasium.make(SEAT_ID, render_mode="ansi")
    env.reset(seed=1)
    assert KingSeatEnv().variant.spec.title in str(env.render())
    silent = KingSeatEnv()
    silent.reset(seed=1)
    with pytest.warns(UserWarning, match="ansi"):
        assert silent.render() is None
