"""TensorBoard event files beside ``metrics.jsonl``, for those who ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from train.checkpoint import RunError, run_error

FOLDER: Final = "tensorboard"


class Board:
    """The event files of a run.

    A metric's step is the number of decisions learned from, those of cloning included.

    Args:
        run: the run folder.
        step: later events are dropped: the run goes on from there.

    Raises:
        RunError: if TensorBoard is not installed or the files cannot be written.
    """

    def __init__(self, run: Path, step: int) -> None:
        check_installed()
        from torch.utils.tensorboard import SummaryWriter

        self._folder = run / FOLDER
        try:
            self._writer: Any = SummaryWriter(str(self._folder), purge_step=step + 1)
        except OSError as error:
            raise run_error(self._folder, error) from None

    def write(self, entry: Mapping[str, Any]) -> None:
        """Writes the numbers of a line of metrics.

        Raises:
            RunError: if they cannot be written.
        """
        step = entry["cloned"] + entry["decisions"]
        try:
            for name, value in entry.items():
                if isinstance(value, (int, float)) and name not in ("cloned", "decisions"):
                    self._writer.add_scalar(name, value, step)
            self._writer.flush()
        except OSError as error:
            raise run_error(self._folder, error) from None

    def close(self) -> None:
        """Closes the files."""
        self._writer.close()


def check_installed() -> None:
    """Makes sure that TensorBoard can be written.

    Raises:
        RunError: if it is not installed.
    """
    try:
        import tensorboard  # noqa: F401
    except ImportError:
        raise RunError(
            "tensorboard: not installed; install the extra 'tensorboard' "
            "(pip install 'king-env[tensorboard]') or leave --tensorboard out"
        ) from None
