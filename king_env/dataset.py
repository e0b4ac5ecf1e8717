"""Records as arrays: every decision of recorded games, for imitation and offline learning.

A dataset is one ``.npz`` file with a row for each decision, in the order played. It is made record
by record: what is held in memory does not grow with the file. ``COLUMNS`` lists what it holds.

Returns are points, as the environments pay them: those of the seat that decides, in partnership
variants those of its team, from the decision on, whatever it brings included. In a record that
stops in the middle of a deal they count up to where it stops.

Axes: D decisions, W words, K numbers, A actions, F features.
"""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from king_env.engine import observe
from king_env.engine.actions import NUM_ACTIONS, NUM_MASK_WORDS, ActionId
from king_env.engine.layout import NUM_SEATS
from king_env.files import replacing
from king_env.game import Game
from king_env.records import RecordError, read_records, replay

FORMAT: Final = 1
"""Goes up when columns change."""


@dataclass(frozen=True)
class Column:
    """A column of a dataset.

    Attributes:
        dtype: NumPy's name of its type.
        width: entries of a row; 0: one number a row.
        meaning: one sentence.
    """

    dtype: str
    width: int
    meaning: str

    def shape(self, num_rows: int) -> tuple[int, ...]:
        """Returns the column's shape with a number of rows."""
        return (num_rows, self.width) if self.width else (num_rows,)


COLUMNS: Final = {
    "bits": Column("uint64", observe.NUM_WORDS, "packed bits, see observe.BIT_BLOCKS"),
    "numbers": Column("int16", observe.NUM_NUMBERS, "see observe.NUMBER_BLOCKS"),
    "mask": Column("uint64", NUM_MASK_WORDS, "legal actions: action a is bit a % 64 of word a//64"),
    "action": Column("int16", 0, "what was done, an action id"),
    "seat": Column("int8", 0, "the seat that decided, whose view the row is"),
    "deal_return": Column("int32", 0, "points of the seat from here to the end of the deal"),
    "match_return": Column("int32", 0, "points of the seat from here to the end of the record"),
    "deal": Column("int16", 0, "place of the deal in the match's schedule, from 0"),
    "match": Column("int32", 0, "number of the record in the file, from 0"),
    "phase": Column("int8", 0, "phase, in the order of layout.PHASES"),
    "variant": Column("int16", 0, "which of the variants"),
}
"""The columns, by name. Beside them stand ``variants`` and ``about``, JSON as text."""

Progress = Callable[[int, int], object]


class DatasetError(ValueError):
    """A file that is no dataset, or one of another version."""


class Dense(NamedTuple):
    """Rows in the form in which the PettingZoo environments give them.

    Attributes:
        observation: `[M, F]` float32, bits as 0 and 1, then numbers divided by their scales.
        action_mask: `[M, A]` int8.
    """

    observation: npt.NDArray[np.float32]
    action_mask: npt.NDArray[np.int8]


@dataclass(frozen=True)
class Dataset:
    """Decisions of recorded games; see ``COLUMNS`` for types and meaning.

    Attributes:
        bits: `[D, W]` uint64.
        numbers: `[D, K]` int16.
        mask: `[D, 3]` uint64.
        action: `[D]` int16.
        seat: `[D]` int8.
        deal_return: `[D]` int32.
        match_return: `[D]` int32.
        deal: `[D]` int16.
        match: `[D]` int32.
        phase: `[D]` int8.
        variant: `[D]` int16, index of ``variants``.
        variants: what the records say of their rules: ``variant``, ``options`` and, where it is not
            a shipped variant, ``spec``; ``load_variant`` reads them.
        skip_forced: decisions without alternative were left out.
    """

    bits: npt.NDArray[np.uint64]
    numbers: npt.NDArray[np.int16]
    mask: npt.NDArray[np.uint64]
    action: npt.NDArray[np.int16]
    seat: npt.NDArray[np.int8]
    deal_return: npt.NDArray[np.int32]
    match_return: npt.NDArray[np.int32]
    deal: npt.NDArray[np.int16]
    match: npt.NDArray[np.int32]
    phase: npt.NDArray[np.int8]
    variant: npt.NDArray[np.int16]
    variants: list[dict[str, Any]]
    skip_forced: bool

    def __len__(self) -> int:
        """Returns D."""
        return len(self.action)

    def dense(self, rows: Any = slice(None)) -> Dense:
        """Returns observations and masks as the PettingZoo environments give them.

        Args:
            rows: which rows: a slice, indices or a boolean mask; all of them take about 20 times
                the memory of the packed form, so take a batch at a time.
        """
        bits = observe.unpack_bits(self.bits[rows], observe.NUM_BITS)
        masks = observe.unpack_bits(self.mask[rows], NUM_ACTIONS).view(np.int8)
        return Dense(observe.features(bits, self.numbers[rows]), masks)


