"""OpenSpiel's DQN in seat 0 against its uniform random bots, then our own evaluation.

``python -m train.frameworks.open_spiel --seconds 120``
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from open_spiel.python import rl_environment
from open_spiel.python.pytorch.dqn import DQN

from king_env.adapters.open_spiel import KingGame, SeatRewards
from train.evaluation.duplicate import Evaluation
from train.frameworks.common import NUM_ACTIONS, NUM_FEATURES, POINT_SCALE, VARIANT, Run


def main(argv: Sequence[str] | None = None) -> Evaluation:
    """Trains and evaluates."""
    run = Run.read("open_spiel", 120, 20, argv)
    rng = np.random.default_rng(run.seed)
    torch.set_num_threads(1)
    game = KingGame({"variant": VARIANT, "episode": "deal"})
    env = rl_environment.Environment(
        game, observation_type=rl_environment.ObservationType.OBSERVATION
    )
    env.seed(run.seed)
    learner = DQN(
        0,
        NUM_FEATURES,
        NUM_ACTIONS,
        hidden_layers_sizes=[128],
        replay_buffer_capacity=20_000,
        batch_size=64,
        learning_rate=1e-3,
        optimizer_str="adam",
        loss_str="huber",
        learn_every=4,
        min_buffer_size_to_learn=100 if run.smoke else 1000,
        update_target_network_every=200,
        epsilon_decay_duration=2000,
        epsilon_end=0.05,
        seed=run.seed,
    )
    rewards = SeatRewards(POINT_SCALE)
    while run.goes_on():
        step = rewards.read(env.reset())
        while not step.last():
            player = step.current_player()
            if player == 0:
                action = learner.step(step).action
            else:
                action = rng.choice(step.observations["legal_actions"][player])
            step = rewards.read(env.step([action]))
        learner.step(step)
    return run.finish(learner._q_network)


if __name__ == "__main__":
    main()
