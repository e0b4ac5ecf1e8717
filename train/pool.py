"""The opponent pool: earlier selves of the learner, which play at some tables and do not learn.

Every process holds the same snapshots. They are files of the run folder, ordinary checkpoints
without what resuming needs, and a checkpoint of the run names those it goes on with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from agents.neural.policy import NeuralPolicy
from agents.neural.weights import CheckpointError, Weights, load_weights
from train.checkpoint import RunError, remove, save_network

FOLDER: Final = "pool"
EVERY: Final = 0.05
"""Part of PPO's budget after which the next snapshot is due."""


class Pool:
    """The snapshots that play.

    Args:
        run: the run folder.
        size: how many there are at most; the oldest goes.

    Attributes:
        members: the snapshots by the iteration they were taken at, oldest first.
    """

    def __init__(self, run: Path, size: int) -> None:
        self.members: dict[int, NeuralPolicy] = {}
        self._folder = run / FOLDER
        self._size = size
        self._stored: set[int] = set()

    @property
    def agents(self) -> Sequence[NeuralPolicy]:
        """The snapshots, oldest first; they draw their actions as the learner does."""
        return tuple(self.members.values())

    def add(self, iteration: int, weights: Weights) -> None:
        """Takes a snapshot in."""
        self.members[iteration] = NeuralPolicy(weights, sample=True, name=f"snapshot {iteration}")
        for old in sorted(self.members)[: -self._size]:
            del self.members[old]

    def load(self, iterations: Iterable[int]) -> None:
        """Reads the snapshots that a checkpoint names.

        Raises:
            RunError: if one is missing or broken.
        """
        for iteration in iterations:
            try:
                self.add(iteration, load_weights(self._file(iteration)))
            except CheckpointError as error:
                raise RunError(f"opponent pool: {error}") from None
        self._stored = set(self.members)

    def save(self) -> None:
        """Writes the snapshots that are not in the run folder yet.

        Raises:
            RunError: if one cannot be written.
        """
        for iteration, member in self.members.items():
            # What lies there under the same name may be of a future that was lost.
            if iteration not in self._stored:
                weights = member.weights
                save_network(self._file(iteration), weights.tensors, weights.meta)
                self._stored.add(iteration)

    def prune(self, needed: Iterable[int]) -> None:
        """Deletes the files of all snapshots but those that checkpoints still name."""
        keep = {*self.members, *needed}
        for path in self._folder.glob("*.json"):
            if path.stem.isdigit() and int(path.stem) not in keep:
                remove([path, path.with_suffix(".safetensors")])
                self._stored.discard(int(path.stem))

    def _file(self, iteration: int) -> Path:
        return self._folder / f"{iteration:04d}.safetensors"


def snapshots_due(fraction: float) -> int:
    """Returns how many snapshots are due by a fraction 0..1 of PPO's budget, one at its start."""
    return int(fraction / EVERY + 1e-9) + 1