class _Rows:
    """The decisions of one record at a time."""

    def __init__(self, skip_forced: bool) -> None:
        self.count = 0
        self._skip_forced = skip_forced
        self._game: Game | None = None
        self.columns = {
            name: np.zeros(column.shape(1024), column.dtype) for name, column in COLUMNS.items()
        }
        self._scores = np.zeros((1024, NUM_SEATS), dtype=np.int64)  # before each decision
        self._number = np.zeros(1024, dtype=np.int64)  # of the deal in the record

    def _grow(self) -> None:
        """Doubles the room."""
        for name, old in self.columns.items():
            self.columns[name] = np.concatenate([old, np.zeros_like(old)])
        self._scores = np.concatenate([self._scores, np.zeros_like(self._scores)])
        self._number = np.concatenate([self._number, np.zeros_like(self._number)])

    def add(self, game: Game, action: ActionId) -> None:
        """Adds the decision that a game stands at; the action is not checked."""
        if game is not self._game:
            self._game = game
            self._plain = game.plain_games
            self._deal = self._plain["deal"]
        legal = self._deal["legal"][0]
        if self._skip_forced and int(np.bitwise_count(legal).sum()) == 1:
            return
        row = self.count
        if row == len(self._number):
            self._grow()
        columns = self.columns
        seat = self._deal["actor"].item(0)
        observe.observe(
            self._plain, game.plain_tables, 0, seat, columns["bits"], columns["numbers"], row
        )
        columns["mask"][row] = legal
        columns["action"][row] = action
        columns["seat"][row] = seat
        columns["deal"][row] = self._plain["position"].item(0)
        columns["phase"][row] = self._deal["phase"].item(0)
        self._scores[row] = self._plain["totals"][0] + self._deal["points"][0]
        self._number[row] = len(game.deals) - 1
        self.count = row + 1

    def finish(self, game: Game, match: int, variant: int) -> None:
        """Fills in what is known only after the record's last action."""
        rows = slice(0, self.count)
        ends = np.cumsum(
            [log.scores if log.scores is not None else game.points for log in game.deals], axis=0
        )
        before = self._scores[rows]
        if game.variant.spec.partnership:
            ends = ends + np.roll(ends, 2, axis=1)
            before = before + np.roll(before, 2, axis=1)
        seat = self.columns["seat"][rows].astype(np.int64)
        now = np.take_along_axis(before, seat[:, None], axis=1)[:, 0]
        self.columns["deal_return"][rows] = ends[self._number[rows], seat] - now
        self.columns["match_return"][rows] = ends[-1][seat] - now
        self.columns["match"][rows] = match
        self.columns["variant"][rows] = variant

    def clear(self) -> None:
        """Forgets the record."""
        self.count = 0
        self._game = None


