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

import numpy as np

from king_env.adapters import framework
from king_env.adapters.seats import make_seats

_rollouts: Any = framework("agilerl.rollouts")


def make_vec(num_envs: int, scale_rewards: bool = False, **kwargs: Any) -> Any:
    """Returns seats of King for AgileRL; arguments as ``make_seats``."""
    return make_seats(num_envs, scale_rewards, obs_format="flat", **kwargs)


def collect(
    learner: Any, env: Any, now: tuple[Any, ...] = ()
) -> tuple[list[float], tuple[Any, ...]]:
    """Plays a rollout into the buffer of an AgileRL PPO, with advantages that end with the episode.

    ``collect_rollouts`` stores with each step whether it ended its episode, but AgileRL 2.58 reads
    the flag one step late when it computes advantages: what the last decision is paid would not
    reach the ones before, and values would leak from one episode into the next. They are computed
    again here with the flags where they are read.

    Args:
        learner: a PPO that is not recurrent, whose ``num_envs`` is that of the environment.
        env: what ``make_vec`` gave.
        now: what the last call returned second; empty for the first, which resets.

    Returns:
        Scores of the episodes that ended, and what the next call takes.
    """
    names = ("last_obs", "last_done", "last_scores", "last_info")
    scores, *after = _rollouts.collect_rollouts(learner, env, **dict(zip(names, now, strict=False)))
    ended = learner.rollout_buffer.buffer["dones"]
    began = ended.clone()
    began[0] = False
    began[1:] = ended[:-1]
    learner.rollout_buffer.buffer["dones"] = began
    observation, done, _, info = after
    values = learner.get_action(observation, action_mask=info["action_mask"])[3]
    learner.rollout_buffer.compute_returns_and_advantages(np.asarray(values), done)
    return scores, tuple(after)
