"""Many learners' seats at once for frameworks that know one learner: what their adapters share."""

from __future__ import annotations

from typing import Any

import gymnasium

from king_env.envs.vector import KingSeatVectorEnv


def make_seats(num_envs: int, scale_rewards: bool, **kwargs: Any) -> Any:
    """Returns a Gymnasium ``VectorEnv`` of seats, each against opponents, in one batched engine.

    A game that has ended begins anew in the same step, so that every step is a decision and every
    mask has a legal action.

    Args:
        num_envs: number of games.
        scale_rewards: divide rewards by the points of a mean deal, for learning.
        **kwargs: as ``KingSeatVectorEnv``: ``variant``, ``opponents``, ``seat``, ``episode``, ...
    """
    env = KingSeatVectorEnv(
        num_envs, autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP, **kwargs
    )
    if not scale_rewards:
        return env
    scale = env.point_scale.astype(float)
    return gymnasium.wrappers.vector.TransformReward(env, lambda rewards: rewards / scale)
