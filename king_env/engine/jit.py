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
from llvmlite import ir
from numba.core import caching, cgutils, types
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

    def low_int16(word: Any) -> int:
        """Returns the low 16 bits of a word as an int16."""
        return ((int(word) + 0x8000) & 0xFFFF) - 0x8000

    def lanes_of(values: Any) -> Any:
        """Returns four small integers as four 16-bit lanes of a uint64."""
        return u64(sum((int(value) & 0xFFFF) << 16 * lane for lane, value in enumerate(values)))

    def popcount_lanes(boards: Any, cards: Any) -> Any:
        """Returns how many cards of a set each of the first four boards holds, as 16-bit lanes."""
        return lanes_of([popcount(boards[lane] & cards) for lane in range(4)])

    def scale_lanes(values: Any, factor: Any) -> Any:
        """Returns ``value * factor >> 16`` of four integers, within int16, as 16-bit lanes."""
        scaled = [int(value) * int(factor) >> 16 for value in values]
        return lanes_of([max(-32767, min(32767, value)) for value in scaled])

    def unfold(word: Any, out: Any, row: Any, place: Any) -> None:
        """Writes the bits of a word as 64 bytes of 0 or 1: eight uint64 of a row."""
        flags = (int(word) >> np.arange(64, dtype=object) & 1).astype(np.uint8)
        out[row, 8 * place : 8 * place + 8] = flags.view(np.uint64)

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

    @inline
    def low_int16(word: Any) -> int:
        """Returns the low 16 bits of a word as an int16."""
        return np.int16(word)  # type: ignore[return-value]

    def _vector(bits: int, size: int) -> Any:
        return ir.VectorType(ir.IntType(bits), size)

    def _splat(builder: Any, value: Any, size: int) -> Any:
        """Returns a vector that holds a value ``size`` times."""
        vector = ir.Constant(ir.VectorType(value.type, size), ir.Undefined)
        for lane in range(size):
            vector = builder.insert_element(vector, value, ir.IntType(32)(lane))
        return vector

    def _load_four(context: Any, builder: Any, kind: Any, values: Any) -> Any:
        """Returns the four integers of an array as a vector of int64."""
        array = context.make_array(kind)(context, builder, values)
        vector = _vector(kind.dtype.bitwidth, 4)
        loaded = builder.load(builder.bitcast(array.data, vector.as_pointer()))
        loaded.align = kind.dtype.bitwidth // 8
        if kind.dtype.bitwidth == 64:
            return loaded
        return (builder.sext if kind.dtype.signed else builder.zext)(loaded, _vector(64, 4))

    def _as_lanes(builder: Any, vector: Any) -> Any:
        return builder.bitcast(builder.trunc(vector, _vector(16, 4)), ir.IntType(64))

    @intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
    def lanes_of(typingctx: Any, values: Any) -> Any:
        """Returns four small integers as four 16-bit lanes of a uint64."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return _as_lanes(builder, _load_four(context, builder, signature.args[0], args[0]))

        return types.uint64(values), codegen

    @intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
    def popcount_lanes(typingctx: Any, boards: Any, cards: Any) -> Any:
        """Returns how many cards of a set each of the first four boards holds, as 16-bit lanes."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            loaded = _load_four(context, builder, signature.args[0], args[0])
            kind = ir.FunctionType(loaded.type, [loaded.type])
            ctpop = cgutils.get_or_insert_function(builder.module, kind, "llvm.ctpop.v4i64")
            held = builder.and_(loaded, _splat(builder, args[1], 4))
            return _as_lanes(builder, builder.call(ctpop, [held]))

        return types.uint64(boards, types.uint64), codegen

    @intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
    def scale_lanes(typingctx: Any, values: Any, factor: Any) -> Any:
        """Returns ``value * factor >> 16`` of four integers, within int16, as 16-bit lanes."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            loaded = _load_four(context, builder, signature.args[0], args[0])
            scaled = builder.ashr(
                builder.mul(loaded, _splat(builder, args[1], 4)), ir.Constant(loaded.type, [16] * 4)
            )
            for sign, bound in (("<", -32767), (">", 32767)):
                limit = ir.Constant(loaded.type, [bound] * 4)
                scaled = builder.select(builder.icmp_signed(sign, scaled, limit), limit, scaled)
            return _as_lanes(builder, scaled)

        return types.uint64(values, types.int64), codegen

    @intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
    def unfold(typingctx: Any, word: Any, out: Any, row: Any, place: Any) -> Any:
        """Writes the bits of a word as 64 bytes of 0 or 1: eight uint64 of a row."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = signature.args[1]
            array = context.make_array(kind)(context, builder, args[1])
            first = builder.mul(args[3], ir.IntType(64)(8))
            place = cgutils.get_item_pointer(context, builder, kind, array, [args[2], first])
            flags = builder.zext(builder.bitcast(args[0], _vector(1, 64)), _vector(8, 64))
            store = builder.store(flags, builder.bitcast(place, flags.type.as_pointer()))
            store.align = 8
            return context.get_dummy_value()

        return types.none(types.uint64, out, types.int64, types.int64), codegen
