"""A checkpoint as data: two files side by side, ``NNNN.safetensors`` and ``NNNN.json``.

The first holds the weights, the second what they mean. Nothing in them is ever executed. Reading
needs no torch.

Axes: F features (bits, then numbers), C columns in use, H width, A actions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors

from king_env.engine.actions import NUM_ACTIONS
from king_env.engine.observe import NUM_FEATURES, OBSERVATION_VERSION

FORMAT: Final = 1
"""Version of the two files."""

KIND: Final = "king-network"
LATEST: Final = "latest.json"
"""File of a run folder that names its newest checkpoint."""

Float = npt.NDArray[np.float32]


class CheckpointError(ValueError):
    """A checkpoint that cannot be used: one line with what, where and what is allowed."""


@dataclass(frozen=True)
class Weights:
    """A network of two hidden layers with ReLU, a policy head and a value head.

    Attributes:
        columns: `[C]` int64, ascending: the features that the network uses.
        canonical: the suits are sorted before the network sees them, see ``features``.
        rule_prior: what a unit of the rule-based agent's opinion adds to a logit, see
            ``opinions``; 0: the network decides alone.
        tensors: weights by name, see ``tensor_shapes``.
        meta: everything else of the JSON file.
    """

    columns: npt.NDArray[np.int64]
    canonical: bool
    rule_prior: float
    tensors: Mapping[str, Float]
    meta: Mapping[str, Any]

    @property
    def width(self) -> int:
        """H, the width of both hidden layers."""
        return int(self.tensors["first.bias"].shape[0])

    def column_of(self) -> npt.NDArray[np.int32]:
        """Returns `[F]` int32: the column of each feature, or -1."""
        return column_map(self.columns)


def column_map(columns: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Returns `[F]` int32: the column of each feature, or -1 where it is not used."""
    out = np.full(NUM_FEATURES, -1, dtype=np.int32)
    out[columns] = np.arange(len(columns))
    return out


def tensor_shapes(num_columns: int, width: int) -> dict[str, tuple[int, ...]]:
    """Returns the names and shapes of the weights; matrices are ``[in, out]``."""
    return {
        "first.weight": (num_columns, width),
        "first.bias": (width,),
        "second.weight": (width, width),
        "second.bias": (width,),
        "policy.weight": (width, NUM_ACTIONS),
        "policy.bias": (NUM_ACTIONS,),
        "value.weight": (width, 1),
        "value.bias": (1,),
    }


def find_checkpoint(path: str | Path) -> Path:
    """Returns the ``.safetensors`` file for a run folder, a folder of checkpoints or a file.

    Raises:
        CheckpointError: if there is none.
    """
    path = Path(path)
    if path.is_file():
        if path.suffix == ".json" and path.name != LATEST:
            path = path.with_suffix(".safetensors")
        elif path.name == LATEST:
            path = path.parent / _latest(path)
        if path.suffix != ".safetensors" or not path.is_file():
            raise CheckpointError(
                f"checkpoint {path}: not a checkpoint; expected a .safetensors file, "
                "its .json file, or a run folder"
            )
        return path
    if not path.is_dir():
        raise CheckpointError(f"checkpoint {path}: there is no such file or folder")
    if (path / LATEST).is_file():
        return find_checkpoint(path / _latest(path / LATEST))
    found = [file for file in path.glob("*.safetensors") if file.stem.isdigit()]
    if not found:
        raise CheckpointError(
            f"checkpoint {path}: the folder holds no checkpoint; expected {LATEST} of a run, "
            "or files such as 0100.safetensors"
        )
    return max(found, key=lambda file: int(file.stem))


def _latest(path: Path) -> str:
    """Returns the checkpoint that the pointer of a run folder names."""
    entry = _read_json(path).get("checkpoint")
    if not isinstance(entry, str):
        raise CheckpointError(f"checkpoint {path}: 'checkpoint' is missing; expected a file name")
    return entry


def _read_json(path: Path) -> dict[str, Any]:
    """Returns a JSON object read from a file."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise CheckpointError(f"checkpoint {path}: cannot be read: {reason}") from None
    except ValueError:
        raise CheckpointError(f"checkpoint {path}: not valid JSON") from None
    if not isinstance(data, dict):
        raise CheckpointError(f"checkpoint {path}: expected a JSON object")
    return data


def read_tensors(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Returns the arrays of a safetensors file.

    Raises:
        CheckpointError: if it cannot be read.
    """
    try:
        return dict(load_tensors(path.read_bytes()))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise CheckpointError(f"checkpoint {path}: cannot be read: {reason}") from None
    except (SafetensorError, ValueError, KeyError, TypeError):
        raise CheckpointError(f"checkpoint {path}: not a whole safetensors file") from None


def load_weights(path: str | Path) -> Weights:
    """Reads a checkpoint.

    Args:
        path: a run folder (its newest checkpoint), a folder of checkpoints, or either file.

    Raises:
        CheckpointError: if it is missing, broken, or made for another observation or action table.
    """
    file = find_checkpoint(path)
    meta_file = file.with_suffix(".json")
    meta = _read_json(meta_file)
    expected = {
        "format": FORMAT,
        "kind": KIND,
        "observation_version": OBSERVATION_VERSION,
        "num_features": NUM_FEATURES,
        "num_actions": NUM_ACTIONS,
    }
    for key, value in expected.items():
        if meta.get(key) != value:
            raise CheckpointError(
                f"checkpoint {meta_file}: {key}: found {meta.get(key)!r}; allowed: {value!r}"
            )
    columns = _columns(meta, meta_file)
    canonical = meta.get("canonical_suits")
    if not isinstance(canonical, bool):
        raise CheckpointError(
            f"checkpoint {meta_file}: canonical_suits: found {canonical!r}; allowed: true, false"
        )
    rule_prior = meta.get("rule_prior", 0.0)
    if not isinstance(rule_prior, (int, float)) or not 0 <= rule_prior <= 100:
        raise CheckpointError(
            f"checkpoint {meta_file}: rule_prior: found {rule_prior!r}; allowed: 0 to 100"
        )
    tensors = read_tensors(file)
    width = tensors["first.bias"].size if "first.bias" in tensors else 0
    shapes = tensor_shapes(len(columns), width)
    if set(tensors) != set(shapes):
        found = ", ".join(sorted(tensors)) or "nothing"
        raise CheckpointError(
            f"checkpoint {file}: found the tensors {found}; allowed: {', '.join(shapes)}"
        )
    for name, shape in shapes.items():
        tensor = tensors[name]
        if tensor.shape != shape or tensor.dtype != np.float32:
            raise CheckpointError(
                f"checkpoint {file}: {name}: found {tensor.dtype} {list(tensor.shape)}; "
                f"allowed: float32 {list(shape)}"
            )
        if not np.isfinite(tensor).all():
            raise CheckpointError(f"checkpoint {file}: {name}: holds values that are not finite")
    arrays = {name: np.ascontiguousarray(tensors[name]) for name in shapes}
    return Weights(columns, canonical, float(rule_prior), arrays, meta)


def _columns(meta: Mapping[str, Any], file: Path) -> npt.NDArray[np.int64]:
    """Returns the list of columns, checked."""
    entry = meta.get("columns")
    good = isinstance(entry, list) and all(type(c) is int and 0 <= c < NUM_FEATURES for c in entry)
    if not good or not entry or sorted(set(entry)) != entry:
        raise CheckpointError(
            f"checkpoint {file}: columns: expected ascending numbers from 0 to {NUM_FEATURES - 1}"
        )
    return np.array(entry, dtype=np.int64)
