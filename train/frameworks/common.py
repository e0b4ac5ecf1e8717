"""What the scripts share: arguments, the network, and its evaluation by our own protocol.

Every script trains a multilayer perceptron on ``international`` deals, and writes it to a file that
``king evaluate`` takes whatever framework made it, without torch:

    king evaluate train.frameworks.common:MlpAgent,path=runs/cleanrl.safetensors --against random
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file, save_file

from king_env.adapters.agent import ScoreAgent
from king_env.engine import observe
from king_env.engine.actions import NUM_ACTIONS
from king_env.rules.catalogue import load_variant, mean_deal_size
from train.evaluation.duplicate import Evaluation, evaluate

VARIANT: Final = "international"
POINT_SCALE: Final = float(mean_deal_size(load_variant(VARIANT).spec))
"""What rewards are divided by for learning: points of a mean deal."""

NUM_FEATURES: Final = observe.NUM_FEATURES
__all__ = ["NUM_ACTIONS", "NUM_FEATURES", "POINT_SCALE", "VARIANT", "MlpAgent", "Run"]


@dataclass
class Run:
    """A run of a script.

    Attributes:
        name: name of the script.
        smoke: train for ``rounds`` rounds only: just enough to see that everything runs.
        rounds: see ``smoke``.
        seconds: time to train.
        seed: seed of weights, deals and exploration.
        out: the file to write.
    """

    name: str
    smoke: bool
    rounds: int
    seconds: float
    seed: int
    out: Path

    @classmethod
    def read(cls, name: str, seconds: float, rounds: int, argv: Sequence[str] | None) -> Run:
        """Reads the arguments of a script; the clock starts."""
        parser = argparse.ArgumentParser(prog=f"python -m train.frameworks.{name}")
        parser.add_argument("--smoke", action="store_true", help="a run of seconds")
        parser.add_argument("--seconds", type=float, default=seconds, help="time to train")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--out", type=Path, default=Path("runs") / f"{name}.safetensors")
        given = parser.parse_args(argv)
        if not given.seconds > 0:
            parser.error(f"--seconds: found {given.seconds:g}; allowed: more than 0")
        return cls(name, given.smoke, rounds, given.seconds, given.seed, given.out)

    def __post_init__(self) -> None:
        """Starts the clock."""
        self.started = time.perf_counter()
        self._begun = 0  # rounds

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    @property
    def progress(self) -> float:
        """Share of the training that is done, 0 to 1; of a smoke run it does not need the clock."""
        done = self._begun / self.rounds if self.smoke else self.elapsed / self.seconds
        return min(done, 1.0)

    def goes_on(self) -> bool:
        """Tells whether there is time for another round of training."""
        if self.progress >= 1:
            return False
        self._begun += 1
        return True

    def finish(self, network: Any) -> Evaluation:
        """Writes a torch network and evaluates it against random; prints one line.

        Args:
            network: a module whose linear layers, in order, are the perceptron.
        """
        trained = self.elapsed
        save_layers(self.out, network)
        agent = MlpAgent(str(self.out))
        agent.name = self.name
        result = evaluate(agent, "random", VARIANT, deals=4 if self.smoke else 500)
        margin = result.margin
        print(
            f"{self.name}: {trained:.0f} s of training; against random {margin.mean:+.2f} points a "
            f"deal, 95 % interval {margin.low:+.2f} .. {margin.high:+.2f}, {result.deals} deals",
            flush=True,
        )
        return result


class MlpAgent(ScoreAgent):
    """A perceptron written by one of the scripts, greedy over its legal actions.

    Args:
        path: a file that ``save_layers`` wrote.
    """

    def __init__(self, path: str) -> None:
        tensors = load_file(path)
        bend: Any = np.tanh if tensors.pop("tanh").item() else _relu
        layers = [(tensors[f"{k}.weight"], tensors[f"{k}.bias"]) for k in range(len(tensors) // 2)]

        def scores(values: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
            for number, (weight, bias) in enumerate(layers):
                values = (bend(values) if number else values) @ weight.T + bias
            return values

        super().__init__(f"mlp:{path}", scores)


def _relu(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.maximum(values, 0)  # type: ignore[no-any-return]


def save_layers(path: Path, network: Any) -> None:
    """Writes the linear layers of a torch module, in the order of the module.

    ReLU lies between them, or tanh where the module has one. Batch normalization is folded into the
    layer that follows it.
    """
    tensors: dict[str, npt.NDArray[Any]] = {}
    tanh, number, scale, shift = False, 0, None, None
    for part in network.modules():
        kind = type(part).__name__
        tanh = tanh or kind == "Tanh"
        if kind == "BatchNorm1d":
            scale = _array(part.weight) / np.sqrt(_array(part.running_var) + part.eps)
            shift = _array(part.bias) - _array(part.running_mean) * scale
        elif kind.endswith("Linear"):
            weight, bias = _array(part.weight), _array(part.bias)
            if scale is not None:
                weight, bias = weight * scale, bias + weight @ shift
                scale = None
            tensors[f"{number}.weight"] = np.ascontiguousarray(weight)
            tensors[f"{number}.bias"] = np.ascontiguousarray(bias)
            number += 1
    tensors["tanh"] = np.array([tanh])
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(tensors, path)


def _array(tensor: Any) -> npt.NDArray[Any]:
    return np.asarray(tensor.detach().cpu(), dtype=np.float32)
