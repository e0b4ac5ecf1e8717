"""sb3-contrib's MaskablePPO in one seat against random, then our own evaluation.

``python -m train.frameworks.sb3 --seconds 120``
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from sb3_contrib import MaskablePPO
from torch import nn

from king_env.adapters.sb3 import KingSb3VecEnv
from train.evaluation.duplicate import Evaluation
from train.frameworks.common import VARIANT, Run

NUM_ENVS = 64
ROLLOUT = 32


def main(argv: Sequence[str] | None = None) -> Evaluation:
    """Trains and evaluates."""
    run = Run.read("sb3", 120, 2, argv)
    torch.set_num_threads(1)
    env = KingSb3VecEnv(NUM_ENVS, scale_rewards=True, variant=VARIANT, opponents="random")
    learner = MaskablePPO(
        "MlpPolicy",
        env,
        seed=run.seed,
        n_steps=ROLLOUT,
        batch_size=256,
        n_epochs=4,
        learning_rate=1e-3,
        gamma=1.0,
        gae_lambda=0.9,
        ent_coef=0.01,
        policy_kwargs={"net_arch": [128], "activation_fn": nn.ReLU},
        device="cpu",
    )
    while run.goes_on():  # one rollout and its update; the games go on
        learner.learn(NUM_ENVS * ROLLOUT, log_interval=None, reset_num_timesteps=False)
    policy = learner.policy
    return run.finish(nn.Sequential(policy.mlp_extractor.policy_net, policy.action_net))


if __name__ == "__main__":
    main()
