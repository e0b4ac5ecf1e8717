"""King in RLCard: rewards, masks, seeds, step_back, agents both ways."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

rlcard: Any = pytest.importorskip("rlcard", reason="rlcard is not installed")

from agents.registry import make_agent  # noqa: E402
from king_env.adapters.rlcard import ENV_ID, KingAgent, RlcardAgent, transitions  # noqa: E402
from tests.frameworks.smoke import run_script  # noqa: E402
from tests.playing import SHIPPED  # noqa: E402
from train.evaluation.duplicate import evaluate  # noqa: E402


def make(variant: str = "international", **config: Any) -> Any:
    from rlcard.agents.random_agent import RandomAgent

    env = rlcard.make(ENV_ID, config={"variant": variant, "seed": 1} | config)
    env.set_agents([RandomAgent(env.num_actions)] * env.num_players)
    return env


@pytest.mark.parametrize("variant", SHIPPED)
def test_rewards_add_up_to_the_scores(variant: str) -> None:
    env = make(variant, episode="match")
    trajectories, payoffs = env.run(is_training=True)
    sums = [sum(step[2] for step in transitions(trajectory)) for trajectory in trajectories]
    scores = np.array(env.game.king.scores)
    if variant.endswith("pairs"):
        scores = scores + scores[[2, 3, 0, 1]]
    assert sums == payoffs.tolist() == scores.tolist()


def test_masks() -> None:
    env = make()
    rng = np.random.default_rng(1)
    decisions = 0
    while decisions < 10_000:
        state, player = env.reset()
        while not env.is_over():
            legal = list(state["legal_actions"])
            assert legal == env.game.king.legal_actions and player == env.game.king.actor
            state, player = env.step(rng.choice(legal))
            decisions += 1


def test_same_seed_same_episode() -> None:
    def episode(seed: int) -> Any:
        env = make(seed=seed, episode="match")
        np.random.seed(3)  # noqa: NPY002  # what RLCard's agents draw from
        return env.run()[1].tolist()

    assert episode(4) == episode(4) != episode(5)


def test_step_back() -> None:
    env = make(allow_step_back=True)
    first, _ = env.reset()
    env.step(next(iter(first["legal_actions"])))
    state, _ = env.step_back()
    assert np.array_equal(state["obs"], first["obs"])
    assert env.step_back() is False


def test_agents_both_ways() -> None:
    from rlcard.agents.random_agent import RandomAgent

    env = make()
    env.set_agents([KingAgent(make_agent("rule")), *[RandomAgent(env.num_actions)] * 3])
    payoffs = np.mean([env.run()[1] for _ in range(50)], axis=0)
    assert payoffs[0] > payoffs[1:].max()
    agent = RlcardAgent("rlcard random", RandomAgent(env.num_actions))
    assert evaluate(agent, "random", deals=2).deals == 2


def test_script(tmp_path: Path) -> None:
    run_script("rlcard", tmp_path)
