"""The run folder: what is saved with weights, and how files replace each other.

::

    RUN/config.toml                          the resolved config
    RUN/budget.json                          decisions to learn from, once known
    RUN/metrics.jsonl  RUN/curve.png         see ``train.metrics``
    RUN/latest.json                          names the newest checkpoint
    RUN/checkpoints/NNNN.safetensors, .json  a network, see ``agents.neural.weights``
    RUN/checkpoints/NNNN.training.safetensors  the learner's weights and Adam's moments

Every file is written under another name, flushed to disk and renamed, so that a reader never sees
half of one. The pointer moves last.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save as save_tensors

from agents.neural.network import ActorCritic
from agents.neural.weights import FORMAT, KIND, LATEST, CheckpointError, read_tensors
from king_env.engine.actions import NUM_ACTIONS
from king_env.engine.observe import NUM_FEATURES, OBSERVATION_VERSION
from king_env.rules.catalogue import Variant
from train.config import TrainConfig, as_data

FOLDER = "checkpoints"


class RunError(ValueError):
    """A run that cannot start or go on: one line with what, where and what to do."""


@dataclass
class Progress:
    """How far a run is; with the weights and the optimizer all that its future depends on.

    Attributes:
        phase: ``clone`` or ``ppo``.
        iteration: iterations done.
        phase_start: iteration at which the phase began.
        cloned: decisions of the rule-based agent learned from.
        decisions: own decisions learned from.
    """

    phase: str = "clone"
    iteration: int = 0
    phase_start: int = 0
    cloned: int = 0
    decisions: int = 0


def run_error(path: Path, error: OSError) -> RunError:
    """Returns the one line for a file that cannot be written."""
    return RunError(f"run folder: {path}: cannot be written: {error.strerror or error}")


def replace_file(path: Path, data: bytes) -> None:
    """Writes a file under another name, flushes it and renames it.

    Raises:
        RunError: if it cannot be written; the old file stays.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        try:
            temporary.unlink(missing_ok=True)
        except OSError:
            pass
        raise run_error(path, error) from None


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Writes a JSON file, see ``replace_file``."""
    replace_file(path, (json.dumps(data, indent=1) + "\n").encode())


def read_json(path: Path) -> dict[str, Any]:
    """Returns a JSON object of a run folder.

    Raises:
        RunError: if it cannot be read.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise RunError(f"run folder: {path}: cannot be read") from None
    return dict(data)


def package_versions() -> dict[str, str]:
    """Returns the versions that decide what a run computes."""
    found = {}
    for name in ("king-env", "torch", "numpy", "numba", "safetensors"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def save_checkpoint(
    run: Path,
    network: ActorCritic,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
    config: TrainConfig,
    variants: Sequence[Variant],
) -> Path:
    """Saves a checkpoint and moves the pointer; returns its ``.safetensors`` file.

    Args:
        run: the run folder.
        network: the learner's network.
        optimizer: its Adam.
        progress: how far the run is.
        config: the run.
        variants: its variants.

    Raises:
        RunError: if it cannot be written; the run folder stays as it was.
    """
    name = f"{progress.iteration:04d}"
    folder = run / FOLDER
    weights = network.tensors()
    meta = {
        "format": FORMAT,
        "kind": KIND,
        "observation_version": OBSERVATION_VERSION,
        "num_features": NUM_FEATURES,
        "num_actions": NUM_ACTIONS,
        "canonical_suits": config.network.canonical_suits,
        "rule_prior": network.rule_prior,
        "columns": [int(column) for column in network.columns],
        "variants": [variant.name for variant in variants],
        "variant_data": [variant.data for variant in variants],
        "progress": dict(vars(progress)),
        "decisions": progress.decisions,
        "config": as_data(config),
        "versions": package_versions(),
    }
    learner = {f"weights.{key}": value for key, value in weights.items()}
    for key, parameter in network.named_parameters():
        moments = optimizer.state.get(parameter, {})
        for field in ("exp_avg", "exp_avg_sq", "step"):
            if field in moments:
                learner[f"{field}.{key.replace('_', '.', 1)}"] = np.array(
                    moments[field].numpy(), dtype=np.float32
                )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise run_error(folder, error) from None
    file = folder / f"{name}.safetensors"
    replace_file(file, save_tensors(weights))
    replace_file(folder / f"{name}.training.safetensors", save_tensors(learner))
    write_json(folder / f"{name}.json", meta)
    write_json(run / LATEST, {"checkpoint": f"{FOLDER}/{file.name}", **vars(progress)})
    return file


def prune_checkpoints(run: Path, keep: set[str], newest: int = 2) -> None:
    """Deletes old checkpoints but those in ``keep``, and what only resuming needs of the older."""
    folder = run / FOLDER
    names = sorted(path.stem for path in folder.glob("*.json") if path.stem.isdigit())
    for name in names[:-newest]:
        for suffix in (".training.safetensors", ".safetensors", ".json"):
            if suffix == ".training.safetensors" or name not in keep:
                try:
                    (folder / f"{name}{suffix}").unlink(missing_ok=True)
                except OSError:
                    return


def thinned_checkpoints(run: Path) -> set[str]:
    """Returns the names of old checkpoints that were kept to play, without what resuming needs."""
    folder = run / FOLDER
    names = {path.stem for path in folder.glob("*.json") if path.stem.isdigit()}
    return {name for name in names if not (folder / f"{name}.training.safetensors").exists()}


def load_training(checkpoint: Path, network: ActorCritic, optimizer: torch.optim.Optimizer) -> None:
    """Fills network and optimizer from a checkpoint of the same run.

    Raises:
        CheckpointError: if what resuming needs is missing or does not fit.
    """
    file = checkpoint.with_suffix(".training.safetensors")
    tensors = read_tensors(file)
    for key, parameter in network.named_parameters():
        dotted = key.replace("_", ".", 1)
        stored = tensors.get(f"weights.{dotted}")
        if stored is None or stored.shape != tuple(parameter.shape):
            raise CheckpointError(
                f"checkpoint {file}: weights.{dotted}: missing or of another shape"
            )
        with torch.no_grad():
            parameter.copy_(torch.from_numpy(stored))
        if f"exp_avg.{dotted}" in tensors:
            optimizer.state[parameter] = {
                "step": torch.tensor(float(tensors[f"step.{dotted}"])),
                "exp_avg": torch.from_numpy(tensors[f"exp_avg.{dotted}"].copy()),
                "exp_avg_sq": torch.from_numpy(tensors[f"exp_avg_sq.{dotted}"].copy()),
            }
