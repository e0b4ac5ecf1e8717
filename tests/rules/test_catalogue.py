"""Variants as data: options, users' files, parents, and what is refused in one clear line."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from king_env.envs.batch import BatchEnv
from king_env.rules.catalogue import (
    VariantError,
    largest_deal_score,
    load_variant,
    mean_deal_size,
    variant_names,
)
from king_env.rules.tables import make_tables, tables_of
from tests.naive import OPTIONS
from tests.playing import TINY, VARIANTS, new_game, play
from tests.rules.factories import TEST_VARIANTS, find_variant

SHIPPED = {"international", "turkish_short"}

# Rules.md section 9 once more, systems A and D: default first.
SECTION_9: dict[str, dict[str, tuple[object, ...]]] = {
    "international": {
        "early_end": ("never", "auto"),
        "first_dealer": ("lot", 0, 1, 2, 3),
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
    },
    "turkish_short": {
        "early_end": ("never", "auto"),
        "first_dealer": ("lot", 0, 1, 2, 3),
        "d.match": ("short", "full"),
        "d.partnership": (False, True),
        "d.global_cap": ("none", 2),
        "d.hearts_lead": ("until_broken", "free", "never"),
        "d.force_penalty": ("none", "discard", "discard_and_duck"),
        "d.must_overtrump": (False, True),
    },
}
NEEDED = {"a.table32": {"a.pack": 32}}  # what a value needs beside it

VALUES = [
    (variant, name, value)
    for variant, options in SECTION_9.items()
    for name, values in options.items()
    for value in values[1:]
]


def rules_of(variant: str, options: Mapping[str, object]) -> dict[str, Any]:
    """The spec without the declaration of its options: what is really played."""
    spec = dataclasses.asdict(find_variant(variant, options).spec)
    spec.pop("option")
    return spec


def refused(name: Any, options: Mapping[str, object] | None = None) -> str:
    """The message of a refused variant; one line."""
    with pytest.raises(VariantError) as caught:
        load_variant(name, options)
    assert caught.value.problems
    message = str(caught.value)
    assert "\n" not in message
    return message


# ---------------------------------------------------------------- shipped variants and options


def test_shipped_variants_load() -> None:
    assert set(variant_names()) >= SHIPPED
    for name in variant_names():
        variant = load_variant(name)
        assert variant.shipped and variant.name == variant.spec.id == name
        assert variant.options == {}
        for text in (variant.spec.title, variant.spec.summary, variant.spec.source):
            assert text and "\n" not in text


@pytest.mark.parametrize("variant", sorted(SECTION_9))
def test_the_options_are_those_of_section_9(variant: str) -> None:
    found = {entry.name: entry for entry in load_variant(variant).spec.option}
    assert set(found) == set(SECTION_9[variant])
    for name, values in SECTION_9[variant].items():
        assert found[name].default == values[0] and type(found[name].default) is type(values[0])
        assert sorted(map(repr, found[name].values)) == sorted(map(repr, values))
        assert found[name].doc


@pytest.mark.parametrize(("variant", "name", "value"), VALUES)
def test_every_value_of_every_option_changes_the_rules(
    variant: str, name: str, value: object
) -> None:
    base = dict(NEEDED.get(name, {}))
    options = {**base, name: value}
    changed = find_variant(variant, options)
    assert rules_of(variant, options) != rules_of(variant, base)
    assert changed.options == options
    # Each pair of values of the same option differs too, or one of them would be a fiction.
    others = [other for other in SECTION_9[variant][name] if other != value]
    for other in others:
        assert rules_of(variant, {**base, name: other}) != rules_of(variant, options)
    # As text, the way it comes from a command line.
    text = str(value).lower() if isinstance(value, bool) else str(value)
    assert find_variant(variant, {**base, name: text}).options == options
    # The rule tables hold the difference: the kernels see nothing else.
    table, plain = make_tables([changed.spec, find_variant(variant, base).spec])
    assert table.tobytes() != plain.tobytes()


def test_defaults_said_aloud_change_nothing() -> None:
    for variant, options in SECTION_9.items():
        said = {name: values[0] for name, values in options.items()}
        assert rules_of(variant, said) == rules_of(variant, {})
        assert find_variant(variant, said).options == {}


# ---------------------------------------------------------------- refused options


def test_an_unknown_variant_names_the_known() -> None:
    message = refused("turkish")
    assert "'turkish'" in message
    assert "did you mean 'turkish_full'?" in message
    for name in variant_names():
        assert name in message


@pytest.mark.parametrize(
    ("variant", "options", "parts"),
    [
        ("international", {"a.pak": 32}, ["'a.pak'", "did you mean 'a.pack'?", "a.table32"]),
        ("international", {"a.pack": 40}, ["a.pack", "'40'", "52, 32"]),
        ("international", {"a.pack": [32]}, ["a.pack", "'[32]'", "52, 32"]),
        ("international", {"a.pack": None}, ["a.pack", "'None'", "52, 32"]),
        ("international", {"a.must_trump": "yes"}, ["a.must_trump", "'yes'", "false, true"]),
        ("international", {"first_dealer": 4}, ["first_dealer", "'4'", "lot, 0, 1, 2, 3"]),
        ("international", {"a.failed.threshold": 0}, ["a.failed.threshold", "'0'"]),
        ("international", {"d.match": "full"}, ["'d.match'", "unknown"]),
        ("turkish_short", {"a.pack": 32}, ["'a.pack'", "unknown", "d.match"]),
        ("turkish_short", {"d.global_cap": 3}, ["d.global_cap", "'3'", "none, 2"]),
        (
            "international",
            {"a.table32": "balanced160"},
            ["a.table32 = balanced160", "a.pack = 52", "allowed with it: 32"],
        ),
        (
            "turkish_short",
            {"d.match": "full", "d.global_cap": 2},
            ["d.global_cap = 2", "d.match = full", "allowed with it: short"],
        ),
    ],
)
def test_a_refused_option_is_named_with_what_is_allowed(
    variant: str, options: dict[str, object], parts: list[str]
) -> None:
    message = refused(variant, options)
    for part in parts:
        assert part in message


def test_several_options_are_refused_together() -> None:
    with pytest.raises(VariantError) as caught:
        load_variant("international", {"a.pack": 40, "a.what": 1, "a.must_trump": "maybe"})
    assert len(caught.value.problems) == 3
    for name in ("a.pack", "a.what", "a.must_trump"):
        assert sum(name in line.split(";")[0] for line in caught.value.problems) == 1


@pytest.mark.parametrize("first", [1, True])
def test_a_flag_is_not_a_number_whatever_was_loaded_before(first: object) -> None:
    for value in (first, 1, True):
        options = {"a.negotiation.max_requests": value, "a.failed.threshold": 7}
        if value is True:
            assert "max_requests" in refused("international", options)
        else:
            load_variant("international", options)


# ---------------------------------------------------------------- users' files


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


CHILD = """
id = "house"
title = "House rules"
summary = "a family's own"
source = "the family"
parent = "international"

