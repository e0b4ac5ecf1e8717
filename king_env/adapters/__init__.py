"""King in other frameworks, one file a framework. Each is imported only when it is asked for.

An adapter translates names and holds no rule. ``king_env`` itself imports none of them, and none of
the frameworks is needed for anything else.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

EXTRAS: Final = {
    "agilerl": "agilerl",
    "open_spiel": "frameworks",
    "pyspiel": "frameworks",
    "ray.rllib": "rllib",
    "rlcard": "frameworks",
    "sb3_contrib": "frameworks",
    "skrl": "frameworks",
    "stable_baselines3": "frameworks",
    "tianshou": "frameworks",
    "torchrl": "frameworks",
}
"""The extra of ``king-env`` that installs a framework, by the name it is imported under."""

MASKED: Final = -1e9
"""Logit of an action that is not legal: finite, or entropies are NaN."""


class FrameworkMissingError(ImportError):
    """A framework that is not installed; the message is one line with the command that helps."""


def framework(module: str) -> Any:
    """Returns a module of a framework.

    Raises:
        FrameworkMissingError: if the framework is not installed.
    """
    names = [key for key in EXTRAS if module == key or module.startswith(f"{key}.")]
    name = names[0] if names else module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        # RLlib is a part of a package that may be there without what this part needs. Otherwise the
        # framework is there, and a part of it, or something that it needs, is not.
        if "." not in name and error.name != name:
            raise
        extra = EXTRAS[name]
        raise FrameworkMissingError(
            f"{name} is not installed: pip install 'king-env[{extra}]'", name=name
        ) from None


__all__ = ["EXTRAS", "MASKED", "FrameworkMissingError", "framework"]
