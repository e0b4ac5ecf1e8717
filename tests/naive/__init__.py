"""King once more, slow and obvious, written from the rule text to test the engine against.

All named variants of section 8 are covered with all their options, and two tiny 32-card games
(`tiny_three`, `tiny_counter`) that put rules together in ways which those do not.

Cards are text, rank then suit (`AS`, `TD`); seats are 0..3 clockwise; actions are the names of the
record format. Nothing here is shared with the engine and nothing is optimised: sets, lists and
loops that follow the order of the text. Numbers such as "2.4" are sections of the rule text.
"""

from tests.naive.auction import EQUAL_VALUE, LADDER, Auction, settlement, worth
from tests.naive.cards import (
    CARD_UNITS,
    RANKS,
    SEATS,
    SHORT_RANKS,
    SUITS,
    Contract,
    card_units,
    legal_cards,
    rank,
    suit,
    trick_points,
    trick_winner,
)
from tests.naive.choice import demands_can_be_met, team_totals
from tests.naive.match import NaiveMatch
from tests.naive.options import OPTIONS, SYSTEMS, complete_options
from tests.naive.ordering import Ordering
from tests.naive.variants import RUSSIAN_NAMES, TABLES, Table, Variant, is_short

__all__ = [
    "CARD_UNITS",
    "EQUAL_VALUE",
    "LADDER",
    "OPTIONS",
    "RANKS",
    "RUSSIAN_NAMES",
    "SEATS",
    "SHORT_RANKS",
    "SUITS",
    "SYSTEMS",
    "TABLES",
    "Auction",
    "Contract",
    "NaiveMatch",
    "Ordering",
    "Table",
    "Variant",
    "card_units",
    "complete_options",
    "demands_can_be_met",
    "is_short",
    "legal_cards",
    "rank",
    "settlement",
    "suit",
    "team_totals",
    "trick_points",
    "trick_winner",
    "worth",
]
