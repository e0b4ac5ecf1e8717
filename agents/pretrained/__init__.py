"""Networks that ship: two files of a checkpoint each, and a model card beside them."""

from __future__ import annotations

from importlib.resources import as_file, files
from importlib.resources.abc import Traversable

from agents.ids import RELEASED
from agents.neural.policy import NeuralPolicy
from agents.neural.weights import CheckpointError, load_weights


def folder() -> Traversable:
    """Returns the folder of the installed package that holds the networks."""
    return files(__name__)


def load_released(name: str, sample: bool = False) -> NeuralPolicy:
    """Returns a network that ships, as an agent.

    Args:
        name: a key of ``RELEASED``.
        sample: draw actions from the policy instead of taking the most likely one.

    Raises:
        CheckpointError: if it is not in the installed package, or broken.
    """
    file = f"{RELEASED[name]}.safetensors"
    if not folder().joinpath(file).is_file():
        raise CheckpointError(
            f"agent {name!r}: this version ships no network ({file} is missing); train one with "
            "`king train` and name its run folder instead"
        )
    with as_file(folder()) as path:
        return NeuralPolicy(load_weights(path / file), sample, name=name)
