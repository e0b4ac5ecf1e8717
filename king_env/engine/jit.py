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
import numpy as np
from numba.core import caching, types
from numba.core.types.misc import unliteral
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])

u64: Any = np.uint64
i64: Any = np.int64
# Kernels say u64(x) and i64(x) before any arithmetic; Any, as mypy need not follow widths.

JIT_DISABLED: Final = bool(numba.config.DISABLE_JIT)

_PACKAGE: Final = Path(__file__).resolve().parents[1]


_CONSTANTS: Final = ("king_env/cards.py", "king_env/rules/spec.py", "king_env/rules/tables.py")


def _sources() -> list[Path]:
    """Returns the files whose text decides what a kernel compiles to.

    Those that make kernels, which import this module, and those whose constants kernels hold.
    """
    root = _PACKAGE.parent
    files = {root / name for name in _CONSTANTS} | set((root / "agents").rglob("*.py"))
    for package in ("king_env", "train"):
        for path in (root / package).rglob("*.py"):
            if b"engine.jit" in path.read_bytes():
                files.add(path)
    return sorted(files | set((_PACKAGE / "engine").glob("*.py")))


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

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super().load_overload(sig, target_context)
        if found is None:
            _announce_once()
        return found


_announced = False


def _announce_once() -> None:
    """Says on stderr, once a process, that kernels are being compiled."""
    global _announced
    if not _announced:
        print("king: compiling kernels, once per version (about 20 s)...", file=sys.stderr)
    _announced = True


_OPTIONS: Final[dict[str, Any]] = {
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": False,
    "no_cfunc_wrapper": True,
    "_nrt": False,  # kernels own no memory: without this each call counts references to its arrays
}


def kernel(function: F) -> F:
    """Compiles a function: every compile option of the suite, once.

    Kernels do not allocate, do not raise, and get no functions as arguments.
    """
    if JIT_DISABLED:
        return function
    dispatcher = numba.njit(**_OPTIONS)(function)
    dispatcher._cache = _Cache(function)
    dispatcher._can_cache = True
    return cast(F, dispatcher)


def inline(function: F) -> F:
    """Compiles a helper into the kernels that call it: what runs in every step.

    A call costs as much as a dozen operations, and constants fold only where there is none.
    """
    return _helper(function, forceinline=True)


def outline(function: F) -> F:
    """Compiles a helper once, to be called: what is big and seldom runs.

    Copied into each place that calls it, it would double the time of a cold start.
    """
    return _helper(function, forceinline=False)


def _helper(function: F, *, forceinline: bool) -> F:
    """Compiles a function that is only ever called by kernels.

    It gets no wrapper for Python, and one specialisation for all constants: numba would compile it
    again for each literal integer that it is called with. Together that halves a cold start.
    """
    if JIT_DISABLED:
        return function
    dispatcher = numba.njit(no_cpython_wrapper=True, forceinline=forceinline, **_OPTIONS)(function)
    get_call_template = dispatcher.get_call_template

    def without_literals(args: Any, kws: Any) -> Any:
        plain = {name: unliteral(kind) for name, kind in kws.items()}
        return get_call_template(tuple(unliteral(kind) for kind in args), plain)

    dispatcher.get_call_template = without_literals
    return cast(F, dispatcher)


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

    @intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
    def _ctpop(typingctx: Any, mask: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.ctpop(args[0])

        return types.int64(types.uint64), codegen

    @intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
    def _cttz(typingctx: Any, mask: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            flag = context.get_constant(types.boolean, True)
            return builder.cttz(args[0], flag)

        return types.int64(types.uint64), codegen

    @intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
    def _ctlz(typingctx: Any, mask: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            flag = context.get_constant(types.boolean, True)
            return builder.ctlz(args[0], flag)

        return types.int64(types.uint64), codegen

    @inline
    def popcount(mask: Any) -> int:
        """Returns the number of cards in a bitboard."""
        return _ctpop(mask)  # type: ignore[no-any-return]

    @inline
    def lowest(mask: Any) -> int:
        """Returns the position of the lowest bit of a bitboard that is not empty."""
        return _cttz(mask)  # type: ignore[no-any-return]

    @inline
    def highest(mask: Any) -> int:
        """Returns the position of the highest bit of a bitboard that is not empty."""
        return 63 - _ctlz(mask)  # type: ignore[no-any-return]
