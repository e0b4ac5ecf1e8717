"""The parallel environment: PettingZoo's own kits, and the same games as the AEC environment."""

from __future__ import annotations

import copy
import pickle
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test

from king_env import IllegalActionError, king_v0
from king_env.envs.aec import raw_env
from king_env.envs.core import AGENTS
from king_env.envs.parallel import parallel_env
from tests.playing import SHIPPED, pick

PARTNERS: dict[str, object] = {"d.partnership": True}


def answer(environment: Any, action: int, rng: random.Random) -> dict[str, Any]:
    """The actions of a step: the one that counts, and nonsense or nothing from the others."""
    actor = AGENTS[environment.game.actor]
    actions: dict[str, Any] = {actor: action}
    for agent in AGENTS:
        if agent != actor and rng.random() < 0.7:
            actions[agent] = rng.choice([0, 148, -5, None, "x"])
    return actions


# ---------------------------------------------------------------- PettingZoo's own tests


@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize("episode", ["match", "deal"])
@pytest.mark.parametrize("variant", SHIPPED)
def test_api(variant: str, episode: str, history: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # The test passes an option of its own.
        warnings.filterwarnings("ignore", message="reset option")
        environment = parallel_env(variant, episode=episode, history=history)
        parallel_api_test(environment, num_cycles=120)


@pytest.mark.parametrize("variant", SHIPPED)
def test_seed(variant: str) -> None:
    # It samples without masks: the first action is nearly always illegal and ends the episode.
    parallel_seed_test(lambda: parallel_env(variant), num_cycles=60)


def test_names() -> None:
    assert king_v0.parallel_env is parallel_env
    environment = king_v0.parallel_env()
    assert environment.metadata["name"] == "king_v0"
    assert environment.metadata["is_parallelizable"] is True
    assert raw_env.metadata["is_parallelizable"] is False
    assert environment.possible_agents == AGENTS
    assert environment.unwrapped is environment
    for agent in AGENTS:
        assert environment.action_space(agent) is environment.action_space(agent)
        assert environment.observation_space(agent) is environment.observation_space(agent)


# ---------------------------------------------------------------- the same game as the AEC


@pytest.mark.parametrize("reward", ["step", "deal"])
@pytest.mark.parametrize("episode", ["match", "deal"])
@pytest.mark.parametrize(
    ("variant", "options"),
    [("international", {}), ("turkish_short", {}), ("turkish_short", PARTNERS)],
)
def test_a_step_is_the_step_of_the_aec(
    variant: str, options: dict[str, object], episode: str, reward: str
) -> None:
    how: dict[str, Any] = {"options": options, "episode": episode, "reward": reward}
    aec, parallel = (
        raw_env(variant, **how, history=True),
        parallel_env(variant, **how, history=True),
    )
    rng = random.Random(1)
    for match in (0, 7):
        aec.reset(seed=3, options={"match": match})
        observations, infos = parallel.reset(seed=3, options={"match": match})
        assert parallel.agents == AGENTS
        sums = dict.fromkeys(AGENTS, 0)
        while True:
            assert set(observations) == set(infos) == set(AGENTS)
            for agent in AGENTS:
                expected = aec.observe(agent)
                assert observations[agent] in parallel.observation_space(agent)
                assert set(observations[agent]) == set(expected)
                for name, value in expected.items():
                    assert np.array_equal(observations[agent][name], value)
                mask = observations[agent]["action_mask"]
                assert mask is infos[agent]["action_mask"] and mask.dtype == np.int8
                acts = not parallel.game.is_over and agent == aec.agent_selection
                assert mask.any() == acts
            if not parallel.agents:
                break
            action = pick(aec.game, rng)
            aec.step(action)
            actions = answer(parallel, action, rng)
            observations, rewards, terminations, truncations, infos = parallel.step(actions)
            assert rewards == aec.rewards
            assert terminations == aec.terminations and truncations == aec.truncations
            assert all(type(value) is bool for value in terminations.values())
            for agent in AGENTS:
                sums[agent] += rewards[agent]
        assert all(terminations.values())
        scores = parallel.game.scores
        if options:
            scores = [scores[seat] + scores[(seat + 2) % 4] for seat in range(4)]
        assert list(sums.values()) == scores
        assert parallel.step({}) == ({}, {}, {}, {}, {})


def test_what_a_step_gave_stays_as_it_was() -> None:
    environment = parallel_env("international")
    observations, infos = environment.reset(seed=1)
    actor = AGENTS[environment.game.actor or 0]
    mask = infos[actor]["action_mask"].copy()
    seen = observations[actor]["observation"].copy()
    result = environment.step({actor: environment.game.legal_actions[0]})
    assert np.array_equal(infos[actor]["action_mask"], mask) and mask.any()
    assert np.array_equal(observations[actor]["observation"], seen)
    environment.step({AGENTS[environment.game.actor or 0]: environment.game.legal_actions[0]})
    assert not result[2][actor] and result[4][actor]["action_mask"].sum() == 0


# ---------------------------------------------------------------- illegal actions, copies


@pytest.mark.parametrize("action", [-1, 149, None, "illegal"])
def test_an_illegal_action_ends_the_episode_and_says_why(action: Any) -> None:
    environment = parallel_env("international")
    environment.reset(seed=1)
    actor = AGENTS[environment.game.actor or 0]
    if action == "illegal":
        action = next(a for a in range(52) if a not in environment.game.legal_actions)
    before = environment.game.games.tobytes()
    observations, rewards, terminations, _, infos = environment.step({actor: action})
    assert rewards == {agent: -1 if agent == actor else 0 for agent in AGENTS}
    assert terminations == dict.fromkeys(AGENTS, True) and environment.agents == []
    assert environment.game.games.tobytes() == before
    assert "action" in infos[actor]["illegal_action"]
    assert [agent for agent in AGENTS if "illegal_action" in infos[agent]] == [actor]
    assert not any(observations[agent]["action_mask"].any() for agent in AGENTS)
    # The next episode is a clean one.
    environment.reset(seed=1)
    _, rewards, terminations, _, infos = environment.step(
        {actor: environment.game.legal_actions[0]}
    )
    assert not any(terminations.values()) and not any(rewards.values())
    assert "illegal_action" not in infos[actor]


def test_raise_refuses_and_changes_nothing() -> None:
    environment = parallel_env("international", illegal="raise")
    environment.reset(seed=1)
    actor = AGENTS[environment.game.actor or 0]
    before = environment.game.games.tobytes()
    illegal = next(a for a in range(52) if a not in environment.game.legal_actions)
    for action in (illegal, -1, 149, None):
        with pytest.raises(IllegalActionError):
            environment.step({actor: action})
    assert environment.game.games.tobytes() == before and environment.agents == AGENTS
    environment.step({actor: environment.game.legal_actions[0]})


@pytest.mark.parametrize("illegal", ["end", "raise"])
def test_the_action_of_the_seat_to_act_must_be_there(illegal: str) -> None:
    environment = parallel_env("international", illegal=illegal)
    environment.reset(seed=1)
    actor = AGENTS[environment.game.actor or 0]
    others = {agent: 0 for agent in AGENTS if agent != actor}
    with pytest.raises(ValueError, match=f"actions: found .*; expected that of {actor}"):
        environment.step(others)
    assert environment.agents == AGENTS


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="illegal: found 'stop'; allowed: end, raise"):
        parallel_env(illegal="stop")
    with pytest.raises(ValueError, match="episode: found 'game'"):
        parallel_env(episode="game")


COPIES: list[Callable[[Any], Any]] = [
    copy.deepcopy,
    lambda environment: pickle.loads(pickle.dumps(environment)),
    lambda environment: environment.clone(),
]


@pytest.mark.parametrize("copier", COPIES, ids=["deepcopy", "pickle", "clone"])
def test_a_copy_in_mid_deal_goes_on_alike(copier: Callable[[Any], Any]) -> None:
    environment = parallel_env("turkish_short", history=True)
    environment.reset(seed=7)
    rng = random.Random(7)

    def step(one: Any, chance: random.Random) -> Any:
        return one.step({AGENTS[one.game.actor]: pick(one.game, chance)})

    for _ in range(77):
        step(environment, rng)
    other = copier(environment)
    before = environment.game.games.tobytes()
    results = [step(other, random.Random(1)) for _ in range(30)]
    assert environment.game.games.tobytes() == before
    for expected in results:
        found = step(environment, random.Random(1))
        assert found[1] == expected[1]
        for agent in AGENTS:
            for name, value in expected[0][agent].items():
                assert np.array_equal(found[0][agent][name], value)
