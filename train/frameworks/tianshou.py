"""Tianshou's DQN in one seat against random, then our own evaluation.

``python -m train.frameworks.tianshou --seconds 120``
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.algorithm_base import policy_within_training_step
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.utils.net.common import Net
from tianshou.utils.torch_utils import torch_train_mode

from king_env.adapters.tianshou import make_env
from train.evaluation.duplicate import Evaluation
from train.frameworks.common import NUM_ACTIONS, NUM_FEATURES, VARIANT, Run

NUM_ENVS = 16


def main(argv: Sequence[str] | None = None) -> Evaluation:
    """Trains and evaluates."""
    run = Run.read("tianshou", 120, 3, argv)
    torch.set_num_threads(1)
    torch.manual_seed(run.seed)
    np.random.seed(run.seed)  # noqa: NPY002  # Tianshou explores with it
    envs = DummyVectorEnv(
        [lambda: make_env(True, variant=VARIANT, opponents="random") for _ in range(NUM_ENVS)]
    )
    envs.seed(run.seed)
    network = Net(state_shape=NUM_FEATURES, action_shape=NUM_ACTIONS, hidden_sizes=[128])
    policy = DiscreteQLearningPolicy(
        model=network, action_space=make_env().action_space, eps_training=1.0
    )
    learner = DQN(
        policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=1.0, target_update_freq=200
    )
    buffer = VectorReplayBuffer(50_000, NUM_ENVS)
    collector = Collector(learner, envs, buffer, exploration_noise=True)
    collector.reset()
    while run.goes_on():
        policy.set_eps_training(max(0.05, 1 - 2 * run.progress))
        with policy_within_training_step(policy):
            collector.collect(n_step=NUM_ENVS * 4)
            with torch_train_mode(policy):
                for _ in range(16):
                    learner.update(buffer, 64)
    return run.finish(network)


if __name__ == "__main__":
    main()
