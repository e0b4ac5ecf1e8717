"""Folders that commands write into: free names, and one process at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class FolderError(ValueError):
    """A folder that cannot be used."""


def free_folder(parent: Path, name: str) -> Path:
    """Returns the first of ``parent/name-1``, ``-2`` ... that does not exist."""
    number = 1
    while (parent / f"{name}-{number}").exists():
        number += 1
    return parent / f"{name}-{number}"


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Keeps a second process out of a folder while the block runs, where the system can.

    Raises:
        FolderError: if another process is at work there, or nothing can be written.
    """
    try:
        import fcntl
    except ImportError:  # not on this system
        yield
        return
    try:
        file = (folder / ".lock").open("w")
    except OSError as error:
        raise FolderError(f"{folder}: cannot be written: {error.strerror or error}") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise FolderError(f"{folder}: another process is at work there") from None
        yield
