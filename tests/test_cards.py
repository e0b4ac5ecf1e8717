from __future__ import annotations

import pytest

from king_env import cards


def test_codes_names_suits_and_ranks_agree() -> None:
    assert len(cards.CARD_NAMES) == len(set(cards.CARD_NAMES)) == 52
    for code, name in enumerate(cards.CARD_NAMES):
        assert cards.parse_card(name) == code
        assert cards.SUITS[cards.suit_of(code)] == name[1]
        assert cards.RANKS[cards.rank_of(code)] == name[0]
    # Codes are in records' and networks' weights: moving one breaks both.
    pinned = {"2S": 0, "AS": 12, "2H": 13, "KH": 24, "TD": 34, "7C": 44, "AC": 51}
    assert {name: cards.parse_card(name) for name in pinned} == pinned


@pytest.mark.parametrize("name", ["", "SA", "10S", "as", "1S", "AX", "ASS", " AS"])
def test_malformed_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"expected rank then suit"):
        cards.parse_card(name)


def test_masks() -> None:
    assert cards.mask_of([]) == 0
    assert list(cards.cards_of(0)) == []
    codes = [3, 0, 51, 24]
    assert list(cards.cards_of(cards.mask_of(codes))) == sorted(codes)
    together = 0
    for suit in range(4):
        mask = cards.suit_mask(suit)
        assert {cards.suit_of(card) for card in cards.cards_of(mask)} == {suit}
        assert mask.bit_count() == 13 and not together & mask
        together |= mask
    assert together == cards.pack_mask(52) == 2**52 - 1
    assert {cards.CARD_NAMES[card] for card in cards.cards_of(cards.rank_mask("KJ"))} == {
        rank + suit for rank in "KJ" for suit in "SHDC"
    }
    short = {cards.CARD_NAMES[card] for card in cards.cards_of(cards.pack_mask(32))}
    assert short == {rank + suit for rank in "AKQJT987" for suit in "SHDC"}


def test_a_hand_as_text() -> None:
    hand = cards.mask_of(map(cards.parse_card, ["7S", "AS", "KS", "QD", "2C", "TC", "9C"]))
    assert cards.format_hand(hand) == "S:AK7 H:- D:Q C:T92"
