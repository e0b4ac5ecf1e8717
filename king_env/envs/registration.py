"""Makes the environment known to PettingZoo's registry, where the installed version has one."""

from __future__ import annotations

from typing import Final

import pettingzoo

AEC_ID: Final = "king/king-v0"


def register() -> None:
    """Registers ``king/king-v0``: ``pettingzoo.make("aec", "king/king-v0", variant=...)``."""
    register_env = getattr(pettingzoo, "register", None)
    if register_env is not None:  # PettingZoo 1.27 and newer
        register_env("aec", AEC_ID, "king_env.king_v0:env")
