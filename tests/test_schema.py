from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from king_env.schema import item, read, suggest


@dataclass(frozen=True, kw_only=True)
class Inner:
    size: int = item("a size", low=1, high=9)


@dataclass(frozen=True, kw_only=True)
class Outer:
    name: str = item("a name")
    kind: str = item("a kind", "red", choices=("red", "blue"))
    flag: bool = item("a flag", False)
    rate: float = item("a rate", 0.5, low=0.0, high=1.0)
    seat: int | str = item("a seat", "lot", choices=("lot", 0, 1))
    inner: Inner | None = item("a table", None)
    entries: tuple[Inner, ...] = item("a list of tables", ())
    counts: tuple[int, ...] = item("numbers", (1, 2), low=0, high=5)
    table: dict[str, int] = item("a free table", {})


def problems_of(data: object) -> list[str]:
    problems: list[str] = []
    result = read(Outer, data, "doc", problems)
    assert (result is None) == bool(problems)
    return problems


def test_reads_and_fills_in_defaults() -> None:
    data = {"name": "x", "rate": 1, "inner": {"size": 3}, "entries": [{"size": 1}], "counts": [5]}
    problems: list[str] = []
    result = read(Outer, data, "doc", problems)
    assert not problems
    assert result == Outer(
        name="x", rate=1.0, inner=Inner(size=3), entries=(Inner(size=1),), counts=(5,)
    )
    assert isinstance(result.rate, float)


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"nme": "x"}, ["doc: unknown key 'nme'", "did you mean 'name'?", "allowed:"]),
        ({"kind": "green"}, ["doc.kind", "'green'", "red, blue"]),
        ({"kind": 1}, ["doc.kind", "expected text", "found 1"]),
        ({"flag": 1}, ["doc.flag", "expected true or false", "found 1"]),
        ({"flag": "yes"}, ["doc.flag", "'yes'"]),
        ({"rate": 1.5}, ["doc.rate", "1.5", "0.0 to 1.0"]),
        ({"rate": True}, ["doc.rate", "expected a number"]),
        ({"seat": True}, ["doc.seat", "whole number or text", "found True"]),
        ({"seat": 2}, ["doc.seat", "found 2", "lot, 0, 1"]),
        ({"inner": 5}, ["doc.inner", "found 5"]),
        ({"inner": {}}, ["doc.inner.size", "missing"]),
        ({"inner": {"size": 10}}, ["doc.inner.size", "10", "1 to 9"]),
        ({"inner": {"size": 1.0}}, ["doc.inner.size", "whole number"]),
        ({"entries": {"size": 1}}, ["doc.entries", "expected a list"]),
        ({"entries": [{"size": 1}, {"sice": 2}]}, ["doc.entries[1]", "'sice'", "'size'"]),
        ({"counts": [1, 6]}, ["doc.counts", "found 6", "0 to 5"]),
        ({"counts": [1, "2"]}, ["doc.counts[1]", "'2'"]),
        ({"table": {"a": "b"}}, ["doc.table.a", "'b'"]),
    ],
)
def test_a_problem_names_place_finding_and_what_is_allowed(
    change: dict[str, Any], parts: list[str]
) -> None:
    lines = problems_of({"name": "x", **change})
    assert lines
    text = "; ".join(lines)
    assert "\n" not in text
    for part in parts:
        assert part in text


def test_all_problems_are_reported_together() -> None:
    lines = problems_of({"kind": "green", "flag": 3, "what": 1})
    assert len(lines) == 4  # the missing name too
    for place in ("doc.kind", "doc.flag", "'what'", "doc.name"):
        assert sum(place in line for line in lines) == 1


@pytest.mark.parametrize("data", [None, 3, "text", [1]])
def test_a_document_that_is_no_table(data: object) -> None:
    assert problems_of(data) == [f"doc: expected a table, found {data!r}"]


def test_suggest_names_the_nearest_first() -> None:
    assert suggest("turkish", ["international", "turkish_short"]).startswith(
        "did you mean 'turkish_short'? allowed: international"
    )
    assert suggest("zzz", ["a", "b"]) == "allowed: a, b"
