"""Makes the environments known to PettingZoo's registries, where the installed version has them."""

from __future__ import annotations

from typing import Final

import pettingzoo

ENV_ID: Final = "king/king-v0"


def register() -> None:
    """Registers ``king/king-v0``: ``pettingzoo.make("aec", "king/king-v0", variant=...)``.

    ``pettingzoo.make("parallel", ...)`` gives the parallel environment of the same name.
    """
    register_env = getattr(pettingzoo, "register", None)
    if register_env is not None:  # PettingZoo 1.27 and newer
        register_env("aec", ENV_ID, "king_env.king_v0:env")
        register_env("parallel", ENV_ID, "king_env.king_v0:parallel_env")
