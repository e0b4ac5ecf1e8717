"""Returns and advantages along the trajectory of each seat.

Axes: D decisions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from king_env.engine.jit import kernel

Float = npt.NDArray[np.float32]


@kernel
def _gae(reward: Any, value: Any, following: Any, decay: float, advantage: Any) -> None:
    for i in range(reward.shape[0] - 1, -1, -1):
        after = following[i]
        if after < 0:
            advantage[i] = reward[i] - value[i]
        else:
            ahead = value[after] + np.float32(decay) * advantage[after]
            advantage[i] = reward[i] - value[i] + ahead


def gae(reward: Float, value: Float, following: npt.NDArray[np.int32], gae_lambda: float) -> Float:
    """Returns generalised advantage estimates with discount 1.

    ``A_t = delta_t + lambda A_{t+1}``, ``delta_t = r_t + V(s_{t+1}) - V(s_t)``, where t + 1 is the
    same seat's next decision, and nothing follows its last one. The return, which the value head
    learns, is ``A_t + V(s_t)``. Source: Schulman et al. 2016, "High-dimensional continuous control
    using generalized advantage estimation", equations 11, 12 and 16, with gamma = 1.

    Args:
        reward: `[D]` float32, what the seat was paid between this decision and its next.
        value: `[D]` float32, value estimates.
        following: `[D]` int32, index of the same seat's next decision, which is larger, or -1.
        gae_lambda: lambda; 1 gives the whole return, 0 one step.

    Returns:
        `[D]` float32.
    """
    advantage = np.empty_like(reward)
    _gae(reward, value, following, gae_lambda, advantage)
    return advantage
