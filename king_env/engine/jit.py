"""The one place that knows numba: the kernel decorator, the cache folder, the bit intrinsics.

Kernels are compiled on first use and cached on disk. The cache of *our* kernels lies in a folder
whose name holds a hash of the sources that kernels are made from, because numba's own cache does
not see an edit in a helper file. The user's own numba settings are left alone.

With ``NUMBA_DISABLE_JIT=1`` the same sources run as plain Python.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import numba
from numba.core import caching, types
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])

JIT_DISABLED: Final = bool(numba.config.DISABLE_JIT)

_PACKAGE: Final = Path(__file__).resolve().parents[1]


def _sources() -> list[Path]:
    """Returns the files whose text decides what a kernel compiles to."""
    files = sorted((_PACKAGE / "engine").glob("*.py")) + [_PACKAGE / "cards.py"]
    agents = _PACKAGE.parent / "agents"
    return files + sorted(agents.rglob("*.py"))


def _source_hash() -> str:
    """Returns a hash of the kernel sources and of the versions that compile them."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    for path in _sources():
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _cache_root() -> Path:
    """Returns the folder that holds our kernel caches, outside the package when it can be."""
    root = os.environ.get("KING_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    base = Path(root) if root else Path.home() / ".cache"
    try:
        (base / "king-env").mkdir(parents=True, exist_ok=True)
    except OSError:
        base = Path(tempfile.gettempdir())
    return base / "king-env"


CACHE_DIR: Final = _cache_root() / f"kernels-{_source_hash()}"


class _Locator(caching._CacheLocator):  # type: ignore[misc]  # numba has no types
    """Tells numba's cache where the kernels of this suite lie."""

    def __init__(self, py_func: Callable[..., Any]) -> None:
        self._line = py_func.__code__.co_firstlineno
        self._name = py_func.__module__

    def get_cache_path(self) -> str:
        return str(CACHE_DIR)

    def get_source_stamp(self) -> str:
        return "hash"  # the folder's name already stands for the sources

    def get_disambiguator(self) -> str:
        return f"{self._name}-{self._line}"

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator:
        return cls(py_func)


class _CacheImpl(caching.CompileResultCacheImpl):  # type: ignore[misc]  # numba has no types
    _locator_classes = (_Locator,)


class _Cache(caching.FunctionCache):  # type: ignore[misc]  # numba has no types
    _impl_class = _CacheImpl

    def save_overload(self, sig: Any, data: Any) -> None:
        _announce_once()
        super().save_overload(sig, data)


_announced = False


def _announce_once() -> None:
    """Says on stderr, once a process, that kernels are being compiled."""
    global _announced
    if not _announced and not CACHE_DIR.joinpath("ready").exists():
        print("king: compiling kernels, once per version (about 20 s)...", file=sys.stderr)
    _announced = True


def kernel(function: F) -> F:
    """Compiles a function: every compile option of the suite, once.

    Kernels do not allocate, do not raise, and get no functions as arguments.
    """
    if JIT_DISABLED:
        return function
    dispatcher = numba.njit(nogil=True, error_model="numpy", boundscheck=False)(function)
    dispatcher._cache = _Cache(function)
    dispatcher._can_cache = True
    return cast(F, dispatcher)


def inline(function: F) -> F:
    """Compiles a small helper that is only ever called by kernels."""
    if JIT_DISABLED:
        return function
    return cast(F, numba.njit(nogil=True, error_model="numpy", boundscheck=False)(function))


if JIT_DISABLED:

    def popcount(mask: Any) -> int:
        """Returns the number of cards in a bitboard."""
        return int(mask).bit_count()

    def lowest(mask: Any) -> int:
        """Returns the position of the lowest bit of a bitboard that is not empty."""
        value = int(mask)
        return (value & -value).bit_length() - 1

    def highest(mask: Any) -> int:
        """Returns the position of the highest bit of a bitboard that is not empty."""
        return int(mask).bit_length() - 1

else:

    @intrinsic
    def _ctpop(typingctx: Any, mask: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.ctpop(args[0])

        return types.int64(types.uint64), codegen

    @intrinsic
    def _cttz(typingctx: Any, mask: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            flag = context.get_constant(types.boolean, True)
            return builder.cttz(args[0], flag)

        return types.int64(types.uint64), codegen

    @intrinsic
    def _ctlz(typingctx: Any, mask: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            flag = context.get_constant(types.boolean, True)
            return builder.ctlz(args[0], flag)

        return types.int64(types.uint64), codegen

    @inline
    def popcount(mask: Any) -> int:
        """Returns the number of cards in a bitboard."""
        return _ctpop(mask)  # type: ignore[no-any-return, call-arg]

    @inline
    def lowest(mask: Any) -> int:
        """Returns the position of the lowest bit of a bitboard that is not empty."""
        return _cttz(mask)  # type: ignore[no-any-return, call-arg]

    @inline
    def highest(mask: Any) -> int:
        """Returns the position of the highest bit of a bitboard that is not empty."""
        return 63 - _ctlz(mask)  # type: ignore[no-any-return, call-arg]
