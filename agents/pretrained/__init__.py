"""Networks that ship: two files of a checkpoint each, and a model card beside them."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Final

from agents.ids import RELEASED
from agents.neural.policy import NeuralPolicy
from agents.neural.weights import CheckpointError, load_weights

FOLDER: Final = Path(str(files(__name__)))
"""The folder of the installed package that holds the networks."""


def released_file(name: str) -> Path:
    """Returns the checkpoint of a network that ships.

    Args:
        name: a key of ``RELEASED``.

    Raises:
        CheckpointError: if it is not in the installed package.
    """
    file = FOLDER / f"{RELEASED[name]}.safetensors"
    if not file.is_file():
        raise CheckpointError(
            f"agent {name!r}: this version ships no network ({file.name} is missing); train one "
            "with `king train` and name its run folder instead"
        )
    return file


def load_released(name: str, sample: bool = False) -> NeuralPolicy:
    """Returns a network that ships, as an agent.

    Args:
        name: a key of ``RELEASED``.
        sample: draw actions from the policy instead of taking the most likely one.

    Raises:
        CheckpointError: if it is not in the installed package, or broken.
    """
    return NeuralPolicy(load_weights(released_file(name)), sample, name=name)
