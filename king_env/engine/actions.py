"""The one table of action ids, for all variants. Ids never move without a new environment version.

==========  =====================================================================
ids         actions
==========  =====================================================================
0..51       cards, see ``king_env.cards``
52..60      pass open accept refuse take_unplayed agree decline reject match
61..64      match:+3 match:-1 match:+6 match:-2, the call of equal value
65..74      bid, by rung of the ladder +1 +2 +3 -1 +4 +5 +6 -2 +7 +8
75..84      ultimatum, by rung
85..94      negotiate, by rung (+1 is never legal: nothing is worth less)
95..100     declare:S H D C NT NEG
101..108    order:S H D C NT LAST MISERE WRITE2
109..116    buy:1 .. buy:8
117..148    contract slots 0..31, named by the variant: contract:kupa, order:no_tricks
==========  =====================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from king_env.cards import CARD_NAMES
from king_env.rules.spec import LADDER, NUM_SLOTS, VariantSpec

ActionId: TypeAlias = int
"""An action id, 0..148."""

PASS, OPEN, ACCEPT, REFUSE, TAKE_UNPLAYED, AGREE, DECLINE, REJECT, MATCH = range(52, 61)
MATCH_VALUE: Final = 61
BID: Final = 65
ULTIMATUM: Final = 75
NEGOTIATE: Final = 85
DECLARE: Final = 95
DECLARE_NO_TRUMP: Final = DECLARE + 4
DECLARE_MINUS: Final = DECLARE + 5
ORDER: Final = 101
BUY: Final = 109
SLOT: Final = 117
NUM_ACTIONS: Final = SLOT + NUM_SLOTS
NUM_MASK_WORDS: Final = 3

NUM_RUNGS: Final = len(LADDER)
EQUAL_VALUE_RUNGS: Final = (2, 3, 6, 7)
"""Rungs of +3, -1, +6, -2, in the order of the ``match:`` ids."""


def call_name(rung: int) -> str:
    """Returns a call as text, such as ``+3`` or ``-1``."""
    return f"{LADDER[rung]:+d}"


def _fixed_names() -> tuple[str, ...]:
    calls = [call_name(rung) for rung in range(NUM_RUNGS)]
    names = list(CARD_NAMES)
    names += "pass open accept refuse take_unplayed agree decline reject match".split()
    names += [f"match:{call_name(rung)}" for rung in EQUAL_VALUE_RUNGS]
    for verb in ("bid", "ultimatum", "negotiate"):
        names += [f"{verb}:{call}" for call in calls]
    names += [f"declare:{name}" for name in ("S", "H", "D", "C", "NT", "NEG")]
    names += [f"order:{name}" for name in "S H D C NT LAST MISERE WRITE2".split()]
    names += [f"buy:{number}" for number in range(1, 9)]
    names += [f"slot:{number}" for number in range(NUM_SLOTS)]
    return tuple(names)


ACTION_NAMES: Final = _fixed_names()
"""Names by id; contract slots have the names of their variant instead, see ``ActionNames``."""
assert len(ACTION_NAMES) == NUM_ACTIONS


class ActionNames:
    """Names of actions in one variant, both ways."""

    def __init__(self, spec: VariantSpec) -> None:
        self._names = list(ACTION_NAMES)
        for slot, name in spec.slot_names().items():
            self._names[SLOT + slot] = name
        self._ids: Mapping[str, ActionId] = {name: i for i, name in enumerate(self._names)}

    def format(self, action: ActionId) -> str:
        """Returns the name of an action id."""
        return self._names[action]

    def parse(self, name: str) -> ActionId:
        """Returns the id of an action name.

        Raises:
            ValueError: if the variant has no action of this name.
        """
        try:
            return self._ids[name]
        except KeyError:
            raise ValueError(f"action {name!r}: no action of this variant has this name") from None
