"""Bad input, all of it in one file: one clear line each, exit code 2, nothing left behind."""

from __future__ import annotations

import json
import random
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.playing import new_game, play
from train import cli

CASES: list[dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "malformed.toml").read_text(encoding="utf-8")
)["case"]

COMMANDS = {
    "variant": "rules {path}",
    "option": "rules {variant} {options}",
    "config": "train {path} --out run --quiet",
    "record": "replay {path} --check",
    "action": "replay {path} --check",
    "command": "{text}",
}


def edited(data: Any, place: str, value: Any) -> None:
    """Sets the value at a dotted place; ``"-"`` removes it."""
    *path, last = (int(part) if part.isdigit() else part for part in place.split("."))
    for part in path:
        data = data[part]
    if value == "-":
        del data[last]
    else:
        data[last] = value


def record_text(case: dict[str, Any]) -> str:
    """A good record of a deal, with the places of a case changed."""
    if "text" in case:
        return str(case["text"])
    game = new_game(case.get("variant", "international"), seed=1)
    record = play(game, random.Random(1)).to_record()
    for place, value in case["set"].items():
        edited(record, place, value)
    return json.dumps(record)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_one_clear_line(
    case: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    kind = case["kind"]
    suffix = {"record": "jsonl", "action": "jsonl"}.get(kind, "toml")
    path = tmp_path / f"bad.{suffix}"
    if kind in ("record", "action"):
        path.write_text(record_text(case), encoding="utf-8")
    elif kind in ("variant", "config"):
        path.write_text(case["text"], encoding="utf-8")
    options = " ".join(f"--option {option}" for option in case.get("options", ()))
    command = COMMANDS[kind].format(
        path=path, variant=case.get("variant", ""), options=options, text=case.get("text", "")
    )
    before = sorted(tmp_path.iterdir())
    assert cli.main(command.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("king: ") and err.count("\n") == 1, err
    assert "Traceback" not in err and "Error(" not in err
    for part in case["says"]:
        assert part in err, err
    assert sorted(tmp_path.iterdir()) == before


def test_there_are_enough_of_every_kind() -> None:
    kinds = Counter(case["kind"] for case in CASES)
    assert kinds.total() >= 60
    assert all(kinds[kind] >= 4 for kind in COMMANDS)
