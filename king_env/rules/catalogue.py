"""Loads variants: shipped files by name, users' files by path, parents and options applied."""

from __future__ import annotations

import copy
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from king_env.rules.spec import (
    LADDER,
    MAX_CONTRACTS,
    MAX_DEALS,
    MAX_GROUPS,
    NUM_SLOTS,
    OrderSpec,
    VariantSpec,
)
from king_env.schema import DocumentError, read, suggest

OptionValue: TypeAlias = int | str | bool

_FOLDER: Final = Path(__file__).parent / "variants"
_INT16: Final = 32767


class VariantError(DocumentError):
    """A variant or an option that does not exist, is malformed or contradicts itself."""


@dataclass(frozen=True, eq=False)
class Variant:
    """A variant ready for play.

    Attributes:
        name: a shipped name, or the id of a user's own file.
        spec: the resolved specification, options applied.
        options: the options that differ from the variant's own, as in records.
        data: the resolved data; reading it again gives the same spec.
        shipped: whether ``name`` alone finds the variant again.
        changes: what its file changes in its parent, one ``place = value`` each.
    """

    name: str
    spec: VariantSpec
    options: dict[str, OptionValue]
    data: dict[str, Any]
    shipped: bool
    changes: tuple[str, ...] = ()


def variant_names() -> list[str]:
    """Returns the names of the shipped variants."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def load_variant(
    name: str | Path | Mapping[str, Any], options: Mapping[str, object] | None = None
) -> Variant:
    """Loads a variant and applies options.

    Args:
        name: a shipped name, the path of a TOML file, or resolved data (as records carry it).
        options: option names and values; text is read as the option's type.

    Raises:
        VariantError: if there is no such variant, or the data or an option is not allowed.
    """
    if isinstance(name, Mapping):
        return _build(
            copy.deepcopy(dict(name)), str(name.get("id", "?")), dict(options or {}), False
        )
    given = {str(key): value for key, value in (options or {}).items()}
    name = str(name)
    if name.endswith(".toml") or "/" in name:
        path = Path(name)  # read each time: the user may have edited it
        return _build(_read_file(path, ()), path.name, given, False, _changes(path))
    return _load_shipped(name, json.dumps(given, sort_keys=True, default=repr))


@lru_cache(maxsize=256)
def _load_shipped(name: str, options: str) -> Variant:
    """Loads a shipped variant; options are JSON text, in which 1 and true are not the same."""
    if name not in variant_names():
        raise VariantError([f"variant {name!r}: unknown; {suggest(name, variant_names())}"])
    path = _FOLDER / f"{name}.toml"
    return _build(_read_file(path, ()), name, json.loads(options), True, _changes(path))


def _changes(path: Path) -> tuple[str, ...]:
    """Returns what a variant file, which can be read, changes in its parent."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    if str(data.pop("parent", "")) not in variant_names():
        return ()
    for key in ("id", "title", "summary", "source"):
        data.pop(key, None)
    return tuple(_flatten({**data.pop("options", {}), **data}))


def _flatten(node: Any, place: str = "") -> list[str]:
    """Returns one ``place = value`` for each value of nested tables; lists by id or number."""
    if isinstance(node, dict):
        entries = [(str(key), value) for key, value in node.items() if key not in ("id", "name")]
    elif isinstance(node, list) and node and all(isinstance(entry, dict) for entry in node):
        entries = [
            (str(entry.get("id", entry.get("name", index))), entry)
            for index, entry in enumerate(node)
        ]
    else:
        return [f"{place} = {value_text(node)}"]
    prefix = f"{place}." if place else ""
    return [line for key, value in entries for line in _flatten(value, prefix + key)]


def _read_file(path: Path, seen: tuple[Path, ...]) -> dict[str, Any]:
    """Reads a file and merges it over its parent; options of a child become defaults."""
    try:
        with path.open("rb") as file:
            data = tomllib.load(file)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise VariantError([f"variant file {path}: cannot be read: {reason}"]) from None
    except tomllib.TOMLDecodeError as error:
        raise VariantError([f"variant file {path}: not valid TOML: {error}"]) from None
    parent = data.get("parent")
    if parent is None:
        return data
    if path.resolve() in seen:
        raise VariantError([f"variant file {path}: parent: the parents go round in a circle"])
    seen = (*seen, path.resolve())
    beside = path.parent / str(parent)
    if str(parent).endswith(".toml"):
        base = _read_file(beside, seen)
    elif str(parent) in variant_names():
        base = _read_file(_FOLDER / f"{parent}.toml", seen)
    else:
        raise VariantError(
            [
                f"variant file {path}: parent: found {parent!r}; "
                f"{suggest(str(parent), variant_names())}"
            ]
        )
    return _merge(base, data, path)


