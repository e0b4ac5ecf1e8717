"""Ratings, a second view beside the margins: they forget by how much a deal was won."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from openskill.models import PlackettLuce

_RANKS: Final = {"+": (1.0, 2.0), "-": (2.0, 1.0), "0": (1.0, 1.0)}


@dataclass(frozen=True)
class Rating:
    """A Plackett-Luce rating: 25 and 25/3 before the first game.

    Attributes:
        mu: expected strength.
        sigma: its uncertainty, which says nothing about the luck of the cards.
    """

    mu: float
    sigma: float


def rate(agents: Sequence[str], games: Mapping[tuple[str, str], str]) -> dict[str, Rating]:
    """Returns ratings of agents.

    Each deal of a cell is a game of two: won by the candidate where its margin over all seatings is
    positive, drawn where it is 0. Cells take turns, deal by deal.

    Args:
        agents: their names.
        games: by candidate and other agent, ``+``, ``-`` or ``0`` for each deal.

    Source: Weng and Lin 2011, "A Bayesian approximation method for online ranking", section 4
    (Plackett-Luce); the package openskill.
    """
    model = PlackettLuce()
    ratings = {name: model.rating(name=name) for name in agents}
    for row in zip_longest(*games.values(), fillvalue=""):
        for (one, two), sign in zip(games, row, strict=True):
            if sign:
                rated = model.rate([[ratings[one]], [ratings[two]]], ranks=list(_RANKS[sign]))
                ratings[one], ratings[two] = rated[0][0], rated[1][0]
    return {name: Rating(float(entry.mu), float(entry.sigma)) for name, entry in ratings.items()}
