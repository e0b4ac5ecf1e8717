"""The ids of Gymnasium's registry; importing this costs nothing, registering imports Gymnasium."""

from __future__ import annotations

from typing import Final

SEAT_ID: Final = "king/KingSeat-v0"


def register() -> None:
    """Registers ``king/KingSeat-v0``, single and batched; a second call does nothing."""
    import gymnasium

    if SEAT_ID not in gymnasium.registry:
        gymnasium.register(
            SEAT_ID,
            entry_point="king_env.envs.seat:KingSeatEnv",
            vector_entry_point="king_env.envs.vector:KingSeatVectorEnv",
        )