def _merge(base: dict[str, Any], data: dict[str, Any], path: Path) -> dict[str, Any]:
    """Lays a child over its parent: lists of tables with an id or a name are merged by it."""
    merged = copy.deepcopy(base)
    options = data.pop("options", {})
    if not isinstance(options, dict):
        raise VariantError([f"variant file {path}: options: expected a table, found {options!r}"])
    for key, value in data.items():
        old = merged.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            merged[key] = _merge(old, dict(value), path)
        elif key in ("contract", "group", "option") and isinstance(old, list):
            tag = "name" if key == "option" else "id"
            if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
                raise VariantError(
                    [f"variant file {path}: {key}: expected a list of tables, found {value!r}"]
                )
            for entry in value:
                same = [i for i, other in enumerate(old) if other.get(tag) == entry.get(tag)]
                if same:
                    old[same[0]] = _merge(old[same[0]], dict(entry), path)
                else:
                    old.append(entry)
        else:
            merged[key] = value
    if options:
        merged["options"] = {**merged.get("options", {}), **options}
    return merged


def _build(
    data: dict[str, Any],
    where: str,
    options: dict[str, object],
    shipped: bool,
    changes: tuple[str, ...] = (),
) -> Variant:
    """Applies options and reads the data into a validated spec."""
    problems: list[str] = []
    where = f"variant {where}"
    own = data.pop("options", {})
    if not isinstance(own, dict):
        raise VariantError([f"{where}.options: expected a table, found {own!r}"])
    declared = data.get("option", [])
    if not isinstance(declared, list) or not all(isinstance(entry, dict) for entry in declared):
        raise VariantError([f"{where}.option: expected a list of tables"])
    # The data is read once before options touch it, so that a problem is named where it stands.
    trial = read(VariantSpec, data, where, problems)
    if trial is None:
        raise VariantError(problems)
    values: dict[str, OptionValue] = {entry.name: entry.default for entry in trial.option}
    allowed = {entry.name: entry.values for entry in trial.option}
    for name, value in {**own, **options}.items():
        if name not in allowed:
            problems.append(f"{where}: option {name!r}: unknown; {suggest(name, allowed)}")
            continue
        parsed = _parse_value(value, allowed[name])
        if parsed is None:
            choices = ", ".join(value_text(choice) for choice in allowed[name])
            problems.append(
                f"{where}: option {name}: found {value_text(value)!r}; allowed: {choices}"
            )
        else:
            values[name] = parsed
    if problems:
        raise VariantError(problems)
    for option in trial.option:
        if option.default not in option.values:
            problems.append(
                f"{where}: option {option.name}: default {option.default!r} is no value"
            )
        for place in option.set:
            found = _get(data, place)
            if found is not None and found != option.default:
                problems.append(
                    f"{where}.{place}: found {found!r}; option {option.name} decides it: "
                    f"set that under [options]"
                )
        value = values[option.name]
        for other, needed in option.requires.get(value_text(value), {}).items():
            if values.get(other) != needed:
                found = value_text(values.get(other))
                problems.append(
                    f"{where}: option {option.name} = {value_text(value)} contradicts "
                    f"{other} = {found}; allowed with it: {value_text(needed)}"
                )
        for other in option.when:
            if other not in values:
                problems.append(
                    f"{where}: option {option.name}.when: unknown option {other!r}; "
                    f"{suggest(other, values)}"
                )
        if not all(values.get(other) in needed for other, needed in option.when.items()):
            continue
        edits = {place: value for place in option.set} | option.patch.get(value_text(value), {})
        for place, new in edits.items():
            _assign(data, place, new, f"{where}: option {option.name}", problems)
    for entry in data.get("option", []):
        entry["default"] = values[entry["name"]]
    spec = read(VariantSpec, data, where, problems) if not problems else None
    if spec is not None:
        problems += [f"{where}.{problem}" for problem in _contradictions(spec)]
    if problems or spec is None:
        raise VariantError(problems)
    defaults = {entry.name: entry.default for entry in trial.option}
    defaults |= {name: _parse_value(value, allowed[name]) for name, value in own.items()}
    changed = {name: value for name, value in values.items() if value != defaults[name]}
    return Variant(spec.id, spec, changed, data, shipped, changes)


