"""Who plays the rule examples: every implementation of the rules behind one small interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from king_env.cards import CARD_NAMES, SUITS, cards_of
from king_env.engine.layout import NO_CARD
from king_env.game import Game
from king_env.rules.catalogue import Variant, load_variant
from tests.naive import NaiveMatch

TEST_VARIANTS = Path(__file__).parents[1] / "variants"

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


def find_variant(name: str, options: Mapping[str, object]) -> Variant:
    """Loads a shipped variant or one of the tests' own."""
    own = TEST_VARIANTS / f"{name}.toml"
    return load_variant(own if own.exists() else name, options)


def _names(mask: int) -> set[str]:
    return {CARD_NAMES[card] for card in cards_of(mask)}


class EngineMatch:
    """The compiled engine behind the interface of `Match`."""

    def __init__(
        self, variant: str, options: Mapping[str, object], first_dealer: int, deals: Deals
    ) -> None:
        self.game = Game(find_variant(variant, options))
        self._deals = deals
        self.game.set_hands(deals(0), first_dealer)

    @property
    def phase(self) -> str:
        return self.game.phase

    @property
    def actor(self) -> int | None:
        return self.game.actor

    @property
    def points(self) -> list[int]:
        return self.game.points

    @property
    def deal_scores(self) -> list[list[int]]:
        return [log.scores for log in self.game.deals if log.scores is not None]

    @property
    def totals(self) -> list[int]:
        return [sum(column) for column in zip([0] * 4, *self.deal_scores, strict=True)]

    @property
    def deal_index(self) -> int:
        return len(self.deal_scores)

    @property
    def dealer(self) -> int:
        return self.game.deals[-1].dealer

    @property
    def contract(self) -> str | None:
        return None if self.game.is_over else self.game.deals[-1].contract

    @property
    def contracts_played(self) -> list[str | None]:
        """Ids of the finished deals' contracts, None for unplayed ones."""
        return [log.contract for log in self.game.deals[: self.deal_index]]

    @property
    def trump(self) -> str | None:
        trump = -1 if self.game.is_over else int(self.game.record.deal.trump)
        return SUITS[trump] if 0 <= trump < 4 else None

    def legal(self) -> set[str]:
        return set(self.game.legal_names())

    def push(self, name: str, /) -> None:
        finished = self.deal_index
        self.game.push(name)
        if self.deal_index > finished and not self.game.is_over:
            self.game.set_hands(self._deals(self.deal_index))

    def shown_not_held(self) -> list[set[str]]:
        """The engine's masks of cards that a seat has shown it does not hold."""
        return [_names(int(mask)) for mask in self.game.record.deal.not_held]

    def arrived(self) -> list[set[str]]:
        """The cards held, of those that have been dealt out."""
        return [_names(int(mask)) for mask in self.game.record.deal.hands]

    def to_come(self) -> list[set[str]]:
        """The cards of each seat that have not been dealt out yet."""
        return [_names(int(mask)) for mask in self.game.record.deal.undealt]

    def hands(self) -> list[set[str]]:
        """The cards held, those to come included."""
        pairs = zip(self.arrived(), self.to_come(), strict=True)
        return [held | to_come for held, to_come in pairs]

    @property
    def shown_card(self) -> tuple[str, int] | None:
        """The card that was shown to all in this deal, and its owner."""
        deal = self.game.record.deal
        if deal.shown == NO_CARD:
            return None
        return CARD_NAMES[int(deal.shown)], int(deal.shown_owner)


FACTORIES: dict[str, MatchFactory] = {"naive": NaiveMatch, "engine": EngineMatch}
