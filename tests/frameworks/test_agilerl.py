"""King in AgileRL: rewards and masks through its rollouts, seeds, the script."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("agilerl", reason="agilerl is not installed")

from king_env.adapters.agilerl import collect, make_vec
from tests.frameworks.seats import check_rewards, check_seed
from tests.frameworks.smoke import run_script

pytestmark = pytest.mark.filterwarnings("ignore:TensorDict.to_module:FutureWarning")


@pytest.mark.parametrize("variant", ["international", "rifki", "turkish_short_pairs"])
def test_rewards_add_up_to_the_scores(variant: str) -> None:
    check_rewards(make_vec(4, variant=variant, episode="match", opponents="random"), variant)


def test_same_seed_same_episodes() -> None:
    check_seed(lambda: make_vec(4, opponents="random"))


def make_agent(env: Any, num_envs: int, learn_step: int, **settings: float) -> Any:
    from agilerl.algorithms import PPO

    return PPO(
        env.single_observation_space,
        env.single_action_space,
        num_envs=num_envs,
        learn_step=learn_step,
        **settings,
    )


def test_masks() -> None:
    env = make_vec(16, opponents="random", skip_forced=False)
    agent = make_agent(env, 16, 10_016)
    collect(agent, env)
    batch = agent.rollout_buffer.get_tensor_batch()
    assert len(batch) >= 10_000
    assert batch["action_masks"].gather(1, batch["actions"].long().view(-1, 1)).all()


def test_returns_are_the_scores_of_their_own_deal() -> None:
    """With lambda 1 a return is what is paid from a decision to the end of its deal."""
    env = make_vec(4, opponents="random")
    agent = make_agent(env, 4, 400, gamma=1.0, gae_lambda=1.0)
    ended: list[float] = []
    step = env.step

    def watch(actions: Any) -> Any:
        result = step(actions)
        final = result[4].get("final_info", {})
        for row in np.flatnonzero(result[2]):
            ended.append(float(final["scores"][row, final["seat"][row]]))
        return result

    env.step = watch
    scores, _ = collect(agent, env)
    assert len(scores) > 20 and [float(score) for score in scores] == ended
    kept = agent.rollout_buffer.buffer
    returns, rewards = np.asarray(kept["returns"]), np.asarray(kept["rewards"])
    began = np.asarray(kept["dones"])
    for slot in range(4):
        first = [0, *np.flatnonzero(began[:, slot])]
        for start, stop in pairwise(first):
            assert returns[start, slot] == pytest.approx(rewards[start:stop, slot].sum(), abs=1e-3)


def test_script(tmp_path: Path) -> None:
    run_script("agilerl", tmp_path)
