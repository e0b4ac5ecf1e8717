"""RLCard's DQN by self-play, one network in all four seats, then our own evaluation.

``python -m train.frameworks.rlcard --seconds 120``
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence

import rlcard
import torch
from rlcard.agents.dqn_agent import DQNAgent
from rlcard.utils import set_seed

from king_env.adapters.rlcard import ENV_ID, transitions
from train.evaluation.duplicate import Evaluation
from train.frameworks.common import NUM_ACTIONS, NUM_FEATURES, POINT_SCALE, VARIANT, Run


def main(argv: Sequence[str] | None = None) -> Evaluation:
    """Trains and evaluates."""
    run = Run.read("rlcard", 120, 5, argv)
    torch.set_num_threads(1)
    set_seed(run.seed)
    env = rlcard.make(ENV_ID, config={"seed": run.seed, "variant": VARIANT, "episode": "deal"})
    learner = DQNAgent(
        num_actions=NUM_ACTIONS,
        state_shape=[NUM_FEATURES],
        mlp_layers=[128],
        replay_memory_init_size=100 if run.smoke else 1000,
        epsilon_decay_steps=10_000,
        epsilon_end=0.05,
        train_every=4,
        batch_size=64,
        learning_rate=5e-4,
        discount_factor=1.0,
        update_target_estimator_every=200,
        device=torch.device("cpu"),
    )
    env.set_agents([learner] * 4)
    while run.goes_on():
        trajectories, _ = env.run(is_training=True)
        with contextlib.redirect_stdout(io.StringIO()):  # it prints the loss of every update
            for trajectory in trajectories:
                for transition in transitions(trajectory, POINT_SCALE):
                    learner.feed(transition)
    return run.finish(learner.q_estimator.qnet)


if __name__ == "__main__":
    main()
