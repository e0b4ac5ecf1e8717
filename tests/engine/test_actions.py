from __future__ import annotations

import pytest

from king_env.engine.actions import ACTION_NAMES, NUM_ACTIONS, ActionNames
from tests.playing import VARIANTS
from tests.rules.factories import find_variant

CALLS = ["+1", "+2", "+3", "-1", "+4", "+5", "+6", "-2", "+7", "+8"]
SYSTEM_A = [
    *"open pass match accept refuse take_unplayed agree decline reject".split(),
    *(f"match:{call}" for call in ("+3", "-1", "+6", "-2")),
    *(f"{verb}:{call}" for verb in ("bid", "ultimatum", "negotiate") for call in CALLS),
    *(f"declare:{what}" for what in ("S", "H", "D", "C", "NT", "NEG")),
]
SYSTEM_D = [f"contract:{name}" for name in ("kupa", "el", "erkek", "kiz", "rifki", "soniki")] + [
    f"contract:koz:{suit}" for suit in "SHDC"
]
CARDS = [rank + suit for rank in "23456789TJQKA" for suit in "SHDC"]

# Ids are in trained networks: one that moves needs a new environment version.
PINNED = {
    "2S": 0,
    "KH": 24,
    "AC": 51,
    "pass": 52,
    "open": 53,
    "accept": 54,
    "refuse": 55,
    "take_unplayed": 56,
    "agree": 57,
    "decline": 58,
    "reject": 59,
    "match": 60,
    "match:+3": 61,
    "match:-2": 64,
    "bid:+1": 65,
    "bid:-1": 68,
    "bid:+8": 74,
    "ultimatum:+1": 75,
    "negotiate:+2": 86,
    "negotiate:+8": 94,
    "declare:S": 95,
    "declare:NT": 99,
    "declare:NEG": 100,
    "order:S": 101,
    "order:WRITE2": 108,
    "buy:1": 109,
    "buy:8": 116,
}
PINNED_TURKISH = {
    "contract:kupa": 117,
    "contract:el": 118,
    "contract:erkek": 119,
    "contract:kiz": 120,
    "contract:rifki": 121,
    "contract:soniki": 122,
    "contract:koz:S": 123,
    "contract:koz:C": 126,
}


def names_of(variant: str) -> ActionNames:
    return ActionNames(find_variant(variant, {}).spec)


@pytest.mark.parametrize("variant", VARIANTS)
def test_names_go_both_ways(variant: str) -> None:
    names = names_of(variant)
    texts = [names.format(action) for action in range(NUM_ACTIONS)]
    assert len(set(texts)) == NUM_ACTIONS == 149
    assert [names.parse(text) for text in texts] == list(range(NUM_ACTIONS))


def test_every_name_of_the_record_format_exists() -> None:
    for name in CARDS + SYSTEM_A:
        assert 0 <= names_of("international").parse(name) < NUM_ACTIONS
    for name in CARDS + SYSTEM_D:
        assert 0 <= names_of("turkish_short").parse(name) < NUM_ACTIONS


def test_ids_are_pinned() -> None:
    assert {name: ACTION_NAMES.index(name) for name in PINNED} == PINNED
    turkish = names_of("turkish_short")
    assert {name: turkish.parse(name) for name in PINNED_TURKISH} == PINNED_TURKISH


@pytest.mark.parametrize("name", ["", "bid", "bid:9", "bid:3", "kh", "contract:kupa", "pass "])
def test_unknown_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"no action of this variant"):
        names_of("international").parse(name)
