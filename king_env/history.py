"""The public actions of a deal in order: a second observation for sequence models.

A history is `[MAX_HISTORY, NUM_FIELDS]` int16, one row an action of the episode's current deal, the
oldest first: row k is action k of the deal and stays where it is as the deal goes on. Rows that are
not played yet hold -1. ``FIELDS`` is the block list of a row.

Together with the own hand this is perfect recall of a deal: what else is public (a card shown to
all, who declared, what was sold) follows from it or stands in the observation beside it. Only where
a deal is ordered on the first cards, which of the own cards those were is seen while it lasts. Of
earlier deals only scores and choices used up have any bearing on later ones, and both are in the
observation (``totals``, ``choices``, ``quota``), so a history begins anew with every deal.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from king_env.engine.actions import NUM_ACTIONS
from king_env.engine.layout import NUM_PHASES, NUM_SEATS
from king_env.engine.observe import Block
from king_env.game import Game

MAX_DECISIONS: Final = 44
"""Bound on the actions of a deal before its play.

The longest auction (rules.md 2.4) has at most 1 opening, 21 calls, 3 negotiations of 2 actions, 1
ultimatum with 3 answers and 1 declaration, together 33; a search over all auctions, which is a
test, finds 31. Orders and sales take fewer. The rest is room.
"""

MAX_HISTORY: Final = MAX_DECISIONS + 52
"""Rows of a history."""

PADDING: Final = -1
"""What rows hold that are not played yet."""

FIELDS: Final = {
    block.name: block
    for block in (
        Block("seat", 1, NUM_SEATS - 1, "relative seat that acted: 0 oneself, 1 plays next", 0),
        Block("action", 1, NUM_ACTIONS - 1, "action id, see engine.actions", 1),
        Block("phase", 1, NUM_PHASES - 1, "phase it was made in, in the order of layout.PHASES", 2),
    )
}
"""The fields of a row, by name: offset and size; ``scale`` is the largest value."""

NUM_FIELDS: Final = sum(block.size for block in FIELDS.values())


def history_space() -> spaces.Box:
    """Returns the space of a history."""
    high = np.array([block.scale for block in FIELDS.values()], dtype=np.int16)
    rows = np.broadcast_to(high, (MAX_HISTORY, NUM_FIELDS)).copy()
    return spaces.Box(np.full_like(rows, PADDING), rows, dtype=np.int16)


def history_of(game: Game, seat: int) -> npt.NDArray[np.int16]:
    """Returns the actions of the deal in progress, or of an episode's last deal, as a seat sees it.

    Args:
        game: the game.
        seat: the seat that looks, 0..3.

    Returns:
        `[MAX_HISTORY, NUM_FIELDS]` int16, see the head of this file.
    """
    out = np.full((MAX_HISTORY, NUM_FIELDS), PADDING, dtype=np.int16)
    log = game.deals[-1]
    count = len(log.actions)
    if count:
        out[:count, :2] = log.actions
        out[:count, 0] = (out[:count, 0] - seat) * game.variant.spec.step % NUM_SEATS
        out[:count, 2] = log.phases
    return out
