"""King in RLlib: rewards through its episodes, masks, seeds, the script."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ray.rllib", reason="ray[rllib] is not installed")

from king_env.adapters.rllib import SHARED, KingRllibEnv, MaskedModule
from king_env.envs.core import AGENTS
from tests.frameworks.smoke import run_script


@pytest.fixture(scope="module", autouse=True)
def _ray() -> Iterator[None]:
    import ray

    from train.frameworks.rllib import start_ray

    start_ray()
    yield
    ray.shutdown()


def make_runner(seed: int = 1, **arguments: Any) -> Any:
    """RLlib's own sampler of multi-agent episodes, with an untrained module."""
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner

    spec = MultiRLModuleSpec(rl_module_specs={SHARED: RLModuleSpec(module_class=MaskedModule)})
    config = (
        PPOConfig()
        .environment(KingRllibEnv, env_config=arguments, disable_env_checking=True)
        .multi_agent(policies={SHARED}, policy_mapping_fn=lambda agent, episode, **_: SHARED)
        .rl_module(rl_module_spec=spec)
        .env_runners(num_env_runners=0, batch_mode="complete_episodes")
        .debugging(seed=seed)
    )
    return MultiAgentEnvRunner(config=config)


@pytest.mark.parametrize("variant", ["international", "rifki", "turkish_short_pairs"])
def test_rewards_add_up_to_the_scores(variant: str) -> None:
    for episode in make_runner(variant=variant, episode="match").sample(num_episodes=2):
        scores = [episode.agent_episodes[agent].get_infos(-1)["score"] for agent in AGENTS]
        if variant.endswith("pairs"):
            scores = [scores[seat] + scores[(seat + 2) % 4] for seat in range(4)]
        sums = [sum(episode.agent_episodes[agent].get_rewards()) for agent in AGENTS]
        assert sums == scores
        assert episode.get_return() == sum(scores)


def test_masks() -> None:
    decisions = 0
    runner = make_runner(variant="international")
    while decisions < 10_000:
        for episode in runner.sample(num_episodes=4):
            for part in episode.agent_episodes.values():
                masks = part.get_observations()["action_mask"][:-1]
                actions = np.asarray(part.get_actions())
                assert masks[np.arange(len(actions)), actions].all()
                decisions += len(actions)


def test_same_seed_same_episode() -> None:
    def deal(seed: int) -> list[Any]:
        runner = make_runner(seed, episode="deal")
        parts = runner.sample(num_episodes=1)[0].agent_episodes
        return [parts[agent].get_observations(0)["observations"].tolist() for agent in AGENTS]

    assert deal(3) == deal(3) != deal(4)


def test_every_sample_has_deals_of_its_own() -> None:
    runner = make_runner(episode="deal")
    first = [
        runner.sample(num_episodes=1)[0].agent_episodes["player_0"].get_observations(0)
        for _ in range(3)
    ]
    hands = {seen["observations"][:52].tobytes() for seen in first}
    assert len(hands) == 3


def test_rewards_reach_the_decisions_they_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    paid: list[tuple[str, dict[str, float]]] = []
    step = KingRllibEnv.step

    def watch(self: Any, actions: Any) -> Any:
        agent = self.king.agent_selection
        result = step(self, actions)
        paid.append((agent, result[1]))
        return result

    monkeypatch.setattr(KingRllibEnv, "step", watch)
    episode = make_runner(episode="deal").sample(num_episodes=1)[0]
    expected: dict[str, list[float]] = {agent: [] for agent in AGENTS}
    for actor, rewards in paid:
        expected[actor].append(0)
        for agent, reward in rewards.items():
            if expected[agent]:
                expected[agent][-1] += reward
    found = {agent: list(episode.agent_episodes[agent].get_rewards()) for agent in AGENTS}
    assert found == expected


def test_the_environment_alone() -> None:
    env = KingRllibEnv({"variant": "international", "episode": "deal"})
    rng = np.random.default_rng(1)
    observations, _ = env.reset(seed=2)
    totals, over = dict.fromkeys(AGENTS, 0.0), False
    while not over:
        ((agent, seen),) = observations.items()
        assert env.observation_spaces[agent].contains(seen)
        action = rng.choice(np.flatnonzero(seen["action_mask"]))
        observations, rewards, terminated, _, infos = env.step({agent: action})
        over = terminated["__all__"]
        for name, reward in rewards.items():
            totals[name] += reward
    assert totals == {agent: infos[agent]["score"] for agent in AGENTS}
    assert set(observations) == set(AGENTS)


def test_script(tmp_path: Path) -> None:
    run_script("rllib", tmp_path)
