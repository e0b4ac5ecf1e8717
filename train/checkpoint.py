"""The run folder: what is saved with weights, and how files replace each other.

::

    RUN/config.toml                          the resolved config
    RUN/budget.json                          decisions to learn from, once known
    RUN/metrics.jsonl  RUN/curve.png  RUN/contracts.png   see ``train.metrics``
    RUN/tensorboard/                         where asked for, see ``train.board``
    RUN/latest.json                          names the newest checkpoint
    RUN/checkpoints/NNNN.safetensors, .json  a network, see ``agents.neural.weights``
    RUN/checkpoints/NNNN.training.safetensors  the learner's weights and Adam's moments
    RUN/pool/NNNN.safetensors, .json         snapshots that play, see ``train.pool``
    RUN/labels/NNNN-R.safetensors            labels of process R that are kept, see ``train.labels``

Every file is written under another name, flushed to disk and renamed, so that a reader never sees
half of one. The pointer moves last.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from safetensors.numpy import save as save_tensors
from torch import nn

from agents.neural.network import ActorCritic
from agents.neural.weights import (
    FORMAT,
    KIND,
    LATEST,
    CheckpointError,
    find_checkpoint,
    read_tensors,
)
from king_env.engine.actions import NUM_ACTIONS
from king_env.engine.observe import NUM_FEATURES, OBSERVATION_VERSION
from king_env.rules.catalogue import Variant
from train.config import TrainConfig, as_data

FOLDER: Final = "checkpoints"
TRAINING: Final = ".training.safetensors"
"""Suffix of the file that only resuming needs."""

Array: TypeAlias = npt.NDArray[Any]


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
        snapshots: snapshots that were due for the opponent pool so far.
        pool: iterations of the snapshots that play.
    """

    phase: str = "clone"
    iteration: int = 0
    phase_start: int = 0
    cloned: int = 0
    decisions: int = 0
    snapshots: int = 0
    pool: list[int] = field(default_factory=list)


def first_line(error: BaseException) -> str:
    """Returns the first line of what an error says."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), repr(error))


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


def network_meta(
    network: ActorCritic, progress: Progress, config: TrainConfig, variants: Sequence[Variant]
) -> dict[str, Any]:
    """Returns what a checkpoint says of its network and of how it came about."""
    learned = {variant.name: variant.data for variant in variants}
    return {
        "format": FORMAT,
        "kind": KIND,
        "observation_version": OBSERVATION_VERSION,
        "num_features": NUM_FEATURES,
        "num_actions": NUM_ACTIONS,
        "canonical_suits": config.network.canonical_suits,
        "rule_prior": network.rule_prior,
        "columns": [int(column) for column in network.columns],
        "variants": list(learned),
        "variant_data": list(learned.values()),
        "progress": dict(vars(progress)),
        "decisions": progress.decisions,
        "config": as_data(config),
        "versions": package_versions(),
    }


def save_network(
    file: Path,
    tensors: Mapping[str, Array],
    meta: Mapping[str, Any],
    learner: Mapping[str, Array] | None = None,
) -> None:
    """Writes a network's ``.safetensors`` file and beside it the ``.json`` file, which goes last.

    Args:
        file: the ``.safetensors`` file.
        tensors: the weights that play.
        meta: see ``network_meta``.
        learner: what resuming needs, for the ``.training.safetensors`` file.

    Raises:
        RunError: if they cannot be written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise run_error(file.parent, error) from None
    replace_file(file, save_tensors(dict(tensors)))
    if learner is not None:
        replace_file(file.with_suffix(TRAINING), save_tensors(dict(learner)))
    write_json(file.with_suffix(".json"), meta)


def save_checkpoint(
    run: Path,
    network: ActorCritic,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
    config: TrainConfig,
    variants: Sequence[Variant],
    released: Mapping[str, Array] | None = None,
    further: Mapping[str, Array] | None = None,
) -> Path:
    """Saves a checkpoint and moves the pointer; returns its ``.safetensors`` file.

    Args:
        run: the run folder.
        network: the learner's network.
        optimizer: its Adam.
        progress: how far the run is.
        config: the run.
        variants: its variants.
        released: the weights that play, where they are not the learner's own.
        further: what else resuming needs, by names that begin with the part's name and a dot.

    Raises:
        RunError: if it cannot be written; the run folder stays as it was.
    """
    file = run / FOLDER / f"{progress.iteration:04d}.safetensors"
    meta = network_meta(network, progress, config, variants)
    learner = {**learner_tensors(network, optimizer), **(further or {})}
    save_network(file, network.tensors() if released is None else released, meta, learner)
    write_json(run / LATEST, {"checkpoint": f"{FOLDER}/{file.name}", **vars(progress)})
    return file


