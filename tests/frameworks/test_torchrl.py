"""King in TorchRL: its own checks, rewards, masks, seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torchrl: Any = pytest.importorskip("torchrl", reason="torchrl is not installed")

from king_env.adapters.torchrl import ACTION, ACTION_MASK, GROUP, acting, make_env  # noqa: E402
from tests.frameworks.smoke import run_script  # noqa: E402


def test_torchrl_s_own_check() -> None:
    from torchrl.envs.utils import check_env_specs

    check_env_specs(make_env(1, episode="deal"))


@pytest.mark.parametrize("variant", ["international", "rifki", "turkish_short_pairs"])
def test_rewards_add_up_to_the_scores(variant: str) -> None:
    env = make_env(2, variant=variant)
    rollout = env.rollout(10_000)
    assert rollout["next", "done"][-1].all() and not rollout["next", "done"][:-1].any()
    sums = rollout["next", GROUP, "reward"].sum(0).flatten()
    scores = np.array(env.game.scores)
    if variant.endswith("pairs"):
        scores = scores + scores[[2, 3, 0, 1]]
    assert sums.tolist() == scores.tolist()


def test_masks() -> None:
    """The random policy draws from the masks; ``raw_env`` refuses what is not legal."""
    env = make_env(3)
    decisions = 0
    while decisions < 10_000:
        rollout = env.rollout(10_000)
        own = acting(rollout)
        assert (rollout[GROUP, "mask"].sum(1) == 1).all() and len(own) == len(rollout)
        taken = rollout[ACTION_MASK].gather(-1, rollout[ACTION][..., None])
        assert taken[rollout[GROUP, "mask"]].all()
        decisions += len(own)


def test_same_seed_same_episode() -> None:
    import torch

    def episode(seed: int) -> Any:
        torch.manual_seed(0)
        return make_env(seed, episode="deal").rollout(10_000)

    assert (episode(5) == episode(5)).all()
    assert episode(5).shape != episode(6).shape or not (episode(5) == episode(6)).all()
    env = make_env(episode="deal")
    env.set_seed(5)
    torch.manual_seed(0)
    first = env.rollout(1)
    assert (first[GROUP, "observation"] == episode(5)[:1][GROUP, "observation"]).all()


def test_script(tmp_path: Path) -> None:
    run_script("torchrl", tmp_path)
