"""King for AgileRL: many learners' seats at once, with the mask where AgileRL looks for it.

``make_vec`` gives a vector environment whose observation is the float vector alone; the masks
`[N, A]` are in ``info["action_mask"]``, from where ``agilerl.rollouts.collect_rollouts`` hands them
to the agent and its rollout buffer. Opponents are agents, so what the other seats do lies between
two steps of the learner.

AgileRL's multi-agent classes act for all agents at every step, whoever's turn it is: they are not
used here.
"""

from __future__ import annotations

from typing import Any

from king_env.adapters import framework
from king_env.adapters.seats import make_seats

framework("agilerl")


def make_vec(num_envs: int, scale_rewards: bool = False, **kwargs: Any) -> Any:
    """Returns seats of King for AgileRL; arguments as ``make_seats``."""
    return make_seats(num_envs, scale_rewards, obs_format="flat", **kwargs)