[options]
"a.must_trump" = true

[[contract]]
id = "no_queens"
queen = -60
"""


def test_a_users_file_by_path_says_only_what_differs(tmp_path: Path) -> None:
    path = write(tmp_path, "house.toml", CHILD)
    for name in (path, str(path)):
        variant = load_variant(name)
        assert not variant.shipped and variant.name == "house"
        spec = variant.spec
        parent = load_variant("international", {"a.must_trump": True}).spec
        changed = spec.contract_index("no_queens")
        assert [c.id for c in spec.contract] == [c.id for c in parent.contract]
        for index, (own, inherited) in enumerate(zip(spec.contract, parent.contract, strict=True)):
            if index == changed:
                assert own == dataclasses.replace(inherited, queen=-60)
            else:
                assert own == inherited
        assert spec.schedule == parent.schedule and spec.phases == parent.phases
        assert (spec.title, spec.source) == ("House rules", "the family")
    # The file's own options are its defaults: only differences from them are named.
    assert load_variant(path).options == {}
    assert load_variant(path, {"a.must_trump": True}).options == {}
    assert load_variant(path, {"a.must_trump": False}).options == {"a.must_trump": False}


def test_a_grandchild_by_file_name(tmp_path: Path) -> None:
    write(tmp_path, "house.toml", CHILD)
    text = 'id = "guest"\nparent = "house.toml"\n[options]\n"a.pack" = 32\n'
    spec = load_variant(write(tmp_path, "guest.toml", text)).spec
    assert spec.id == "guest" and spec.title == "House rules"
    assert spec.pack == 32
    assert spec.contract[spec.contract_index("no_queens")].queen == -60
    assert spec.contract[spec.contract_index("positive")].void == "must_trump"
    assert spec.contract[spec.contract_index("nulls")].constant == 200


def test_a_file_that_was_edited_is_read_again(tmp_path: Path) -> None:
    path = write(tmp_path, "house.toml", CHILD)
    load_variant(path)
    write(tmp_path, "house.toml", CHILD.replace("-60", "-70"))
    spec = load_variant(path).spec
    assert spec.contract[spec.contract_index("no_queens")].queen == -70


def test_parents_in_a_circle(tmp_path: Path) -> None:
    write(tmp_path, "a.toml", 'id = "a"\nparent = "b.toml"\n')
    write(tmp_path, "b.toml", f'id = "b"\nparent = "../{tmp_path.name}/a.toml"\n')
    write(tmp_path, "self.toml", 'id = "self"\nparent = "self.toml"\n')
    for name in ("self.toml", "a.toml", "b.toml"):
        message = refused(tmp_path / name)
        assert "parent" in message and "circle" in message


def test_an_unknown_parent(tmp_path: Path) -> None:
    message = refused(write(tmp_path, "a.toml", 'id = "a"\nparent = "internationale"\n'))
    for part in ("a.toml", "parent", "'internationale'", "did you mean 'international'?"):
        assert part in message


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert "nowhere.toml" in refused(tmp_path / "nowhere.toml")
    assert "not valid TOML" in refused(write(tmp_path, "bad.toml", "id = = 3"))
    path = tmp_path / "binary.toml"
    path.write_bytes(b"\xff\xfe\x00")
    assert "not a text file" in refused(path)
    write(tmp_path, "child.toml", 'id = "x"\nparent = "bad.toml"\n')
    assert "not valid TOML" in refused(tmp_path / "child.toml")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("options = 5", "options"),
        ('options = "a.pack"', "options"),
        ("contract = 5", "contract"),
        ("contract = [1]", "contract"),
        ("option = 5", "option"),
        ("schedule = 5", "schedule"),
        ("phases = 5", "phases"),
        ("[phases]\nauction = 5", "auction"),
    ],
)
def test_a_malformed_child_is_refused_in_one_line(tmp_path: Path, text: str, place: str) -> None:
    path = write(tmp_path, "child.toml", f'id = "x"\nparent = "international"\n{text}\n')
    assert place in refused(path)


def test_a_field_that_an_option_would_overwrite_is_not_silently_lost(tmp_path: Path) -> None:
    path = write(tmp_path, "child.toml", 'id = "x"\nparent = "international"\nearly_end = "auto"\n')
    try:
        spec = load_variant(path).spec
    except VariantError as error:
        assert "early_end" in str(error)
    else:
        assert spec.early_end == "auto"


# ---------------------------------------------------------------- data that contradicts itself


def turkish() -> dict[str, Any]:
    return load_variant("turkish_short").data


def international() -> dict[str, Any]:
    return load_variant("international").data


def changed(data: Mapping[str, Any], **places: object) -> dict[str, Any]:
    """A copy with fields changed; a place is written with two underscores for a dot."""
    result = copy.deepcopy(dict(data))
    for place, value in places.items():
        node: Any = result
        *path, last = place.split("__")
        for part in path:
            if isinstance(node, list):
                named = [entry for entry in node if entry.get("id") == part]
                node = named[0] if named else node[int(part)]
            else:
                node = node[part]
        node[last] = value
    return result


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        (changed(turkish(), contract__el__slot=6), ["contract.koz.slot", "slot 6", "el"]),
        (changed(turkish(), contract__koz__slot=29), ["contract.koz.slot", "slot 32", "end"]),
        (changed(turkish(), contract__el__slot=32), ["contract[1].slot", "32", "-1 to 31"]),
        (changed(turkish(), contract__el__group="x"), ["contract.el.group", "'x'", "penalty"]),
        (changed(turkish(), schedule__0__times=19), ["schedule", "19 deals", "20"]),
        (
            changed(turkish(), phases__choose__group__penalty__per_player=7, schedule__0__times=36),
            ["phases.choose.group.penalty", "1 players owe 7", "only 6"],
        ),
        (
            changed(turkish(), contract__kupa__per_table=1, contract__el__per_table=1,
                    contract__erkek__per_table=1, contract__kiz__per_table=1,
                    contract__rifki__per_table=1, contract__soniki__per_table=1),
            ["phases.choose.group.penalty", "players owe", "only 6 are open"],
        ),
        (changed(turkish(), schedule__0__decision="auction"), ["decision", "phases.auction"]),
        (changed(turkish(), schedule__0__contract="el"), ["schedule[0].contract", "chosen here"]),
        (changed(turkish(), schedule__0__first_cards=14), ["schedule[0].first_cards", "14"]),
        (changed(turkish(), contract__el__trick=-2500), ["contract[1].trick", "-2500", "2000"]),
        (changed(turkish(), contract__el__per_player=-1), ["contract[1].per_player", "-1"]),
        (changed(turkish(), contract__el__lead="hearts"), ["contract[1].lead", "until_broken"]),
        (changed(turkish(), contract__el__id="kupa"), ["'kupa' is defined twice"]),
        (changed(turkish(), direction="left"), ["direction", "'left'", "counterclockwise"]),
        (changed(turkish(), pack=40), ["pack", "40", "52, 32"]),
        (changed(turkish(), colour="red"), ["unknown key 'colour'"]),
        (changed(turkish(), contract__el__colour="red"), ["contract[1]", "'colour'"]),
        (changed(international(), schedule__0__contract="no_trick"), ["did you mean 'no_tricks'"]),
        (changed(international(), schedule__0__contract="positive"), ["needs a trump"]),
        (changed(international(), schedule__0__leader="declarer"), ["schedule[0].leader"]),
        (changed(international(), schedule__6__times=60), ["schedule: found 66", "1 to 64"]),
        (changed(international(), phases__auction__plus="nulls"), ["phases.auction.plus"]),
        (changed(international(), phases__auction__minus="positive"), ["phases.auction.minus"]),
        (changed(international(), phases__auction__minus="zero"), ["auction.minus", "'zero'"]),
        (changed(international(), phases__auction__unplayed=[4]), ["phases.auction.unplayed"]),
        (changed(international(), phases__auction__share=[0, 0, 0]), ["phases.auction.share"]),
        (changed(international(), phases__auction__max_plus=9), ["max_plus", "9", "1 to 8"]),
        (
            changed(international(), contract__nulls__trick=-2000, contract__nulls__heart=-700),
            ["contract.nulls", "32767"],
        ),
    ],
)  # fmt: skip
def test_data_that_contradicts_itself(data: dict[str, Any], parts: list[str]) -> None:
    message = refused(data)
    for part in parts:
        assert part in message


def test_several_problems_of_a_file_are_reported_together() -> None:
    data = changed(
        turkish(), pack=40, colour="red", contract__el__lead="x", contract__el__trick="y"
    )
    with pytest.raises(VariantError) as caught:
        load_variant(data)
    assert len(caught.value.problems) == 4
    data = changed(turkish(), contract__el__slot=6, schedule__0__times=19, contract__kiz__group="x")
    with pytest.raises(VariantError) as caught:
        load_variant(data)
    assert len(caught.value.problems) >= 3


@pytest.mark.parametrize(
    "data",
    [
        # The duck rule compares within the led suit; trumps would confuse it.
        changed(turkish(), contract__koz__duck=True, contract__koz__queen=-1),
        # The default of an option is one of its values.
        changed(turkish(), option__0__default="sometimes"),
    ],
)
def test_what_the_engine_cannot_play_is_refused(data: dict[str, Any]) -> None:
    refused(data)


def test_zero_sum_contracts_make_a_table() -> None:
    data = changed(turkish(), contract__el__trick=400, contract__el__constant=-1300)
    for contract in data["contract"]:
        if contract["id"] != "el":
            contract.update(heart=0, man=0, queen=0, king_of_hearts=0, last=0)
            contract["trick"], contract["constant"] = 400, -1300
    make_tables([load_variant(data).spec])


def test_the_bound_on_a_deal_score_holds() -> None:
    spec = load_variant("international").spec
    assert largest_deal_score(spec, "nulls") >= 13 * 75 + 325 + 13 * 75
    assert largest_deal_score(spec, "positive") >= 13 * 25 + 8 * 25
    # (260 + 260 + 200 + 240 + 160 + 180 + 325 + 325) / 8 / 4
    assert mean_deal_size(spec) == 61


# ---------------------------------------------------------------- resolved data


@pytest.mark.parametrize("variant", VARIANTS)
def test_resolved_data_read_again_gives_the_same_spec(variant: str) -> None:
    rng = random.Random(variant)
    for _ in range(20):
        names = rng.sample(sorted(OPTIONS[variant]), k=min(4, len(OPTIONS[variant])))
        options = {name: rng.choice(OPTIONS[variant][name]) for name in names}
        try:
            first = find_variant(variant, options)
        except VariantError:
            continue
        again = load_variant(first.data)
        assert again.spec == first.spec
        assert again.options == {} and not again.shipped


def test_loading_leaves_the_callers_data_alone() -> None:
    data = international()
    before = repr(data)
    load_variant(data, {"a.pack": 32})
    assert repr(data) == before
    assert load_variant("international").spec.pack == 52


@pytest.mark.parametrize("variant", TINY)
def test_test_variants_are_found_by_path(variant: str) -> None:
    spec = load_variant(TEST_VARIANTS / f"{variant}.toml").spec
    assert spec.id == variant


def test_tables_are_unchanged_by_a_run() -> None:
    variants = [find_variant(name, {}) for name in VARIANTS]
    env = BatchEnv(variants, 8, episode="match", obs="dense", autoreset="same_step")

    def digest() -> str:
        return hashlib.sha256(env.tables.tobytes()).hexdigest()

    before = digest()
    step = env.reset(seed=3)
    rng = random.Random(3)
    for _ in range(300):
        actions = [rng.choice(mask.nonzero()[0].tolist()) for mask in step.mask]
        step = env.step(np.array(actions))
    assert digest() == before
    for name in VARIANTS:
        game = new_game(name, seed=4)
        table = tables_of(game.variant)
        stored = table.tobytes()
        play(game, random.Random(5))
        game.view(0).sample_worlds(1, np.random.default_rng(0))
        assert table.tobytes() == stored
