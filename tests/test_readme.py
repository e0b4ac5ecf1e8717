"""The README's Python examples run, one after the other, as a reader would paste them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from train import cli

README = Path(__file__).parents[1] / "README.md"


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for command in (  # what the text has the reader do before
        "record --agents random --matches 1 --out games.jsonl",
        "dataset games.jsonl --out games.npz",
    ):
        assert cli.main(command.split()) == 0
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 4
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), names)
