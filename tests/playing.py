"""What several tests need: variants by name, random play, games at random positions."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from king_env.cards import CARD_NAMES, cards_of
from king_env.game import Game
from king_env.rules.catalogue import variant_names
from tests.rules.factories import TEST_VARIANTS, find_variant

SHIPPED = variant_names()
TINY = sorted(path.stem for path in TEST_VARIANTS.glob("tiny_*.toml"))
VARIANTS = [*SHIPPED, *TINY]


NO_OPTIONS: Mapping[str, object] = {}


def new_game(variant: str, options: Mapping[str, object] = NO_OPTIONS, **how: Any) -> Game:
    """A fresh game of a shipped or of a test variant."""
    return Game(find_variant(variant, options), **how)


def pick(game: Game, rng: random.Random) -> int:
    """A random legal action; outside PLAY all kinds of action are equally likely.

    Plain uniform choice would bid +8 in a few calls and hardly ever come to the later phases.
    """
    legal = game.legal_actions
    if game.phase == "PLAY":
        return rng.choice(legal)
    kinds: dict[str, list[int]] = {}
    for action in legal:
        kinds.setdefault(game.names.format(action).partition(":")[0], []).append(action)
    chosen = kinds[rng.choice(sorted(kinds))]
    return rng.choice(chosen[:3])


def play(game: Game, rng: random.Random, num_actions: int | None = None) -> Game:
    """Plays at random, to the end or for a number of actions; returns the game."""
    made = 0
    while not game.is_over and (num_actions is None or made < num_actions):
        game.push(pick(game, rng))
        made += 1
    return game


def positions(
    variant: str, num_games: int, share: float, options: Mapping[str, object] = NO_OPTIONS
) -> Iterator[Game]:
    """Games at random positions: every decision of some matches with probability ``share``."""
    for number in range(num_games):
        rng = random.Random(f"{variant} {number}")
        game = new_game(variant, options, seed=number)
        while not game.is_over:
            if rng.random() < share:
                yield game
            game.push(pick(game, rng))


def names_of(mask: int) -> set[str]:
    """The names of the cards of a bitboard."""
    return {CARD_NAMES[card] for card in cards_of(int(mask))}
