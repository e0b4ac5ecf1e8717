"""skrl's PPO in one seat against random, then our own evaluation.

``python -m train.frameworks.skrl --seconds 120``
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import torch
from skrl.agents.torch.ppo import PPO
from skrl.memories.torch import RandomMemory
from skrl.trainers.torch import SequentialTrainer
from skrl.utils import set_seed

from king_env.adapters.skrl import MaskedPolicy, Value, make_env
from train.evaluation.duplicate import Evaluation
from train.frameworks.common import VARIANT, Run

NUM_ENVS = 64
ROLLOUT = 32


def main(argv: Sequence[str] | None = None) -> Evaluation:
    """Trains and evaluates."""
    run = Run.read("skrl", 120, 2, argv)
    logging.getLogger("skrl").setLevel(logging.WARNING)
    torch.set_num_threads(1)
    set_seed(run.seed)
    env = make_env(NUM_ENVS, scale_rewards=True, variant=VARIANT, opponents="random")
    policy = MaskedPolicy(env)
    learner = PPO(
        models={"policy": policy, "value": Value(env)},
        memory=RandomMemory(memory_size=ROLLOUT, num_envs=NUM_ENVS),
        observation_space=env.observation_space,
        action_space=env.action_space,
        cfg={
            "rollouts": ROLLOUT,
            "learning_epochs": 4,
            "mini_batches": 8,
            "learning_rate": 1e-3,
            "discount_factor": 1.0,
            "gae_lambda": 0.9,
            "entropy_loss_scale": 0.01,
            "value_loss_scale": 0.5,
            "experiment": {"write_interval": 0, "checkpoint_interval": 0},
        },
    )
    trainer = SequentialTrainer(
        env=env,
        agents=learner,
        cfg={"timesteps": ROLLOUT, "headless": True, "disable_progressbar": True},
    )
    while run.goes_on():
        trainer.train()  # one rollout and its update; the games go on
    return run.finish(policy.network)


if __name__ == "__main__":
    main()
