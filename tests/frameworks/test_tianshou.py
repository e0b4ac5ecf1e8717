"""King in Tianshou: rewards through its collectors, masks, seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

tianshou: Any = pytest.importorskip("tianshou", reason="tianshou is not installed")

from king_env.adapters.tianshou import make_env  # noqa: E402
from tests.frameworks.smoke import run_script  # noqa: E402


def make_collector(num_envs: int, seed: int, **kwargs: Any) -> Any:
    """A collector that draws from the masks, and its vector environment."""
    from tianshou.algorithm.random import MARLRandomDiscreteMaskedOffPolicyAlgorithm
    from tianshou.data import Collector, VectorReplayBuffer
    from tianshou.env import DummyVectorEnv

    np.random.seed(seed)  # noqa: NPY002  # what Tianshou draws from
    envs = DummyVectorEnv([lambda: make_env(**kwargs) for _ in range(num_envs)])
    envs.seed(seed)
    policy = MARLRandomDiscreteMaskedOffPolicyAlgorithm(envs.action_space[0])
    collector = Collector(policy, envs, VectorReplayBuffer(20_000, num_envs))
    collector.reset()
    return collector


@pytest.mark.parametrize("seat", range(4))
@pytest.mark.parametrize("variant", ["international", "turkish_short_pairs"])
def test_rewards_add_up_to_the_scores(variant: str, seat: int) -> None:
    env = make_env(variant=variant, seat=seat, episode="match", opponents="random")
    rng = np.random.default_rng(seat)
    observation, info = env.reset(seed=1)
    total, over = 0.0, False
    while not over:
        action = rng.choice(np.flatnonzero(observation["mask"]))
        observation, reward, over, _, info = env.step(action)
        total += float(reward)
    scores = info["scores"]
    assert total == scores[seat] + (scores[(seat + 2) % 4] if variant.endswith("pairs") else 0)


def test_collectors_deliver_the_scores() -> None:
    collector = make_collector(2, 1, opponents="random")
    stats = collector.collect(n_episode=20)
    buffer = collector.buffer
    ends = buffer.info[np.flatnonzero(buffer.terminated)]
    scores = [info.scores[info.seat] for info in ends]
    assert sorted(scores) == sorted(stats.returns.tolist())
    assert buffer.rew.sum() == sum(scores)


def test_masks() -> None:
    """``KingSeatEnv`` refuses what is not legal."""
    collector = make_collector(16, 2, opponents="random", skip_forced=False)
    collector.collect(n_step=10_000)
    buffer = collector.buffer
    rows = buffer.sample_indices(0)  # all of them
    assert len(rows) >= 10_000
    assert buffer.obs.mask[rows, buffer.act[rows]].all()


def test_same_seed_same_episodes() -> None:
    def acts(seed: int) -> list[int]:
        collector = make_collector(2, seed, opponents="random")
        collector.collect(n_step=200)
        return [*collector.buffer.act.tolist(), *collector.buffer.rew.tolist()]

    assert acts(3) == acts(3) != acts(4)


def test_script(tmp_path: Path) -> None:
    run_script("tianshou", tmp_path)