def remove(files: Iterable[Path]) -> None:
    """Deletes files; what cannot be deleted stays."""
    for file in files:
        try:
            file.unlink(missing_ok=True)
        except OSError:
            return


def prune_checkpoints(run: Path, keep: set[str], newest: int = 2) -> None:
    """Deletes old checkpoints but those in ``keep``, and what only resuming needs of the older."""
    folder = run / FOLDER
    names = [path.stem for path in folder.glob("*.json") if path.stem.isdigit()]
    for name in sorted(names, key=int)[:-newest]:
        suffixes = (TRAINING,) if name in keep else (TRAINING, ".safetensors", ".json")
        remove(folder / f"{name}{suffix}" for suffix in suffixes)


def snapshots_named(run: Path) -> set[int]:
    """Returns the iterations of the snapshots that checkpoints name which a run can go on from."""
    named: set[int] = set()
    for training in (run / FOLDER).glob(f"*{TRAINING}"):
        file = training.with_name(training.name.removesuffix(TRAINING) + ".json")
        if file.is_file():
            named |= set(read_json(file)["progress"].get("pool", []))
    return named


def oldest_resumable(run: Path) -> int:
    """Returns the iteration of the oldest checkpoint which a run can go on from, 0 without one."""
    names = (file.name.removesuffix(TRAINING) for file in (run / FOLDER).glob(f"*{TRAINING}"))
    return min((int(name) for name in names if name.isdigit()), default=0)


def clean_up(run: Path) -> None:
    """Deletes what a kill left behind: half-written files, and checkpoints not pointed to yet.

    Raises:
        CheckpointError: if the run folder points to no checkpoint.
    """
    remove(run.rglob(".*.tmp"))
    newest = int(find_checkpoint(run).stem)
    for file in (run / FOLDER).iterdir():
        number = file.name.partition(".")[0]
        if number.isdigit() and int(number) > newest:
            remove([file])


def learner_tensors(
    module: nn.Module, optimizer: torch.optim.Optimizer, prefix: str = ""
) -> dict[str, Array]:
    """Returns the weights and Adam's moments of a module, by name.

    Args:
        module: its parameters' names have one underscore, which becomes a dot.
        optimizer: its Adam.
        prefix: of the names.
    """
    out: dict[str, Array] = {}
    for key, parameter in module.named_parameters():
        dotted = key.replace("_", ".", 1)
        out[f"{prefix}weights.{dotted}"] = np.array(parameter.detach().cpu().numpy())
        moments = optimizer.state.get(parameter, {})
        for name in ("exp_avg", "exp_avg_sq", "step"):
            if name in moments:
                out[f"{prefix}{name}.{dotted}"] = np.array(
                    moments[name].cpu().numpy(), dtype=np.float32
                )
    return out


def load_learner(
    tensors: Mapping[str, Array],
    file: Path,
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    prefix: str = "",
) -> None:
    """Fills a module and its Adam from what ``learner_tensors`` gave.

    Raises:
        CheckpointError: if something is missing or does not fit.
    """
    load_parameters(tensors, file, module, f"{prefix}weights.")
    for key, parameter in module.named_parameters():
        dotted = key.replace("_", ".", 1)
        if f"{prefix}exp_avg.{dotted}" in tensors:
            optimizer.state[parameter] = {
                name: torch.tensor(tensors[f"{prefix}{name}.{dotted}"], device=parameter.device)
                for name in ("step", "exp_avg", "exp_avg_sq")
            }


def load_parameters(
    tensors: Mapping[str, Array], file: Path, module: nn.Module, prefix: str
) -> None:
    """Fills the parameters of a module from arrays whose names begin with a prefix.

    Raises:
        CheckpointError: if one is missing or does not fit.
    """
    for key, parameter in module.named_parameters():
        name = prefix + key.replace("_", ".", 1)
        stored = tensors.get(name)
        if stored is None or stored.shape != tuple(parameter.shape):
            raise CheckpointError(f"checkpoint {file}: {name}: missing or of another shape")
        with torch.no_grad():
            parameter.copy_(torch.from_numpy(stored))


def load_training(
    checkpoint: Path, network: ActorCritic, optimizer: torch.optim.Optimizer
) -> dict[str, Array]:
    """Fills network and optimizer from a checkpoint of the same run.

    Returns:
        All arrays that resuming needs, those of further parts among them.

    Raises:
        CheckpointError: if what resuming needs is missing or does not fit.
    """
    file = checkpoint.with_suffix(TRAINING)
    tensors = read_tensors(file)
    load_learner(tensors, file, network, optimizer)
    return tensors
