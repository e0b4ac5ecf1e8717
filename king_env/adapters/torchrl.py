"""King for TorchRL: ``make_env()`` gives an ``EnvBase``, one step a decision, all seats in a group.

Under ``player`` each entry has the four seats as its first dimension: ``("player", "observation",
"observation")`` `[4, F]`, ``("player", "action_mask")`` `[4, A]` and ``("player", "mask")`` `[4]`,
true for the seat to act. Only its action counts; the mask of the others is all true, so that a
masked distribution has something to draw. ``("next", "player", "reward")`` pays every seat whenever
points are scored, so returns along time, by seat, are right with a discount of 1. ``acting`` picks
the rows that were decisions.
"""

from __future__ import annotations

import warnings
from typing import Any, Final

from king_env import king_v0
from king_env.adapters import framework
from king_env.envs.core import AGENTS

_pettingzoo: Any = framework("torchrl.envs.libs.pettingzoo")

GROUP: Final = "player"
OBSERVATION: Final = (GROUP, "observation", "observation")
ACTION: Final = (GROUP, "action")
ACTION_MASK: Final = (GROUP, "action_mask")


def make_env(seed: int | None = None, **kwargs: Any) -> Any:
    """Returns King as a TorchRL environment.

    Args:
        seed: seed of the deals; later episodes are the next ones under this seed.
        **kwargs: as ``king_v0.raw_env``: ``variant``, ``episode``, ``start``, ...
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PettingZoo in TorchRL is tested")
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return _pettingzoo.PettingZooWrapper(
            king_v0.raw_env(**kwargs),
            use_mask=True,
            group_map={GROUP: list(AGENTS)},
            seed=seed,
            categorical_actions=True,
        )


def acting(data: Any) -> Any:
    """Returns the decisions of a rollout `[..., T]` as one tensordict `[M]`, keys without group."""
    seats = data.get(GROUP)
    return seats[seats.get("mask")]
