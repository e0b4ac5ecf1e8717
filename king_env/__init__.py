"""King, the family of trick-taking card games, as a reinforcement-learning environment.

>>> from king_env import king_v0
>>> env = king_v0.env(variant="international")
>>> env.reset(seed=1)
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from king_env import king_v0
    from king_env.envs.batch import BatchEnv
    from king_env.game import Game, IllegalActionError
    from king_env.rules.catalogue import VariantError, load_variant, variant_names

__version__ = "0.1.0"

__all__ = [
    "BatchEnv",
    "Game",
    "IllegalActionError",
    "VariantError",
    "king_v0",
    "load_variant",
    "variant_names",
]

_HOMES = {
    "BatchEnv": "king_env.envs.batch",
    "Game": "king_env.game",
    "IllegalActionError": "king_env.game",
    "VariantError": "king_env.rules.catalogue",
    "load_variant": "king_env.rules.catalogue",
    "variant_names": "king_env.rules.catalogue",
}


def __getattr__(name: str) -> Any:
    """Imports public names when they are first used, so that listing variants needs no numba."""
    from importlib import import_module

    if name == "king_v0":
        return import_module("king_env.king_v0")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'king_env' has no attribute {name!r}")


if "gymnasium" in sys.modules:
    # A convenience: who does without Gymnasium is spared its import; king_v0 registers always.
    from king_env.envs.gymnasium_ids import register as _register

    _register()
