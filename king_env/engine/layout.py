"""The game record: every field with dtype, unit and meaning; ``allocate`` is the only maker.

Axes: N games, S seats. Kernels called from Python take (games, index); only kernels pass records
to kernels. ``games[j] = games[i]`` copies a game: a clone is an assignment.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from king_env.cards import NUM_RANKS, suit_mask
from king_env.engine.actions import NUM_MASK_WORDS
from king_env.engine.jit import i64 as i64
from king_env.engine.jit import u64 as u64
from king_env.rules.spec import MAX_CONTRACTS, MAX_GROUPS

Games: TypeAlias = np.recarray[Any, Any]
"""`[N]` recarray of ``GAME_DTYPE``."""

Tables: TypeAlias = np.recarray[Any, Any]
"""`[V]` recarray of ``king_env.rules.tables.TABLE_DTYPE``."""

NUM_SEATS: Final = 4
NOBODY: Final = 4  # seat that is not a seat
NO_TRUMP: Final = 4
UNKNOWN: Final = -1  # contract, trump, rung: nothing yet
NO_CARD: Final = 255

PHASES: Final = (
    "OPEN", "BID", "DECIDE", "NEGOTIATE", "ULTIMATUM", "DECLARE",
    "ORDER", "BUY", "SELL", "CHOOSE", "PLAY", "OVER",
)  # fmt: skip
(
    PHASE_OPEN, PHASE_BID, PHASE_DECIDE, PHASE_NEGOTIATE, PHASE_ULTIMATUM, PHASE_DECLARE,
    PHASE_ORDER, PHASE_BUY, PHASE_SELL, PHASE_CHOOSE, PHASE_PLAY, PHASE_OVER,
) = range(12)  # fmt: skip
NUM_PHASES: Final = len(PHASES)

DEAL_DTYPE: Final = np.dtype(
    [
        # Bitboards
        ("hands", "u8", (4,)),  # cards held and already dealt, by seat
        ("undealt", "u8", (4,)),  # cards of the seat that have not arrived yet
        ("played", "u8", (4,)),  # cards each seat has played
        ("taken", "u8", (4,)),  # cards in the tricks each seat has taken
        ("not_held", "u8", (4,)),  # cards the play has shown the seat does not hold
        ("when", "u8", (4,)),  # by suit, 4 bits a rank: the trick in which a played card was played
        ("trick_cards", "u8"),  # cards of the trick in progress
        ("legal", "u8", (NUM_MASK_WORDS,)),  # legal actions: action a is bit a % 64 of word a // 64
        # Counts
        ("points", "i2", (4,)),  # points of this deal, as they are scored
        ("decisions", "u2"),  # actions applied in this deal
        ("tricks", "u1", (4,)),  # tricks taken, by seat
        ("last", "u1", (4,)),  # of the last two tricks, those taken, by seat
        ("order", "u1", (4, NUM_RANKS)),  # cards of each seat in order of arrival
        ("trick", "u1", (4,)),  # cards of the trick in progress in the order played
        # Who and where
        ("phase", "u1"),  # PHASE_*
        ("actor", "u1"),  # seat to act, or NOBODY
        ("dealer", "u1"),
        ("leader", "u1"),  # who leads the trick in progress
        ("chooser", "u1"),  # who chooses or auctions the choice
        ("declarer", "u1"),  # who declared, or NOBODY
        ("holder", "u1"),  # who holds the highest call, or NOBODY
        ("buyer", "u1"),  # who bought the choice, or NOBODY
        ("contract", "i1"),  # contract, or UNKNOWN
        ("trump", "i1"),  # suit, NO_TRUMP, or UNKNOWN
        ("trick_number", "u1"),  # tricks finished
        ("trick_size", "u1"),  # cards in the trick in progress
        ("best", "u1"),  # best card of the trick in progress
        ("best_seat", "u1"),  # who played it
        ("broken", "u1"),  # a heart was played to an earlier trick
        ("dealt", "u1"),  # cards each seat has received
        ("shown", "u1"),  # a card shown to all, or NO_CARD
        ("shown_owner", "u1"),
        # The auction
        ("floor", "i1"),  # highest rung ever reached, or tricks bid - 1, or UNKNOWN
        ("call", "i1"),  # the holder's call as a rung, or tricks bid - 1, or UNKNOWN
        ("asked", "i1"),  # rung of the negotiation or ultimatum put, or UNKNOWN
        ("declined", "i1"),  # rung of the last negotiation declined, or UNKNOWN
        ("offers", "u1"),  # raises and matches made
        ("requests", "u1"),  # negotiations left
        ("active", "u1"),  # bit s: seat s is still in the bidding
        ("rejected", "u1"),  # bit s: seat s rejected the ultimatum
        ("unplayed", "u1"),  # 1: the deal was taken unplayed, or tricks were written
    ],
    align=True,
)
"""What a search copies: one deal, 4 seats."""

GAME_DTYPE: Final = np.dtype(
    [
        ("deal", DEAL_DTYPE),
        ("seed", "u8"),  # seed of the deals
        ("match", "i8"),  # number of the match, or of the deal in a suite of deals
        ("totals", "i4", (4,)),  # points of the finished deals
        ("paid", "i4", (4,)),  # points already handed out as rewards
        ("used", "u1", (4, MAX_CONTRACTS)),  # choices made, by seat and contract
        ("left", "u1", (4, MAX_GROUPS)),  # choices left, by seat and quota group
        ("variant", "i2"),  # index of the rule table
        ("position", "i2"),  # deal of the match, from 0
        ("end", "i2"),  # the episode is over before this deal
        ("first_dealer", "u1"),
        ("control", "u1", (4,)),  # who plays a seat: 0 the caller, else a compiled policy's id
    ],
    align=True,
)

SUIT_MASKS: Final = np.array([suit_mask(suit) for suit in range(4)] + [0], dtype=np.uint64)
"""Cards of a suit; index 4 (no trump) is empty."""

HEARTS_MASK: Final = u64(suit_mask(1))
KING_OF_HEARTS: Final = 1 * NUM_RANKS + 11
KING_MASK: Final = u64(1 << KING_OF_HEARTS)
ALL_CARDS: Final = u64((1 << 52) - 1)
ZERO: Final = u64(0)
ONE: Final = u64(1)


def _better_masks() -> npt.NDArray[np.uint64]:
    """Returns, by rank order and card, the cards of the same suit that beat it."""
    masks = np.zeros((2, 52), dtype=np.uint64)
    for card in range(52):
        suit = suit_mask(card // NUM_RANKS)
        above = suit & ~((1 << (card + 1)) - 1)
        masks[0, card] = above
        masks[1, card] = suit & ~above & ~(1 << card)
    return masks


BETTER: Final = _better_masks()
"""`[2, 52]` uint64: cards of the same suit that beat a card, ranks normal and reversed."""


_GAME_RECORD: Final = np.dtype((np.record, GAME_DTYPE))
# One dtype object for all arrays: numba recognises it by identity, an equal one costs 8 us a call.


def allocate(num_games: int) -> Games:
    """Returns `[N]` game records, all zero: aligned, contiguous and writable."""
    return np.zeros(num_games, dtype=_GAME_RECORD).view(np.recarray)
