"""King for Tianshou 2: one learner's seat, with observations as its masks want them.

``make_env`` is ``KingSeatEnv`` whose observation is ``{"obs": [F] float32, "mask": [A] bool}``: the
DQN family masks by itself where an observation has a ``mask``; other policies have to mask in their
network. Opponents are agents, so what the other seats do lies between two steps of the learner.

Tianshou's own multi-agent classes stack the seats' decisions in one buffer: there the next
observation of a decision is another seat's, and what a seat is paid while others play is not
counted to its decision. They are not used here.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import gymnasium
from gymnasium import spaces

from king_env.adapters import framework
from king_env.engine.actions import NUM_ACTIONS
from king_env.envs.seat import KingSeatEnv

framework("tianshou")

_Wrapper: TypeAlias = gymnasium.ObservationWrapper[Any, Any, Any]


class KingTianshouEnv(_Wrapper):
    """One seat against opponents, see the head of this file.

    Args:
        **kwargs: as ``KingSeatEnv``: ``variant``, ``opponents``, ``seat``, ``episode``, ...
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(KingSeatEnv(**kwargs))
        inner: Any = self.env.observation_space
        self.observation_space = spaces.Dict(
            {"obs": inner["observation"], "mask": spaces.MultiBinary(NUM_ACTIONS)}
        )

    def observation(self, observation: Any) -> dict[str, Any]:
        """Returns the observation under Tianshou's names."""
        return {"obs": observation["observation"], "mask": observation["action_mask"].astype(bool)}


def make_env(scale_rewards: bool = False, **kwargs: Any) -> gymnasium.Env[Any, Any]:
    """Returns one seat of King for Tianshou's collectors and vector environments.

    Args:
        scale_rewards: divide rewards by the points of a mean deal, for learning.
        **kwargs: as ``KingSeatEnv``.
    """
    env = KingTianshouEnv(**kwargs)
    if not scale_rewards:
        return env
    scale = float(env.get_wrapper_attr("point_scale"))
    return gymnasium.wrappers.TransformReward(env, lambda reward: float(reward) / scale)
