"""A pull of the policy towards where PPO started, so that it does not forget what it was taught.

Source: Sokota et al. 2023, "A unified approach to reinforcement learning, quantal response
equilibria, and two-player zero-sum games", section 3: a divergence from a magnet policy.

Axes: N decisions of a minibatch, A actions.
"""

from __future__ import annotations

from torch import Tensor


def divergence(log_prob_NA: Tensor, magnet_log_prob_NA: Tensor) -> Tensor:
    """Returns ``KL(policy || magnet)`` of each decision, `[N]`, in nats.

    Illegal actions have log-probabilities of about -1e9 in both and count nothing.
    """
    probability_NA = log_prob_NA.clamp_min(-80).exp()
    difference_NA = (log_prob_NA - magnet_log_prob_NA).clamp(-80, 80)
    return (probability_NA * difference_NA).sum(1)
