"""Agents by name, and what a wrong name is told."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from agents import registry
from agents.base import CompiledAgent
from agents.registry import AgentError, agent_names, make_agent, parse_name, policy_id
from king_env.policy import Policy, View


class First:
    """Plays the first legal action."""

    name = "first"

    def __init__(self, seed: int = 0, depth: str = "1", number: int = 0) -> None:
        self.given = (seed, depth, number)

    def act(self, view: View, rng: np.random.Generator) -> int:
        return view.legal_actions[0]


class NoAgent:
    """Not an agent."""


class Broken:
    """Has what an agent has, but for a file."""

    def __init__(self) -> None:
        raise KeyError("of no use")


class NeedsMore:
    """Cannot be made by name."""

    def __init__(self, table: int) -> None:
        self.table = table


@pytest.mark.parametrize("name", ["random", "greedy", "rule", "rule@1"])
def test_own_names(name: str) -> None:
    agent = make_agent(name, seed=3)
    assert isinstance(agent, CompiledAgent) and isinstance(agent, Policy)
    assert (agent.name, agent.policy_id, agent.seed) == (name, policy_id(name), 3)
    assert name in agent_names()


def test_the_bare_name_is_the_newest_version() -> None:
    assert policy_id("rule") == policy_id("rule@1")


def test_other_names_have_no_policy_id() -> None:
    assert policy_id("checkpoint:run") is None


def test_parts_of_a_name() -> None:
    parsed = parse_name("pimc:20,endgame=6,sample=1")
    assert (parsed.name, parsed.argument) == ("pimc", "20")
    assert parsed.options == {"endgame": "6", "sample": "1"}


def test_a_class_of_a_module() -> None:
    agent = make_agent(f"{__name__}:First,depth=4", seed=7)
    assert agent.given == (7, "4", 0)  # type: ignore[attr-defined]  # the test's own class


def test_a_name_of_another_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("firstling", f"{__name__}:First", registry.ENTRY_POINT_GROUP)
    own = EntryPoint("builtin", "agents.registry:make_agent", registry.ENTRY_POINT_GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [own, entry])
    assert agent_names() == [
        *("random", "greedy", "rule", "rule@1", "pimc", "ismcts", "net", "net@1", "firstling"),
    ]
    agent = make_agent("firstling:6,depth=2", seed=1)
    assert agent.given == (1, "2", 6)  # type: ignore[attr-defined]  # the test's own class
    with pytest.raises(AgentError, match=r"unknown key 'width'.*allowed: depth"):
        make_agent("firstling,width=3")
    with pytest.raises(AgentError, match="a whole number"):
        make_agent("firstling:x")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rulee", r"'rulee'.*did you mean 'rule'.*allowed: random, greedy, rule.*module:Class"),
        ("rule@2", r"'rule@2': rule has no version '2'; allowed: rule, rule@1$"),
        ("greedy@1", r"greedy has no version '1'; allowed: greedy$"),
        ("rule@1:3", r"nothing after a colon"),
        ("", r"no name"),
        (",sample=1", r"no name"),
        ("rule:3", r"nothing after a colon"),
        ("random:", r"nothing after a colon"),
        ("greedy,x=1", r"unknown key 'x'; it has none"),
        ("rule,x", r"'x' is not of the form key=value"),
        ("rule,x=", r"not of the form key=value"),
        ("rule,x=1,x=2", r"'x' is given twice"),
        ("checkpoint:", r"found no path"),
        ("checkpoint:no/such/run", r"no/such/run: no such file or folder"),
        ("no_such_module:Agent", r"no such agent"),
        (f"{__name__}:Firts", r"has no 'Firts'; did you mean 'First'"),
        (f"{__name__}:NoAgent", r"is no agent; expected a name and act"),
        (f"{__name__}:NeedsMore", r"missing a required argument: 'table'"),
        (f"{__name__}:First,breadth=1", r"unknown key 'breadth'; .*allowed: depth, number"),
        (f"{__name__}:POINTS", r"has no 'POINTS'"),
        (f"{__name__}:Broken", r"cannot be made: KeyError: 'of no use'"),
        ("tests.agents.broken:Agent", r"cannot be imported: ZeroDivisionError: division by zero"),
    ],
)
def test_wrong_names(name: str, message: str) -> None:
    with pytest.raises(AgentError, match=message) as error:
        make_agent(name)
    assert "\n" not in str(error.value)


def test_wrong_value_for_a_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="sample: found '2'; allowed: 0, 1"):
        make_agent(f"checkpoint:{tmp_path},sample=2")
    with pytest.raises(AgentError, match=r"unknown key 'simple'; did you mean 'sample'"):
        make_agent(f"{tmp_path},simple=1")


def test_a_wrong_name_needs_no_compiler() -> None:
    code = (
        "import sys; from agents.registry import *\n"
        "try: make_agent('rulee')\n"
        "except AgentError: sys.exit('numba' in sys.modules or 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert done.returncode == 0
