"""Who plays the rule examples: every implementation of the rules behind one small interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from tests.naive import NaiveMatch

Deals = Callable[[int], list[list[str]]]
"""The four hands of deal k (from 0), each in order of arrival."""


class Match(Protocol):
    """A match in progress, moved on by action names. See `NaiveMatch` for the meaning."""

    @property
    def phase(self) -> str: ...
    @property
    def actor(self) -> int | None: ...
    @property
    def points(self) -> Sequence[int]: ...
    @property
    def deal_scores(self) -> Sequence[Sequence[int]]: ...
    @property
    def totals(self) -> Sequence[int]: ...
    @property
    def deal_index(self) -> int: ...
    @property
    def dealer(self) -> int: ...
    @property
    def contract(self) -> str | None: ...
    @property
    def trump(self) -> str | None: ...
    def legal(self) -> set[str]: ...
    def push(self, name: str, /) -> None: ...


MatchFactory = Callable[[str, Mapping[str, object], int, Deals], Match]
"""`make_match(variant, options, first_dealer, deals)`; refuses wrong options with ValueError."""

FACTORIES: dict[str, MatchFactory] = {"naive": NaiveMatch}
