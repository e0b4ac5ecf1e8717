"""AgileRL's PPO in one seat against random, then our own evaluation.

``python -m train.frameworks.agilerl --seconds 120``
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from agilerl.algorithms import PPO

from king_env.adapters.agilerl import collect, make_vec
from train.evaluation.duplicate import Evaluation
from train.frameworks.common import VARIANT, Run

NUM_ENVS = 64
PERCEPTRON = {
    "latent_dim": 128,
    "encoder_config": {"hidden_size": [128], "layer_norm": False},
    "head_config": {"hidden_size": [64], "layer_norm": False},
}


def main(argv: Sequence[str] | None = None) -> Evaluation:
    """Trains and evaluates."""
    run = Run.read("agilerl", 120, 2, argv)
    torch.set_num_threads(1)
    torch.manual_seed(run.seed)
    np.random.seed(run.seed)  # noqa: NPY002  # AgileRL shuffles with it
    env = make_vec(NUM_ENVS, scale_rewards=True, variant=VARIANT, opponents="random")
    learner = PPO(
        env.single_observation_space,
        env.single_action_space,
        num_envs=NUM_ENVS,
        net_config=PERCEPTRON,
        normalize_images=False,
        lr=1e-3,
        gamma=1.0,
        gae_lambda=0.9,
        learn_step=32 * NUM_ENVS,
        batch_size=256,
    )
    env.reset(seed=run.seed)
    now: tuple[object, ...] = ()
    while run.goes_on():
        _, now = collect(learner, env, now)
        learner.learn()
    return run.finish(learner.actor)


if __name__ == "__main__":
    main()
