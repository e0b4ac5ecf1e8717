"""PPO by self-play in one file, in the style of CleanRL: no framework, nothing hidden.

``python -m train.frameworks.cleanrl --seconds 120``

One network plays all four seats of N games at once. Each round plays N deals to the end, so that
nothing is bootstrapped; ``advantages`` tells the trajectories of a game's four seats apart.

Axes: N games, M games in play, F features, A actions, B decisions of a round.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from king_env import BatchEnv
from king_env.engine.observe import features
from train.evaluation.duplicate import Evaluation
from train.frameworks.common import NUM_ACTIONS, NUM_FEATURES, POINT_SCALE, VARIANT, Run

NUM_GAMES = 256
EPOCHS = 2
MINIBATCH = 1024
GAE_LAMBDA = 0.9
CLIP = 0.2
ENTROPY = 0.01
LEARNING_RATE = 1e-3


class Network(nn.Module):
    """Two perceptrons, for logits and values."""

    def __init__(self) -> None:
        super().__init__()
        self.actor = nn.Sequential(
            nn.Linear(NUM_FEATURES, 128), nn.ReLU(), nn.Linear(128, NUM_ACTIONS)
        )
        self.critic = nn.Sequential(nn.Linear(NUM_FEATURES, 128), nn.ReLU(), nn.Linear(128, 1))

    def forward(
        self, seen: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.distributions.Categorical, torch.Tensor]:
        """Returns the policy over legal actions, and values `[B]`."""
        logits = self.actor(seen)
        # The finite minimum: an infinite one makes the entropy NaN.
        logits = torch.where(mask, logits, torch.finfo(logits.dtype).min)
        policy = torch.distributions.Categorical(logits=logits, validate_args=False)
        return policy, self.critic(seen).squeeze(-1)


def advantages(
    rows: list[npt.NDArray[np.int64]],
    seats: list[npt.NDArray[np.int64]],
    values: list[npt.NDArray[np.float32]],
    rewards: list[npt.NDArray[np.float32]],
) -> npt.NDArray[np.float32]:
    """Returns the advantages of all decisions, in the order they were made: `[B]`.

    Args:
        rows: for each step the games in play, `[M]`.
        seats: for each step the seat to act in each, `[M]`.
        values: for each step what the critic gave, `[M]`.
        rewards: for each step what it paid, `[N, 4]`: to all four seats, whoever acted.
    """
    shape = rewards[0].shape
    owed = np.zeros(shape, dtype=np.float32)  # paid since a seat's later decision, going back
    next_value = np.zeros(shape, dtype=np.float32)  # of that decision; 0 after the last
    next_advantage = np.zeros(shape, dtype=np.float32)
    found = []
    for row, seat, value, reward in zip(rows[::-1], seats[::-1], values[::-1], rewards[::-1]):  # noqa: B905
        owed += reward
        advantage = owed[row, seat] + next_value[row, seat] - value
        advantage += GAE_LAMBDA * next_advantage[row, seat]
        owed[row, seat] = 0
        next_value[row, seat] = value
        next_advantage[row, seat] = advantage
        found.append(advantage)
    return np.concatenate(found[::-1])


def main(argv: Sequence[str] | None = None) -> Evaluation:
    """Trains and evaluates."""
    run = Run.read("cleanrl", 120, 2, argv)
    torch.set_num_threads(1)
    torch.manual_seed(run.seed)
    env = BatchEnv(VARIANT, NUM_GAMES, seed=run.seed, obs="dense", skip_forced=True)
    network = Network()
    optimizer = torch.optim.Adam(network.parameters(), LEARNING_RATE)
    numbers = np.arange(NUM_GAMES, dtype=np.int64)
    while run.goes_on():
        # Play: every list has one entry a step.
        rows, seats, values, rewards = [], [], [], []
        seen_all, masks, actions, log_probs = [], [], [], []
        step = env.reset(numbers=numbers)
        numbers = numbers + NUM_GAMES
        while step.rows.size:
            seen = torch.from_numpy(features(step.bits, step.numbers))
            mask = torch.from_numpy(step.mask.astype(bool))
            rows.append(step.rows.copy())
            seats.append(step.seat.copy())
            with torch.no_grad():
                policy, value = network(seen, mask)
                action = policy.sample()
            step = env.step(action.numpy())
            values.append(value.numpy())
            rewards.append((step.reward / POINT_SCALE).astype(np.float32))
            seen_all.append(seen)
            masks.append(mask)
            actions.append(action)
            log_probs.append(policy.log_prob(action))
        # Learn.
        seen, mask = torch.cat(seen_all), torch.cat(masks)
        action, log_prob = torch.cat(actions), torch.cat(log_probs)
        advantage = torch.from_numpy(advantages(rows, seats, values, rewards))
        target = advantage + torch.from_numpy(np.concatenate(values))
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        for _ in range(EPOCHS):
            for part in torch.randperm(len(action)).split(MINIBATCH):  # type: ignore[no-untyped-call]
                policy, value = network(seen[part], mask[part])
                ratio = (policy.log_prob(action[part]) - log_prob[part]).exp()
                gain = ratio * advantage[part]
                clipped = ratio.clamp(1 - CLIP, 1 + CLIP) * advantage[part]
                loss = -torch.min(gain, clipped).mean()
                loss = loss + 0.5 * (value - target[part]).square().mean()
                loss = loss - ENTROPY * policy.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(network.parameters(), 0.5)
                optimizer.step()
    return run.finish(network.actor)


if __name__ == "__main__":
    main()
