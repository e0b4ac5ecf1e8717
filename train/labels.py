"""The labels that search gave: kept for a while, so that each is learned from among many others.

A label costs more than to learn from it, and says the same whatever the policy is by then. So a
process keeps those of its last iterations, in memory and in the run folder, where a run that goes
on after a stop finds them.

Axes: L labels, W words, K numbers, A actions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save

from agents.neural.network import legal_array
from agents.neural.weights import CheckpointError, read_tensors
from train.checkpoint import RunError, remove, replace_file, run_error
from train.rollout import Decisions

FOLDER: Final = "labels"


@dataclasses.dataclass(frozen=True)
class Labels:
    """Labelled decisions; suits are in canonical order.

    Opinions and leads are rounded to three digits: the former then differ by less than a
    hundredth of a unit where they leave an action a chance.

    Attributes:
        words: `[L, W]` uint64, packed bits of the observation.
        numbers: `[L, K]` int16.
        mask: `[L, 3]` uint64, legal actions.
        points: `[L, A]` float16, the rule-based agent's opinion, 0 for illegal actions.
        leads: `[L, A]` float16, point scales by which search prefers actions.
        kind: `[L]` uint8, see ``rollout.KINDS``.
        stratum: `[L]` uint8, see ``rollout.Strata``.
    """

    words: npt.NDArray[np.uint64]
    numbers: npt.NDArray[np.int16]
    mask: npt.NDArray[np.uint64]
    points: npt.NDArray[np.float16]
    leads: npt.NDArray[np.float16]
    kind: npt.NDArray[np.uint8]
    stratum: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.kind)

    def rows(self, pick: npt.NDArray[np.int64]) -> Labels:
        """Returns the labels ``pick``."""
        return Labels(**{name: column[pick] for name, column in vars(self).items()})


def labels_of(batch: Decisions) -> Labels:
    """Returns the labelled decisions of a rollout."""
    pick = batch.labelled
    legal = legal_array(batch.mask[pick])
    return Labels(
        words=batch.words[pick],
        numbers=batch.numbers[pick],
        mask=batch.mask[pick],
        points=np.where(legal, batch.points[pick], 0).astype(np.float16),
        leads=batch.leads.astype(np.float16),
        kind=batch.kind[pick],
        stratum=batch.stratum[pick],
    )


class LabelStore:
    """The labels of a process's last iterations.

    Args:
        run: the run folder.
        rank: number of the process.
        keep: iterations whose labels are kept; with 1 nothing is written.
    """

    def __init__(self, run: Path, rank: int, keep: int) -> None:
        self._folder = run / FOLDER
        self._rank = rank
        self._keep = keep
        self._kept: dict[int, Labels] = {}

    @property
    def newest(self) -> Labels:
        """The labels added last."""
        return self._kept[max(self._kept)]

    def add(self, iteration: int, labels: Labels) -> None:
        """Takes in the labels of an iteration, and lets the oldest go.

        Raises:
            RunError: if they cannot be written.
        """
        self._kept[iteration] = labels
        self._kept.pop(iteration - self._keep, None)
        if self._keep > 1:
            self._write(self._file(iteration), labels)

    def draw(self, count: int, rng: np.random.Generator) -> Labels:
        """Returns ``count`` labels, or all that are kept if those are fewer, oldest first."""
        kept = [self._kept[number] for number in sorted(self._kept)]
        starts = np.cumsum([0] + [len(labels) for labels in kept])
        chosen = np.sort(rng.choice(starts[-1], min(count, int(starts[-1])), replace=False))
        ends = np.searchsorted(chosen, starts)
        return _join(
            [
                labels.rows(chosen[ends[i] : ends[i + 1]] - starts[i])
                for i, labels in enumerate(kept)
            ]
        )

    def load(self, first: int, iteration: int) -> None:
        """Reads what a run needs that goes on at an iteration.

        Args:
            first: the first iteration of the run that had labels.
            iteration: the next iteration.

        Raises:
            RunError: if labels are missing or broken.
        """
        for number in range(max(first, iteration + 1 - self._keep), iteration):
            try:
                self._kept[number] = _read(self._file(number))
            except CheckpointError as error:
                raise RunError(
                    f"labels: {error}; the run cannot go on as it was; start a new one with --init"
                ) from None

    def prune(self, oldest: int) -> None:
        """Deletes the files, of all processes, that no run needs which goes on at ``oldest``."""
        for path in self._folder.glob("*.safetensors"):
            number = path.name.partition("-")[0]
            if number.isdigit() and int(number) < oldest + 1 - self._keep:
                remove([path])

    def clear(self) -> None:
        """Deletes all files: the run is over."""
        remove(self._folder.glob("*.safetensors"))
        try:
            self._folder.rmdir()
        except OSError:
            pass  # it never was, or holds what is not ours

    def _file(self, iteration: int) -> Path:
        return self._folder / f"{iteration:04d}-{self._rank}.safetensors"

    def _write(self, file: Path, labels: Labels) -> None:
        columns: dict[str, Any] = dict(vars(labels))
        legal = legal_array(labels.mask)
        for name in ("points", "leads"):  # few actions are legal
            columns[name] = columns[name][legal]
        try:
            self._folder.mkdir(exist_ok=True)
        except OSError as error:
            raise run_error(self._folder, error) from None
        replace_file(file, save(columns))


def _read(file: Path) -> Labels:
    """Reads what a ``LabelStore`` wrote.

    Raises:
        CheckpointError: if that is not there.
    """
    columns = read_tensors(file)
    try:
        legal = legal_array(columns["mask"])
        for name in ("points", "leads"):
            full = np.zeros(legal.shape, dtype=np.float16)
            full[legal] = columns[name]
            columns[name] = full
        return Labels(**columns)
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{file}: no labels: {error}") from None


def _join(parts: Sequence[Labels]) -> Labels:
    names = [field.name for field in dataclasses.fields(Labels)]
    return Labels(**{name: np.concatenate([vars(part)[name] for part in parts]) for name in names})
