"""Reference pages: up to date, complete, and made from the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from king_env import reference
from king_env.engine.actions import ACTION_NAMES, NUM_ACTIONS
from king_env.engine.observe import BIT_BLOCKS, NUMBER_BLOCKS
from king_env.rules.catalogue import load_variant, variant_names

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_are_up_to_date(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert reference.renew(text) == text, "run python -m king_env.reference"


def test_every_table_has_its_place() -> None:
    marks = re.findall(r"<!-- made: (\S+)", "".join(page.read_text() for page in PAGES))
    assert sorted(marks) == sorted(reference.MADE)


def test_spaces_name_every_action_and_block() -> None:
    text = (ROOT / "docs" / "spaces.md").read_text()
    rows = re.findall(r"^\| (\d+) \|", text, re.MULTILINE)
    assert set(range(NUM_ACTIONS)) <= {int(row) for row in rows}
    for name in [*ACTION_NAMES[:117], *BIT_BLOCKS, *NUMBER_BLOCKS]:
        assert f"`{name}`" in text


def test_variants_name_every_option() -> None:
    text = (ROOT / "docs" / "variants.md").read_text()
    for name in variant_names():
        assert f"`{name}`" in text
        for option in load_variant(name).spec.option:
            assert f"`{option.name}`" in text


def test_prose_stays_and_tables_are_written_anew() -> None:
    page = "before\n<!-- made: sizes -->\nold\n<!-- end -->\nafter"
    made = reference.renew(page)
    assert made.startswith("before\n<!-- made: sizes -->\n| space | size |")
    assert made.endswith("<!-- end -->\nafter") and "old" not in made
    assert reference.renew(made) == made
    with pytest.raises(KeyError):
        reference.renew("<!-- made: nothing -->\n<!-- end -->")
