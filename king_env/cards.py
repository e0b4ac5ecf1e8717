"""One card code for both packs, with bit masks and text forms.

A card is ``suit * 13 + rank``: suits S H D C are 0..3, ranks 2..A are 0..12. A set of cards is a
bitboard: bit ``c`` of a 64-bit word is card ``c``. The 32-card pack is the subset with ranks 7..A.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

Card: TypeAlias = int
"""Card code, 0..51."""

Suit: TypeAlias = int
"""Suit, 0..3 for S H D C."""

NUM_CARDS: Final = 52
NUM_RANKS: Final = 13
SUITS: Final = "SHDC"
RANKS: Final = "23456789TJQKA"
SPADES, HEARTS, DIAMONDS, CLUBS = range(4)

CARD_NAMES: Final[tuple[str, ...]] = tuple(rank + suit for suit in SUITS for rank in RANKS)
_CARD_OF_NAME: Final = {name: card for card, name in enumerate(CARD_NAMES)}


def suit_of(card: Card) -> Suit:
    """Returns the suit of a card, 0..3."""
    return card // NUM_RANKS


def rank_of(card: Card) -> int:
    """Returns the rank of a card, 0 (two) .. 12 (ace)."""
    return card % NUM_RANKS


def parse_card(name: str) -> Card:
    """Returns the card called ``name``, rank then suit, such as ``KH`` or ``TD``.

    Raises:
        ValueError: if there is no such card.
    """
    try:
        return _CARD_OF_NAME[name]
    except KeyError:
        raise ValueError(
            f"card {name!r}: expected rank then suit, a rank of {RANKS} and a suit of {SUITS}"
        ) from None


def mask_of(cards: Iterable[Card]) -> int:
    """Returns the bitboard of a collection of cards."""
    mask = 0
    for card in cards:
        mask |= 1 << card
    return mask


def cards_of(mask: int) -> Iterator[Card]:
    """Yields the cards of a bitboard, lowest code first."""
    mask = int(mask)
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def suit_mask(suit: Suit) -> int:
    """Returns the bitboard of the 13 cards of a suit."""
    return 0x1FFF << (NUM_RANKS * suit)


def rank_mask(ranks: str) -> int:
    """Returns the bitboard of all cards whose rank letter is in ``ranks``, such as ``"KJ"``."""
    return mask_of(card for card, name in enumerate(CARD_NAMES) if name[0] in ranks)


def pack_mask(num_cards: int) -> int:
    """Returns the bitboard of the 52-card pack or of the 32-card pack (sevens and up)."""
    return rank_mask(RANKS if num_cards == NUM_CARDS else "789TJQKA")


def format_hand(mask: int) -> str:
    """Returns a hand as text, suit by suit, high cards first: ``S:AK7 H:- D:Q C:T92``."""
    parts = []
    for suit, letter in enumerate(SUITS):
        ranks = "".join(RANKS[rank_of(card)] for card in cards_of(int(mask) & suit_mask(suit)))
        parts.append(f"{letter}:{ranks[::-1] or '-'}")
    return " ".join(parts)
