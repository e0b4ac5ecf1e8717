"""Agents in processes of their own, with real processes: good ones, and every way to fail."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.faults import AgentFault
from agents.process import MAX_STARTS, ProcessAgent, decision_line, hello_line
from agents.registry import AgentError, make_agent
from king_env.game import Game
from king_env.rules.catalogue import load_variant
from train.evaluation.duplicate import evaluate
from train.evaluation.match import TableRunner

PLAYERS = Path(__file__).with_name("players.py")
INTERNATIONAL = load_variant("international")


def player(kind: str, **options: Any) -> ProcessAgent:
    return ProcessAgent(f"'{sys.executable}' '{PLAYERS}' '{kind}'", name=kind, **options)


class Last:
    """What the good program does, in this process."""

    name = "last"

    def act(self, view: Any, rng: np.random.Generator) -> int:
        return int(view.legal_actions[-1])


class Draw:
    """What the program ``drawer`` does."""

    name = "draw"

    def act(self, view: Any, rng: np.random.Generator) -> int:
        legal = view.legal_actions
        return int(legal[int(rng.integers(0, 2**32)) % len(legal)])


@pytest.mark.parametrize(("kind", "twin"), [("good", Last()), ("drawer", Draw())])
def test_a_program_plays_like_the_same_agent_in_this_process(kind: str, twin: Any) -> None:
    agent = player(kind, observation=kind == "good")
    for variant in ("international", "russian_auction"):
        apart = evaluate(agent, "greedy", variant, deals=8)
        assert apart.faults == (0, 0)
        assert apart.margin == evaluate(twin, "greedy", variant, deals=8).margin
    agent.close()


@pytest.mark.parametrize(
    ("kind", "fault", "text"),
    [
        ("crashing", "crash", "ended with status 3: out of luck"),
        ("slow", "timeout", "no answer to decision within 0.3 s"),
        ("illegal", "illegal", "in phase PLAY; legal: "),
        ("garbage", "malformed", "expected"),
        ("long", "malformed", "no line of up to"),
    ],
)
def test_a_fault_loses_the_deal_and_the_play_goes_on(kind: str, fault: str, text: str) -> None:
    agent = player(kind, limit_s=0.3 if kind == "slow" else 5.0)
    runner = TableRunner(INTERNATIONAL, [make_agent("greedy"), agent], agent_seed=3)
    num = 4 if kind in ("slow", "crashing", "long") else 12
    seating = np.tile(np.array([1, 0, 0, 0]), (num, 1))
    results = runner.play(np.arange(num), seating, seed=5)
    agent.close()
    lost = results.faults[:, 0, 1]
    assert lost.any() and not results.faults[:, 0, 0].any()
    assert set(runner.fault_kinds[1]) == {fault} and runner.fault_kinds[1][fault] == lost.sum()
    assert runner.last_fault[1].startswith(f"{fault}: ") and text in runner.last_fault[1]
    scores = results.scores[:, 0]
    assert (scores[lost, 0] == scores[lost].min(axis=1)).all()
    fixed = results.position[:, 0] < 6  # the six negative deals have fixed sums
    sums = {0: -260, 1: -260, 2: -200, 3: -240, 4: -160, 5: -180}
    for game in np.flatnonzero(fixed):
        assert scores[game].sum() == sums[int(results.position[game, 0])]


def test_two_answers_to_one_question_are_a_fault() -> None:
    agent = player("twice")
    runner = TableRunner(INTERNATIONAL, [make_agent("greedy"), agent], agent_seed=3)
    results = runner.play(np.arange(8), np.tile([1, 0, 0, 0], (8, 1)), seed=5)
    agent.close()
    assert results.faults[:, 0, 1].any()
    # Found before the next question, or as the answer to a question that it does not fit.
    assert set(runner.fault_kinds[1]) <= {"malformed", "illegal"}


def test_deals_without_fault_are_scored_as_they_were_played() -> None:
    agent = player("garbage")
    runner = TableRunner(INTERNATIONAL, [make_agent("greedy"), agent], agent_seed=3)
    other = TableRunner(INTERNATIONAL, [make_agent("greedy"), Last()], agent_seed=3)
    seating = np.tile(np.array([1, 0, 0, 0]), (12, 1))
    results = runner.play(np.arange(12), seating, seed=5)
    played = other.play(np.arange(12), seating, seed=5)
    agent.close()
    good = ~results.faults[:, 0, 1]
    assert good.any() and (~good).any()
    assert (results.scores[good] == played.scores[good]).all()


def test_a_process_that_never_starts_is_given_up() -> None:
    agent = player("no start")
    runner = TableRunner(INTERNATIONAL, [make_agent("greedy"), agent])
    num = MAX_STARTS + 3
    results = runner.play(np.arange(num), np.tile([1, 0, 0, 0], (num, 1)), seed=5)
    assert results.faults[:, 0, 1].all() and runner.fault_kinds[1] == {"crash": num}
    assert "not started again after 5 starts" in runner.last_fault[1]


def test_a_silent_process_is_not_waited_for() -> None:
    agent = player("silent", start_s=0.3)
    view = Game("international", seed=1).view(1)
    before = time.monotonic()
    with pytest.raises(AgentFault, match=r"no answer to hello within 0\.3 s"):
        agent.act(view, np.random.default_rng(1))
    assert time.monotonic() - before < 5


@pytest.mark.skipif(not shutil.which("ps"), reason="needs ps to see processes")
@pytest.mark.parametrize(
    ("end", "fault"), [("sleep 60", "no answer to decision"), ("exit 3", "ended with status 3")]
)
def test_a_process_is_ended_with_all_that_it_started(tmp_path: Path, end: str, fault: str) -> None:
    file = tmp_path / "pid"
    script = f"sleep 60 > /dev/null & echo $! > {file}; read x; echo '{{}}'; read x; {end}"
    agent = ProcessAgent(f'sh -c "{script}"', limit_s=0.3)
    game = Game("international", seed=1)
    with pytest.raises(AgentFault, match=fault):
        agent.act(game.view(game.actor or 0), np.random.default_rng(1))
    pid = int(file.read_text())
    for _ in range(100):
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
        ).stdout.strip()
        if not state or state.startswith("Z"):
            return
        time.sleep(0.05)
    raise AssertionError(f"process {pid} is still there: {state}")


def test_lines_hold_what_the_seat_may_know() -> None:
    hello = json.loads(json.dumps(hello_line(INTERNATIONAL, 1.0)))
    assert hello["variant"] == "international" and "spec" not in hello
    assert hello["actions"][0] == "2S" and len(hello["actions"]) == 149
    game = Game("international", seed=1)
    game.push(game.legal_actions[0])
    seat = game.actor
    assert seat is not None
    line = json.loads(json.dumps(decision_line(game.view(seat), 7, observation=True)))
    assert line["seat"] == seat and line["contract"] == "no_tricks" and line["random"] == 7
    assert len(line["hand"]) == 13 and set(line["legal"]) <= set(line["hand"])
    assert len(line["history"]) == 1 and line["trick"] == [line["history"][0][1]]
    assert sum(line["action_mask"]) == len(line["legal"])
    others = {card for other in range(4) if other != seat for card in game.deals[-1].dealt[other]}
    said = json.dumps({k: v for k, v in line.items() if k != "history" and k != "trick"})
    assert not [card for card in others if f'"{card}"' in said]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("exec:", "command: found none"),
        ("exec:no-such-program-here", "no such program"),
        ("exec:'", "No closing quotation"),
        ("exec:cat,limit=fast", "limit: found 'fast'; allowed: seconds"),
        ("exec:cat,limit=0", "limit: found '0'"),
        ("exec:cat,observation=2", "observation: found '2'; allowed: 0, 1"),
        ("exec:cat,speed=1", "unknown key 'speed'"),
    ],
)
def test_wrong_names(name: str, text: str) -> None:
    with pytest.raises(AgentError) as caught:
        make_agent(name)
    assert text in str(caught.value) and "\n" not in str(caught.value)


def test_by_name() -> None:
    name = f"exec:{sys.executable} {PLAYERS} good,limit=2"
    agent = make_agent(name)
    assert isinstance(agent, ProcessAgent)
    assert agent.name == name and agent.limit_s == 2
    assert evaluate(agent, "random", deals=2).faults == (0, 0)
    agent.close()
