"""What the tests of adapters with many learners' seats share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def draw(mask: Any, rng: np.random.Generator) -> Any:
    """Draws a legal action of each row."""
    return (rng.random(mask.shape) * mask).argmax(axis=1)


def check_rewards(env: Any, variant: str) -> None:
    """The sum of what is paid to a learner over an episode is its score."""
    rng = np.random.default_rng(1)
    _, info = env.reset(seed=1)
    sums = np.zeros(env.num_envs)
    ended = 0
    while ended < 2 * env.num_envs:
        _, rewards, over, _, info = env.step(draw(info["action_mask"], rng))
        sums += rewards
        for row in np.flatnonzero(over):
            final = info["final_info"]
            scores, seat = final["scores"][row], int(final["seat"][row])
            team = scores[(seat + 2) % 4] if variant.endswith("pairs") else 0
            assert sums[row] == scores[seat] + team
            sums[row] = 0
            ended += 1


def check_seed(make: Callable[[], Any]) -> None:
    """The same seed gives the same observations and rewards, another one others."""

    def trace(seed: int) -> list[Any]:
        env, rng = make(), np.random.default_rng(1)
        seen, info = env.reset(seed=seed)
        found = []
        for _ in range(40):
            seen, rewards, _, _, info = env.step(draw(info["action_mask"], rng))
            part = seen["observation"] if isinstance(seen, dict) else seen
            found.append((part.sum(), rewards.tolist()))
        return found

    assert trace(3) == trace(3) != trace(4)
