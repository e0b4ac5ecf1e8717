"""RLCard's DQN in seat 0 against its random agents, then our own evaluation.

``python -m train.frameworks.rlcard --seconds 120``
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence

import rlcard
import torch
from rlcard.agents.dqn_agent import DQNAgent
from rlcard.agents.random_agent import RandomAgent
from rlcard.utils import set_seed

from king_env.adapters.rlcard import ENV_ID, transitions
from train.evaluation.duplicate import Evaluation
from train.frameworks.common import NUM_ACTIONS, NUM_FEATURES, POINT_SCALE, VARIANT, Run


def main(argv: Sequence[str] | None = None) -> Evaluation:
    """Trains and evaluates."""
    run = Run.read("rlcard", 120, 20, argv)
    torch.set_num_threads(1)
    set_seed(run.seed)
    env = rlcard.make(ENV_ID, config={"seed": run.seed, "variant": VARIANT, "episode": "deal"})
    learner = DQNAgent(
        num_actions=NUM_ACTIONS,
        state_shape=[NUM_FEATURES],
        mlp_layers=[128],
        replay_memory_init_size=100 if run.smoke else 1000,
        epsilon_decay_steps=4000,
        epsilon_end=0.05,
        batch_size=64,
        learning_rate=5e-4,
        discount_factor=1.0,
        update_target_estimator_every=500,
        device=torch.device("cpu"),
    )
    for estimator in (learner.q_estimator, learner.target_estimator):
        # Its batch normalization blows up features that are rarely 1: nothing is learned with it.
        estimator.qnet.fc_layers[1] = torch.nn.Identity()
    env.set_agents([learner, *[RandomAgent(NUM_ACTIONS)] * 3])
    while run.goes_on():
        trajectories, _ = env.run(is_training=True)
        with contextlib.redirect_stdout(io.StringIO()):  # it prints the loss of every update
            for transition in transitions(trajectories[0], POINT_SCALE):
                learner.feed(transition)
    return run.finish(learner.q_estimator.qnet)


if __name__ == "__main__":
    main()
