"""The options of each named variant (rule text 8 and 9): the first value is the default."""

from __future__ import annotations

from collections.abc import Mapping

Values = tuple[object, ...]

_A: dict[str, Values] = {
    "early_end": ("never", "auto"),
    "a.pack": (52, 32),
    "a.table32": ("literal", "balanced160"),
    "a.lead_negative": ("dealer", "dealer_left"),
    "a.lead_positive": ("dealer", "dealer_left", "declarer"),
    "a.no_king_lead": ("king_only", "no_hearts"),
    "a.no_king_force": ("none", "void", "first_opportunity"),
    "a.allow_no_trump": (True, False),
    "a.must_trump": (False, True),
    "a.must_overtrump": (False, True),
    "a.auction.max_plus": (8, 1, 2, 3, 4, 5, 6, 7),
    "a.auction.match": ("same_call", "same_value", "off"),
    "a.auction.plus8_binding": ("always", "ultimatum_only"),
    "a.auction.bid_binds_deal": (True, False),
    "a.negotiation.max_requests": (1, 0, 2, 3),
    "a.ultimatum.enabled": (True, False),
    "a.ultimatum.timing": ("closing", "both"),
    "a.ultimatum.demands": ("any_higher", "eight_only"),
    "a.ultimatum.respondents": ("all", "active", "holder"),
    "a.ultimatum.fallback": ("negative", "free"),
    "a.plus_settlement": ("transfer", "transfer_capped"),
    "a.minus_settlement": ("absorb_capped", "fixed_transfer"),
    "a.failed.criterion": ("offer_count", "best_value", "never"),
    "a.failed.threshold": (3, 1, 2, 4, 5, 6, 7, 8),
}
_B_AND_C: dict[str, Values] = {  # 11.13
    "early_end": ("auto", "never"),
    "b.boys": ("KJ2", "K4", "J4"),
    "b.king_force": (True, False),
    "b.eralash_force_king": (False, True),
    "b.positive_restrictions": ("same", "lead_only", "none"),
}
_B: dict[str, Values] = _B_AND_C | {
    "b.stage2": ("v1", "v2", "v3"),
    "b.must_trump": (False, True),
    "b.v1.buy_timing": ("after_order", "before_order"),
    "b.v1.seller_may_refuse": (True, False),
    "b.v1.payment_cap": ("none", "tricks_taken"),
    "b.v1.max_bid": (8, 1, 2, 3, 4, 5, 6, 7),
    "b.v1.write_two": ("declarer", "off"),
    "b.v1.lead": ("orderer_seat", "declarer"),
    "b.v2.order": ("as_v1", "full_hand"),
}
_D: dict[str, Values] = {
    "early_end": ("never", "auto"),
    "d.match": ("short", "full"),
    "d.partnership": (False, True),
    "d.global_cap": ("none", 2),
    "d.hearts_lead": ("until_broken", "free", "never"),
    "d.force_penalty": ("none", "discard", "discard_and_duck"),
    "d.must_overtrump": (False, True),
}
_E: dict[str, Values] = {
    "early_end": ("auto", "never"),
    "e.hearts_lead": ("free", "until_broken", "never"),
    "e.force_penalty": ("none", "discard", "discard_and_duck"),
    "e.must_overtrump": (False, True),
    "e.per_player_unique": (False, True),
}


def _with_defaults(
    options: Mapping[str, Values], defaults: Mapping[str, object]
) -> dict[str, Values]:
    """The same options; those named have another value first."""
    changed = dict(options)
    for name, default in defaults.items():
        assert default in options[name]
        changed[name] = (default, *(value for value in options[name] if value != default))
    return changed


OPTIONS: dict[str, dict[str, Values]] = {
    "international": _A,
    "international_32": _with_defaults(_A, {"a.pack": 32}),
    "international_32_balanced": _with_defaults(_A, {"a.pack": 32, "a.table32": "balanced160"}),
    "portuguese": _with_defaults(
        _A,
        {
            "a.no_king_lead": "no_hearts",
            "a.no_king_force": "first_opportunity",
            "a.failed.criterion": "best_value",
            "a.failed.threshold": 4,
            "a.auction.match": "same_value",
            "a.auction.plus8_binding": "ultimatum_only",
            "a.ultimatum.respondents": "holder",
            "a.ultimatum.demands": "eight_only",
            "a.ultimatum.fallback": "free",
            "a.minus_settlement": "fixed_transfer",
        },
    ),
    "russian_auction": _B,
    "russian_salad": _with_defaults(_B, {"b.stage2": "v2"}),
    "russian_mirror": _with_defaults(_B, {"b.stage2": "v3"}),
    "russian_ordered": _B_AND_C,
    "turkish_short": _D,
    "turkish_full": _with_defaults(_D, {"d.match": "full"}),
    "turkish_short_pairs": _with_defaults(_D, {"d.partnership": True}),
    "turkish_full_pairs": _with_defaults(_D, {"d.match": "full", "d.partnership": True}),
    "rifki": _E,
    "rifki_pagat": _with_defaults(
        _E, {"e.hearts_lead": "until_broken", "e.force_penalty": "discard_and_duck"}
    ),
    "tiny_three": {"early_end": ("never", "auto")},
    "tiny_counter": {"early_end": ("auto", "never")},
}

SYSTEMS: dict[str, str] = {
    variant: system
    for system, variants in {
        "A": "international international_32 international_32_balanced portuguese",
        "B": "russian_auction russian_salad russian_mirror",
        "C": "russian_ordered",
        "D": "turkish_short turkish_full turkish_short_pairs turkish_full_pairs",
        "E": "rifki rifki_pagat",
        "tiny_three": "tiny_three",
        "tiny_counter": "tiny_counter",
    }.items()
    for variant in variants.split()
}


def complete_options(variant: str, options: Mapping[str, object]) -> dict[str, object]:
    """The options with defaults filled in.

    Raises:
        ValueError: an unknown variant, name or value, or a combination the rules refuse (11.25).
    """
    if variant not in OPTIONS:
        raise ValueError(f"variant {variant!r}: one of {sorted(OPTIONS)}")
    allowed = OPTIONS[variant]
    complete = {name: values[0] for name, values in allowed.items()}
    for name, value in options.items():
        if name not in allowed:
            raise ValueError(f"option {name!r} is not one of {variant}: {sorted(allowed)}")
        # True == 1 in Python, so the type is compared too.
        if not any(value == v and type(value) is type(v) for v in allowed[name]):
            raise ValueError(f"{name} = {value!r}: allowed are {allowed[name]}")
        complete[name] = value
    if complete.get("a.table32") == "balanced160" and complete["a.pack"] == 52:
        raise ValueError("a.table32 = balanced160 needs a.pack = 32")
    if complete.get("d.global_cap") == 2 and complete["d.match"] == "full":
        raise ValueError("d.global_cap = 2 needs d.match = short")
    return complete
