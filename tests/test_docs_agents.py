"""The programs of ``docs/agents.md`` play as the page says."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from agents.process import decision_line, hello_line
from agents.registry import make_agent
from king_env.engine.layout import PHASES
from king_env.game import Game
from king_env.rules.catalogue import load_variant
from train.evaluation.duplicate import evaluate

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "agents.md").read_text(encoding="utf-8")


def _block(start: str) -> str:
    """Returns the block of code that begins with a comment."""
    found = re.search(rf"```\w+\n({re.escape(start)}.*?)```", PAGE, re.DOTALL)
    assert found is not None, start
    return found[1]


def test_the_class_plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_module.py").write_text(_block("# my_module.py"))
    monkeypatch.syspath_prepend(tmp_path)
    assert evaluate("my_module:Careful", "random", deals=10).margin.count == 10


@pytest.mark.parametrize("language", ["python", "sh"])
@pytest.mark.parametrize("variant", ["international", "turkish_short"])
def test_the_programs_play(language: str, variant: str, tmp_path: Path) -> None:
    runner = {"python": sys.executable, "sh": "sh"}[language]
    file = tmp_path / {"python": "low.py", "sh": "low.sh"}[language]
    if not shutil.which(runner.split()[0]):
        pytest.skip(f"no {language}")
    file.write_text(_block(f"# {file.name}"))
    result = evaluate(f"exec:{runner} {file},start=10", "random", variant, deals=10)
    assert result.faults == (0, 0)
    low = evaluate("tests.test_docs_agents:Low", "random", variant, deals=10)
    assert result.margin == low.margin


class Low:
    """What both programs do."""

    name = "low"

    def act(self, view: object, rng: object) -> int:
        return int(view.legal_actions[0])  # type: ignore[attr-defined]


def test_the_lines_are_those_of_the_page() -> None:
    hello, decision = (
        json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    )
    variant = load_variant("international")
    made = hello_line(variant, 1.0)
    assert list(hello) == list(made)
    assert {key: value for key, value in hello.items() if key != "actions"} == {
        key: value for key, value in made.items() if key != "actions"
    }
    assert made["actions"][:2] == hello["actions"][:2]
    game = Game("international", seed=1)
    assert list(decision) == list(decision_line(game.view(game.actor or 0), 1))
    rows = re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)
    keys = {key for row in rows for key in re.findall(r"`(\w+)`", row)}
    assert set(decision) - {"type", "dealer"} <= keys
    phases = re.search(r"`PLAY`, or a decision before it: `(.*?)`", PAGE)
    assert phases is not None
    assert set(phases[1].split()) == set(PHASES) - {"PLAY", "OVER"} - _dealing()


def _dealing() -> set[str]:
    """Returns the phases in which nobody decides."""
    return {phase for phase in PHASES if phase.startswith("DEAL")}


def test_agents_by_the_names_of_the_page() -> None:
    assert make_agent("exec:cat,limit=0.5,start=1,observation=1").name.startswith("exec:")