def value_text(value: object) -> str:
    """Returns an option value as it is written in files and commands."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parse_value(value: object, allowed: tuple[OptionValue, ...]) -> OptionValue | None:
    """Returns the allowed value that equals ``value`` or is written like it, or None."""
    for choice in allowed:
        if value == choice and type(value) is type(choice):
            return choice
    if isinstance(value, str):
        for choice in allowed:
            if value_text(choice).lower() == value.strip().lower():
                return choice
    return None


def _assign(
    data: dict[str, Any], place: str, value: object, where: str, problems: list[str]
) -> None:
    """Sets the field at a dotted place; entries of lists are found by id or by number."""
    node: Any = data
    *path, last = place.split(".")
    for part in path:
        if isinstance(node, dict):
            node = node.setdefault(part, {})
        elif isinstance(node, list):
            named = [entry for entry in node if isinstance(entry, dict) and entry.get("id") == part]
            index = int(part) if part.isdigit() and int(part) < len(node) else -1
            node = named[0] if named else node[index] if index >= 0 else None
        if not isinstance(node, (dict, list)):
            problems.append(f"{where}: place {place!r}: there is no {part!r}")
            return
    if not isinstance(node, dict):
        problems.append(f"{where}: place {place!r}: {last!r} is not a field")
        return
    node[last] = value


def _get(data: dict[str, Any], place: str) -> object:
    """Returns the value at a dotted place, or None where the data does not say."""
    node: Any = data
    for part in place.split("."):
        if isinstance(node, dict):
            node = node.get(part)
        elif isinstance(node, list):
            named = [entry for entry in node if entry.get("id") == part]
            index = int(part) if part.isdigit() and int(part) < len(node) else -1
            node = named[0] if named else node[index] if index >= 0 else None
    return node


def _contradictions(spec: VariantSpec) -> list[str]:
    """Returns what is wrong between the fields of a spec that is right field by field."""
    problems: list[str] = []
    ids = [contract.id for contract in spec.contract]
    by_id = {contract.id: contract for contract in spec.contract}
    for name in sorted({name for name in ids if ids.count(name) > 1}):
        problems.append(f"contract: {name!r} is defined twice")
    if not 1 <= len(ids) <= MAX_CONTRACTS:
        problems.append(f"contract: found {len(ids)}; allowed: 1 to {MAX_CONTRACTS} contracts")
    if not 1 <= len(spec.deals) <= MAX_DEALS:
        problems.append(f"schedule: found {len(spec.deals)} deals; allowed: 1 to {MAX_DEALS}")
    for index, deal in enumerate(spec.schedule):
        place = f"schedule[{index}]"
        if deal.decision == "none" and deal.contract not in by_id:
            problems.append(
                f"{place}.contract: found {deal.contract!r}; {suggest(deal.contract, ids)}"
            )
        if deal.decision == "none" and deal.contract in by_id:
            if by_id[deal.contract].trump != "none":
                problems.append(f"{place}.contract: {deal.contract!r} needs a trump to be declared")
            if deal.leader == "declarer":
                problems.append(f"{place}.leader: found 'declarer'; a fixed deal has none")
        if deal.decision != "none" and deal.contract:
            problems.append(
                f"{place}.contract: found {deal.contract!r}; the contract is chosen here"
            )
        if deal.decision == "auction" and spec.phases.auction is None:
            problems.append(f"{place}.decision: 'auction' needs a table phases.auction")
        if deal.decision == "choose" and spec.phases.choose is None:
            problems.append(f"{place}.decision: 'choose' needs a table phases.choose")
        if deal.decision == "order" and spec.phases.order is None:
            problems.append(f"{place}.decision: 'order' needs a table phases.order")
        if deal.first_cards >= spec.hand_size:
            problems.append(
                f"{place}.first_cards: found {deal.first_cards}; allowed: 0 to {spec.hand_size - 1}"
            )
    problems += _choice_contradictions(spec)
    if spec.phases.order is not None:
        problems += _order_contradictions(spec, spec.phases.order)
    if spec.phases.auction is not None:
        auction = spec.phases.auction
        for field in ("plus", "minus"):
            name = getattr(auction, field)
            if name not in by_id:
                problems.append(f"phases.auction.{field}: found {name!r}; {suggest(name, ids)}")
        if auction.plus in by_id and by_id[auction.plus].trump != "declared":
            problems.append("phases.auction.plus: the contract must have trump = 'declared'")
        if auction.minus in by_id and by_id[auction.minus].trump != "none":
            problems.append("phases.auction.minus: the contract must have trump = 'none'")
        if len(auction.unplayed) != 2:
            problems.append("phases.auction.unplayed: expected two numbers")
        if len(auction.share) != 3 or sum(auction.share) == 0:
            problems.append("phases.auction.share: expected three weights, not all 0")
    for contract in spec.contract:
        if contract.duck and contract.trump != "none":
            problems.append(
                f"contract.{contract.id}.duck: found true; a contract with trumps has no duck"
            )
        bound = largest_deal_score(spec, contract.id)
        if bound > _INT16:
            problems.append(
                f"contract.{contract.id}: a deal could score {bound}; allowed: up to {_INT16}"
            )
    return problems


def _choice_contradictions(spec: VariantSpec) -> list[str]:
    """Returns what is wrong with slots, groups and quotas."""
    problems: list[str] = []
    choose = spec.phases.choose
    if choose is None:
        return problems
    groups = {group.id: group for group in choose.group}
    if not 1 <= len(groups) <= MAX_GROUPS or len(groups) != len(choose.group):
        problems.append(
            f"phases.choose.group: expected 1 to {MAX_GROUPS} groups with different ids"
        )
    taken: dict[int, str] = {}
    for contract in spec.contract:
        if contract.slot < 0:
            continue
        if contract.group not in groups:
            problems.append(
                f"contract.{contract.id}.group: found {contract.group!r}; "
                f"{suggest(contract.group, groups)}"
            )
        for slot in range(
            contract.slot, contract.slot + (4 if contract.trump == "declared" else 1)
        ):
            if slot >= NUM_SLOTS or slot in taken:
                other = taken.get(slot, f"the end of the {NUM_SLOTS} slots")
                problems.append(f"contract.{contract.id}.slot: slot {slot} collides with {other}")
            taken[slot] = contract.id
    num_choices = sum(1 for deal in spec.deals if deal.decision == "choose")
    expected = 4 * sum(group.per_player for group in choose.group)
    if num_choices != expected:
        problems.append(
            f"schedule: found {num_choices} deals that are chosen; the quotas make {expected}"
        )
    for group in choose.group:
        members = [c for c in spec.contract if c.group == group.id and c.slot >= 0]
        for players in range(1, 5):
            places = sum(
                min(
                    c.per_table or 4 * group.per_player,
                    players * (c.per_player or group.per_player),
                )
                for c in members
            )
            if places < players * group.per_player:
                problems.append(
                    f"phases.choose.group.{group.id}.per_player: {players} players owe "
                    f"{players * group.per_player} choices but only {places} are open"
                )
                break
    return problems


def _order_contradictions(spec: VariantSpec, order: OrderSpec) -> list[str]:
    """Returns what is wrong with the contracts that may be ordered."""
    problems: list[str] = []
    by_id = {contract.id: contract for contract in spec.contract}
    needed = {"suits": "declared", "no_trump": "declared", "last": "last_card", "misere": "none"}
    for field, trump in needed.items():
        name = getattr(order, field)
        if name and name not in by_id:
            problems.append(f"phases.order.{field}: found {name!r}; {suggest(name, by_id)}")
        elif name and by_id[name].trump != trump:
            problems.append(f"phases.order.{field}: {name!r} must have trump = {trump!r}")
    offered = [bool(order.suits), bool(order.no_trump), bool(order.last), bool(order.misere)]
    if not any(offered):
        problems.append("phases.order: expected at least one of suits, no_trump, last, misere")
    if order.write > spec.hand_size:
        problems.append(
            f"phases.order.write: found {order.write}; allowed: 0 to {spec.hand_size} tricks"
        )
    if len(order.share) != 4:
        problems.append("phases.order.share: expected four weights: suit, NT, LAST, MISERE")
    elif any(offered) and not any(
        weight for weight, on in zip(order.share, offered, strict=True) if on
    ):
        problems.append("phases.order.share: every order on offer has weight 0")
    return problems


def largest_deal_score(spec: VariantSpec, contract_id: str) -> int:
    """Returns a bound on the size of one seat's score in a deal, settlements included."""
    contract = spec.contract[spec.contract_index(contract_id)]
    suit = spec.pack // 4
    units = (
        suit * abs(contract.trick)
        + suit * abs(contract.heart)
        + 4 * abs(contract.queen)
        + 4 * len(contract.men) * abs(contract.man)
        + abs(contract.king_of_hearts)
        + 2 * abs(contract.last)
        + abs(contract.constant)
    )
    paid = 0
    if spec.phases.auction is not None:
        paid = max(8 * spec.phases.auction.plus_unit, suit * spec.phases.auction.minus_unit)
    if spec.phases.order is not None:
        paid = max(paid, (8 + spec.phases.order.write) * spec.phases.order.unit)
    return units + paid


def mean_deal_size(spec: VariantSpec) -> int:
    """Returns the point scale: the mean absolute deal total of the contracts, divided by four."""
    totals = []
    for contract in spec.contract:
        suit = spec.pack // 4
        totals.append(
            abs(
                suit * contract.trick
                + suit * contract.heart
                + 4 * contract.queen
                + 4 * len(contract.men) * contract.man
                + contract.king_of_hearts
                + 2 * contract.last
                + 4 * contract.constant
            )
        )
    return max(1, round(sum(totals) / len(totals) / 4))


def rungs_allowed(max_plus: int) -> list[int]:
    """Returns the rungs of the ladder that stay when plus calls go up to ``max_plus`` only."""
    return [
        rung for rung, call in enumerate(LADDER) if (call if call > 0 else -3 * call) <= max_plus
    ]