def make_dataset(
    source: str | Path,
    out: str | Path,
    *,
    skip_forced: bool = False,
    progress: Progress | None = None,
) -> tuple[int, int]:
    """Writes the decisions of a file of records to a dataset, whole or not at all.

    Records may be of different variants.

    Args:
        source: a file of records.
        out: the ``.npz`` file to write.
        skip_forced: leave out decisions without alternative.
        progress: is told (records read, records in all) after each record.

    Returns:
        The number of records and of decisions.

    Raises:
        RecordError: if a record is malformed or breaks a rule, or there is none.
        OSError: if a file cannot be read or written.
    """
    source, out = Path(source), Path(out)
    total = _count_lines(source)
    rows = _Rows(skip_forced)
    variants: dict[str, int] = {}
    records = decisions = 0
    with tempfile.TemporaryDirectory(dir=out.parent or ".", prefix=f".{out.name}.") as folder:
        parts = {name: Path(folder, name) for name in COLUMNS}
        files: dict[str, BinaryIO] = {name: path.open("wb") for name, path in parts.items()}
        try:
            for record in read_records(source):
                try:
                    game = replay(record, watch=rows.add)
                except RecordError as error:
                    raise RecordError(f"{source}, record {records + 1}: {error}") from None
                variant = variants.setdefault(_rules_of(game), len(variants))
                rows.finish(game, records, variant)
                for name, file in files.items():
                    file.write(rows.columns[name][: rows.count].tobytes())
                records += 1
                decisions += rows.count
                rows.clear()
                if progress is not None:
                    progress(records, total)
        finally:
            for file in files.values():
                file.close()
        if not records:
            raise RecordError(f"{source}: no records")
        about = {
            "format": FORMAT,
            "observation_version": observe.OBSERVATION_VERSION,
            "skip_forced": skip_forced,
        }
        texts = {"variants": list(variants), "about": [json.dumps(about)]}
        with replacing(out) as target:
            _write_archive(target, parts, decisions, texts)
    return records, decisions


def _rules_of(game: Game) -> str:
    """Returns the rules of a game as JSON, with the keys that records have for them."""
    variant = game.variant
    rules: dict[str, Any] = {"variant": variant.name, "options": variant.options}
    if not variant.shipped:
        rules |= {"options": {}, "spec": variant.data}
    return json.dumps(rules, sort_keys=True)


def _count_lines(path: Path) -> int:
    """Returns the number of lines that are not blank."""
    with path.open("rb") as file:
        return sum(1 for line in file if not line.isspace())


def _write_archive(
    target: BinaryIO, parts: Mapping[str, Path], num_rows: int, texts: Mapping[str, list[str]]
) -> None:
    """Writes columns and texts as ``np.savez_compressed`` would, without reading columns whole."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, column in COLUMNS.items():
            header = {
                "descr": np.lib.format.dtype_to_descr(np.dtype(column.dtype)),
                "fortran_order": False,
                "shape": column.shape(num_rows),
            }
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array_header_1_0(entry, header)
                with parts[name].open("rb") as file:
                    while chunk := file.read(1 << 20):
                        entry.write(chunk)
        for name, lines in texts.items():
            with archive.open(f"{name}.npy", "w") as entry:
                np.lib.format.write_array(entry, np.array(lines), allow_pickle=False)


def load(path: str | Path) -> Dataset:
    """Reads a dataset.

    Raises:
        DatasetError: if the file is no dataset, or its observations are of another version.
        OSError: if the file cannot be read.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in [*COLUMNS, "variants", "about"]}
        about = json.loads(str(arrays["about"][0]))
        variants = [json.loads(str(text)) for text in arrays["variants"]]
        found = (about["format"], about["observation_version"])
        skip_forced = bool(about["skip_forced"])
    except (ValueError, KeyError, TypeError, IndexError, EOFError, zipfile.BadZipFile):
        raise DatasetError(f"{path}: not a dataset; king dataset makes one of records") from None
    expected = (FORMAT, observe.OBSERVATION_VERSION)
    if found != expected:
        raise DatasetError(
            f"{path}: format and observation version: found {found[0]} and {found[1]}; "
            f"allowed: {expected[0]} and {expected[1]}; make it of its records again"
        )
    num_rows = len(arrays["action"])
    for name, column in COLUMNS.items():
        array = arrays[name]
        if array.shape != column.shape(num_rows) or array.dtype != column.dtype:
            raise DatasetError(
                f"{path}: column {name}: found {array.dtype} {array.shape}; "
                f"allowed: {column.dtype} {column.shape(num_rows)}"
            )
    columns = {name: arrays[name] for name in COLUMNS}
    return Dataset(**columns, variants=variants, skip_forced=skip_forced)
