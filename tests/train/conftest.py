"""Tiny runs without what takes most of their time and comes out the same in each of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tests.train.helpers import columns_of
from train import loop

_compile = loop._compile
_compiled: list[bool] = []


def _compile_once(*arguments: Any) -> None:
    """The run before this one in the process has compiled the kernels."""
    if not _compiled:
        _compile(*arguments)
    _compiled.append(True)


@pytest.fixture(scope="module", autouse=True)
def lean_runs() -> Iterator[None]:
    """A process compiles once, and looks once at the features that variants use."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "_compile", _compile_once)
        patch.setattr(loop, "columns_in_use", columns_of)
        yield


@pytest.fixture(scope="module", autouse=True)
def no_pictures() -> Iterator[None]:
    """Runs draw nothing; modules that look at the pictures give another fixture this name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop._Leader, "_plot", lambda self: None)
        yield


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """As many processes test as there are cores; threads of their own wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
