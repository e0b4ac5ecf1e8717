"""Reads plain data (a TOML file, JSON) into frozen dataclasses, strictly.

Unknown keys, wrong types and values outside their range are problems; all problems of a document
are collected, each as one line that names the place, what was found and what is allowed. The
dataclass is the schema: ``item(...)`` attaches the sentence, the choices and the range to a field.
"""

from __future__ import annotations

import dataclasses
import difflib
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")


class DocumentError(ValueError):
    """A document that cannot be read; ``problems`` holds one line for each thing wrong."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("; ".join(problems))


def item(
    doc: str,
    default: Any = dataclasses.MISSING,
    *,
    choices: Iterable[Any] | None = None,
    low: float | None = None,
    high: float | None = None,
) -> Any:
    """Declares a field: its sentence, default, allowed values or range (bounds included)."""
    metadata = {"doc": doc, "choices": tuple(choices) if choices else None, "range": (low, high)}
    if isinstance(default, (dict, list)):
        return dataclasses.field(default_factory=lambda: type(default)(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def suggest(name: str, allowed: Iterable[str]) -> str:
    """Returns ``allowed: a, b, c`` with the nearest name first where one is near."""
    names = [str(entry) for entry in allowed]
    near = difflib.get_close_matches(str(name), names, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}allowed: {', '.join(names)}"


def describe_type(kind: Any) -> str:
    """Returns the words for a type in an error message."""
    words = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
    if kind in words:
        return words[kind]
    if dataclasses.is_dataclass(kind):
        return "a table"
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        parts = [describe_type(arg) for arg in typing.get_args(kind) if arg is not type(None)]
        return " or ".join(parts)
    if origin is tuple:
        return "a list"
    return "a table"


def read(kind: type[T], data: object, where: str, problems: list[str]) -> T | None:
    """Reads a table into the dataclass ``kind``.

    Args:
        kind: the dataclass to make.
        data: the table read.
        where: the place of the table, the start of each message.
        problems: problems found are appended here.

    Returns:
        The instance, or None where the table has problems of its own.
    """
    if not isinstance(data, Mapping):
        problems.append(f"{where}: expected a table, found {data!r}")
        return None
    before = len(problems)
    hints = typing.get_type_hints(kind)
    fields = {f.name: f for f in dataclasses.fields(typing.cast(Any, kind)) if f.init}
    for key in data:
        if key not in fields:
            problems.append(f"{where}: unknown key {key!r}; {suggest(str(key), fields)}")
    values: dict[str, Any] = {}
    for name, field in fields.items():
        place = f"{where}.{name}"
        if name in data:
            values[name] = _read_value(hints[name], field, data[name], place, problems)
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            problems.append(f"{place}: missing; expected {describe_type(hints[name])}")
    return kind(**values) if len(problems) == before else None


def _read_value(
    kind: Any, field: dataclasses.Field[Any], value: object, place: str, problems: list[str]
) -> Any:
    """Reads one value and checks it against the field's choices and range."""
    choices = field.metadata.get("choices")
    low, high = field.metadata.get("range", (None, None))
    result = _convert(kind, value, place, problems)
    entries = result if isinstance(result, tuple) else (result,)
    for entry in entries:
        if entry is None or dataclasses.is_dataclass(entry):
            continue
        if choices is not None and not any(
            entry == choice and type(entry) is type(choice) for choice in choices
        ):
            allowed = ", ".join(str(choice) for choice in choices)
            problems.append(f"{place}: found {entry!r}; allowed: {allowed}")
        elif isinstance(entry, (int, float)) and not isinstance(entry, bool):
            if (low is not None and entry < low) or (high is not None and entry > high):
                problems.append(f"{place}: found {entry!r}; allowed: {low} to {high}")
    return result


def _convert(kind: Any, value: object, place: str, problems: list[str]) -> Any:
    """Converts a value to a type; appends a problem and returns None where it does not fit."""
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        for option in typing.get_args(kind):
            trial: list[str] = []
            result = _convert(option, value, place, trial)
            if not trial:
                return result
            if dataclasses.is_dataclass(option) and isinstance(value, Mapping):
                problems.extend(trial)
                return None
    elif origin is tuple:
        if isinstance(value, (list, tuple)):
            entry_kind = typing.get_args(kind)[0]
            entries = [
                _convert(entry_kind, entry, f"{place}[{index}]", problems)
                for index, entry in enumerate(value)
            ]
            return tuple(entries)
    elif origin is dict:
        if isinstance(value, Mapping):
            entry_kind = typing.get_args(kind)[1]
            return {
                str(key): _convert(entry_kind, entry, f"{place}.{key}", problems)
                for key, entry in value.items()
            }
    elif kind is Any:
        return value
    elif kind is type(None):
        if value is None:
            return None
    elif dataclasses.is_dataclass(kind):
        return read(typing.cast(type[Any], kind), value, place, problems)
    elif kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    elif isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
        return value
    problems.append(f"{place}: expected {describe_type(kind)}, found {value!r}")
    return None
