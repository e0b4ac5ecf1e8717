"""An average over the weights of a run's last iterations: what plays, while the weights learn."""

from __future__ import annotations

import torch
from torch import nn


def move_towards(average: nn.Module, network: nn.Module, decay: float) -> None:
    """Moves an average towards the weights of a network: ``a <- decay a + (1 - decay) w``.

    Args:
        average: a network of the same shape, changed in place.
        network: the network.
        decay: part of the average that stays.
    """
    with torch.no_grad():
        for mean, weight in zip(average.parameters(), network.parameters(), strict=True):
            mean.lerp_(weight, 1 - decay)
