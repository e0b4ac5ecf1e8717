"""Reference pages whose tables are made from the code: ``python -m king_env.reference``.

A page is prose with marked places; what stands between ``<!-- made: NAME -->`` and ``<!-- end -->``
is written by this module, the rest by people. A test finds pages that are out of date.
"""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from king_env.dataset import COLUMNS
from king_env.engine.actions import ACTION_NAMES, NUM_ACTIONS, SLOT
from king_env.engine.observe import BIT_BLOCKS, NUM_BITS, NUM_NUMBERS, NUMBER_BLOCKS, Block
from king_env.history import FIELDS, MAX_HISTORY, NUM_FIELDS
from king_env.rules import spec
from king_env.rules.catalogue import load_variant, value_text, variant_names
from king_env.schema import describe_type

_DOCS: Final = Path(__file__).resolve().parents[1] / "docs"
_PLACE: Final = re.compile(r"(<!-- made: (\S+)[^>]* -->\n).*?(<!-- end -->)", re.DOTALL)


def table(titles: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Returns a Markdown table."""
    lines = [list(titles)]
    lines += [["---"] * len(lines[0])]
    lines += [[str(cell).replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def code(value: object) -> str:
    """Returns a value as code, as a variant file writes it."""
    if isinstance(value, str):
        return f'`"{value}"`'
    if isinstance(value, (list, tuple)):
        return "`[" + ", ".join(value_text(entry) for entry in value) + "]`"
    return f"`{value_text(value)}`"


# ---------------------------------------------------------------- variants


def variant_table() -> str:
    """Returns the shipped variants, one line each."""
    rows = []
    for name in variant_names():
        variant = load_variant(name)
        parent = variant.spec.parent if variant.changes else ""
        rows.append([f"`{name}`", f"`{parent}`" if parent else "", variant.spec.summary])
    return table(["variant", "parent", "what it is"], rows)


def option_table() -> str:
    """Returns every option with its values; the first is the default of the system."""
    options: dict[str, tuple[spec.OptionSpec, list[str]]] = {}
    for name in variant_names():
        for option in load_variant(name).spec.option:
            options.setdefault(option.name, (option, []))[1].append(name)
    rows = []
    for name, (option, variants) in sorted(options.items()):
        where = "all" if len(variants) == len(variant_names()) else ", ".join(_roots(variants))
        values = ", ".join(f"`{value_text(value)}`" for value in option.values)
        rows.append([f"`{name}`", values, where, option.doc])
    return table(["option", "values", "variants", "decides"], rows)


def _roots(variants: list[str]) -> list[str]:
    """Returns the variants of a list whose parent is not in it, with what stands below them."""
    roots = []
    for name in variants:
        if load_variant(name).spec.parent not in variants:
            family = any(load_variant(other).spec.parent == name for other in variants)
            roots.append(f"`{name}`" + (" and its children" if family else ""))
    return roots


def default_text(field: dataclasses.Field[Any]) -> str:
    """Returns a field's default, or that it is needed."""
    if field.default is not dataclasses.MISSING:
        value = field.default
        plain = value is None or dataclasses.is_dataclass(value) or value == ()
        return "none" if plain else code(value)
    return "needed" if field.default_factory is dataclasses.MISSING else "none"


def allowed_text(field: dataclasses.Field[Any]) -> str:
    """Returns a field's choices or range."""
    if field.metadata["choices"]:
        return ", ".join(code(choice) for choice in field.metadata["choices"])
    low, high = field.metadata["range"]
    return "" if low is None else f"{low} to {high}"


def field_table(kind: type[Any]) -> str:
    """Returns the fields of a part of a variant: type, default, allowed values, meaning."""
    hints = typing.get_type_hints(kind)
    rows = []
    for field in dataclasses.fields(kind):
        kind_text = describe_type(hints[field.name]).removeprefix("a ")
        doc = field.metadata["doc"]
        rows.append([f"`{field.name}`", kind_text, default_text(field), allowed_text(field), doc])
    return table(["field", "type", "default", "allowed", "meaning"], rows)


# ---------------------------------------------------------------- spaces


def action_table() -> str:
    """Returns every action id with its name."""
    rows = [[action, f"`{name}`"] for action, name in enumerate(ACTION_NAMES[:SLOT])]
    rows += [[action, "a contract slot, see below"] for action in range(SLOT, NUM_ACTIONS)]
    return table(["id", "name"], rows)


def slot_table() -> str:
    """Returns the names that variants give to the contract slots."""
    columns: dict[tuple[tuple[int, str], ...], list[str]] = {}
    for name in variant_names():
        names = tuple(load_variant(name).spec.slot_names().items())
        if names:
            columns.setdefault(names, []).append(name)
    rows = []
    for slot in range(spec.NUM_SLOTS):
        cells = [dict(names).get(slot, "") for names in columns]
        if any(cells):
            rows.append([SLOT + slot, *(f"`{cell}`" if cell else "" for cell in cells)])
    return table(["id", *(", ".join(group) for group in columns.values())], rows)


def block_table(blocks: Mapping[str, Block], scales: bool) -> str:
    """Returns observation blocks with offset, size and meaning."""
    rows = []
    for block in blocks.values():
        scale = [block.scale] if scales else []
        rows.append([f"`{block.name}`", block.offset, block.size, *scale, block.meaning])
    return table(["block", "offset", "size", *(["scale"] if scales else []), "meaning"], rows)


def sizes() -> str:
    """Returns the sizes of the spaces."""
    rows: list[list[object]] = [
        ["actions", NUM_ACTIONS],
        ["bits", NUM_BITS],
        ["numbers", NUM_NUMBERS],
        ["float32 observation", NUM_BITS + NUM_NUMBERS],
        ["history", f"{MAX_HISTORY} x {NUM_FIELDS}"],
    ]
    return table(["space", "size"], rows)


def column_table() -> str:
    """Returns the columns of a dataset."""
    rows: list[list[object]] = []
    for name, column in COLUMNS.items():
        shape = f"[D, {column.width}]" if column.width else "[D]"
        rows.append([f"`{name}`", column.dtype, shape, column.meaning])
    return table(["column", "type", "shape", "meaning"], rows)


MADE: Final[dict[str, Callable[[], str]]] = {
    "variants": variant_table,
    "options": option_table,
    "fields-variant": lambda: field_table(spec.VariantSpec),
    "fields-contract": lambda: field_table(spec.ContractSpec),
    "fields-schedule": lambda: field_table(spec.DealSpec),
    "fields-choose": lambda: field_table(spec.ChoiceSpec),
    "fields-group": lambda: field_table(spec.GroupSpec),
    "fields-order": lambda: field_table(spec.OrderSpec),
    "fields-auction": lambda: field_table(spec.AuctionSpec),
    "fields-option": lambda: field_table(spec.OptionSpec),
    "sizes": sizes,
    "actions": action_table,
    "slots": slot_table,
    "bits": lambda: block_table(BIT_BLOCKS, scales=False),
    "numbers": lambda: block_table(NUMBER_BLOCKS, scales=True),
    "history": lambda: block_table(FIELDS, scales=False),
    "columns": column_table,
}
"""What can be written into a page, by the name in its mark."""


def renew(text: str) -> str:
    """Returns a page with its marked places written anew.

    Raises:
        KeyError: if a mark has a name that is not in ``MADE``.
    """
    return _PLACE.sub(lambda match: f"{match[1]}{MADE[match[2]]()}\n{match[3]}", text)


def main() -> None:
    """Writes the pages of ``docs/`` anew."""
    for path in sorted(_DOCS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        if renew(text) != text:
            path.write_text(renew(text), encoding="utf-8")
            print(f"docs/{path.name}: written anew")


if __name__ == "__main__":
    main()
