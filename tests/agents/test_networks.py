"""Networks by name: the one that ships, checkpoints, and search that starts from a network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents import pretrained
from agents.neural.policy import NeuralPolicy
from agents.neural.weights import CheckpointError
from agents.registry import AgentError, make_agent
from agents.search.names import UNLIMITED, search_settings
from agents.search.policies import SearchAgent
from agents.search.worlds import equal_cards
from king_env.engine import batch
from king_env.engine.jit import kernel
from king_env.engine.layout import PHASE_PLAY, PHASES, i64
from king_env.policy import BatchPolicy
from tests.agents.networks import write_network
from tests.agents.search import test_search as shared
from tests.agents.search.positions import deals, endgames, move_on
from tests.playing import VARIANTS
from tests.rules.factories import find_variant
from train.evaluation.identity import agent_identity


@pytest.fixture(scope="module")
def like_rule(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network that plays as the rule-based agent."""
    return write_network(tmp_path_factory.mktemp("like_rule"))


@pytest.fixture(scope="module")
def wild(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network that plays by its random weights."""
    return write_network(tmp_path_factory.mktemp("wild"), spread=3.0, rule_prior=0.1)


@kernel
def cards_like(games: Any, tables: Any, row: int, card: int) -> Any:
    """The seat's higher cards that search takes to be the same as a card."""
    g = games[row]
    return equal_cards(g.deal, tables[g.variant], i64(card))


def batch_agent(name: str) -> BatchPolicy:
    agent = make_agent(name)
    assert isinstance(agent, BatchPolicy) and agent.name == name
    return agent


# ---------------------------------------------------------------- the network that ships


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in place of the package's, with nothing in it."""
    monkeypatch.setattr(pretrained, "FOLDER", tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["net", "net@1", "net+pimc:2"])
def test_one_line_where_no_network_ships(shipped: Path, name: str) -> None:
    with pytest.raises(
        CheckpointError, match=r"this version ships no network.*king train"
    ) as error:
        make_agent(name)
    assert "\n" not in str(error.value)


def test_the_network_that_ships_plays_every_variant(shipped: Path) -> None:
    write_network(shipped, "family")
    rule, newest = batch_agent("rule"), make_agent("net")
    assert isinstance(newest, NeuralPolicy) and not newest.sample
    games, tables = deals([find_variant(name, {}) for name in VARIANTS], 3, 1)
    keys = np.zeros(len(games), dtype=np.uint64)
    expected = rule.act_batch(games, tables, keys)
    for name in ("net", "net@1"):
        assert np.array_equal(batch_agent(name).act_batch(games, tables, keys), expected)
    sampled = make_agent("net,sample=1")
    assert isinstance(sampled, NeuralPolicy) and sampled.sample
    before = agent_identity("net"), agent_identity("net+pimc:2"), agent_identity("pimc:2")
    write_network(shipped, "family", spread=1.0)
    after = agent_identity("net"), agent_identity("net+pimc:2"), agent_identity("pimc:2")
    assert [one == other for one, other in zip(before, after, strict=True)] == [False, False, True]


# ---------------------------------------------------------------- one position


def test_one_position_and_a_batch_choose_alike_in_every_phase(wild: Path) -> None:
    """Each phase has its own columns of the policy head."""
    agent = make_agent(str(wild))
    assert isinstance(agent, NeuralPolicy)
    games, tables = deals([find_variant(name, {}) for name in VARIANTS], 8, 2)
    in_play = np.zeros(len(games), dtype=np.int64)
    phases, alike = set(), []
    for turn in range(40):
        count = batch.rows_in_play(games, in_play)
        rows = in_play[:count].copy()
        keys = np.zeros(count, dtype=np.uint64)
        together = agent.act_batch(games[rows].view(np.recarray), tables, keys)
        for row, action in zip(rows[turn % 3 :: 3], together[turn % 3 :: 3], strict=True):
            seat = int(games.deal.actor[row])
            alike.append(action == agent.act_game(games, tables, int(row), seat, keys[0]))
            phases.add(PHASES[games.deal.phase[row]])
        move_on(games, tables, rows, 3)
    assert np.mean(alike) > 0.99  # sums in another order may tip a tie
    assert {"PLAY", "CHOOSE", "ORDER", "DECLARE"} <= phases and len(phases) > 6


# ---------------------------------------------------------------- search from a network


@pytest.mark.slow  # this and the next compile search with a network
@pytest.mark.parametrize("depth", [0, 8, 1000])
@pytest.mark.parametrize(
    "name", ["pimc:3,phases=all,trust=12,weigh=0", "pimc:2,weigh=1,phases=play,trust=40"]
)
def test_search_from_what_plays_as_rule_is_search_from_rule(
    like_rule: Path, name: str, depth: int
) -> None:
    agent, plain = shared.search(f"{like_rule}+{name},depth={depth}"), shared.search(name)
    variants = [find_variant(variant, {}) for variant in ("international", "russian_auction")]
    for games, tables in (deals(variants, 4, 6), endgames(variants, 8, 6, 30)):
        rows = np.arange(len(games), dtype=np.int64)
        expected, _, _ = shared.ask(plain, games, tables, rows, 9)
        found, _, _ = shared.ask(agent, games, tables, rows, 9)
        assert np.array_equal(found, expected)


@pytest.mark.slow
def test_the_tree_search_takes_a_network_too(like_rule: Path) -> None:
    games, tables = endgames([find_variant("international", {})], 6, 6, 24)
    rows = np.arange(len(games), dtype=np.int64)
    name = "ismcts:30,weigh=1,trust=40,phases=play"
    expected, _, _ = shared.ask(shared.search(name), games, tables, rows, 9)
    found, _, _ = shared.ask(
        shared.search(f"{like_rule}+{name},depth=1000"), games, tables, rows, 9
    )
    assert np.array_equal(found, expected)


@pytest.mark.slow
def test_worlds_count_against_the_scores_of_the_network(wild: Path) -> None:
    """With all trust in them nothing leads its own choice; by those of ``rule`` others would."""
    games, tables = endgames([find_variant("international", {})], 40, 6, 30)
    rows = np.flatnonzero(games.deal.phase == PHASE_PLAY)
    searching = shared.search(f"{wild}+pimc:3,depth=8,trust=1000,weigh=0")
    found, keys, views = shared.ask(searching, games, tables, rows, 9)
    own = batch_agent(f"checkpoint:{wild}").act_batch(views, tables, keys)
    assert len(rows) > 20
    for row, played, wanted in zip(rows, found, own, strict=True):
        low, high = sorted((int(played), int(wanted)))
        assert low == high or int(cards_like(games, tables, int(row), low)) >> high & 1


@pytest.mark.slow
def test_the_network_is_the_favourite_and_plays_worlds_out(wild: Path) -> None:
    games, tables = endgames([find_variant("international", {})], 40, 6, 30)
    rows = np.flatnonzero(games.deal.phase == PHASE_PLAY)
    network = make_agent(str(wild))
    assert isinstance(network, NeuralPolicy)
    # Hardly anything leads by ten standard errors: what is left is the favourite.
    loyal, keys, views = shared.ask(
        shared.search(f"{wild}+pimc:4,trust=0,caution=10,depth=4"), games, tables, rows, 9
    )
    own = network.act_batch(views, tables, keys)
    rule, _, _ = shared.ask(shared.search("pimc:4,trust=0,caution=10"), games, tables, rows, 9)
    assert np.mean(loyal == own) > np.mean(rule == own) + 0.2
    by_depth = [
        shared.ask(shared.search(f"{wild}+pimc:8,trust=0,depth={n}"), games, tables, rows, 9)[0]
        for n in (0, 4, 1000)
    ]
    assert len({tuple(found) for found in by_depth}) == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pimc:4", "ismcts:60"])
def test_before_play_the_network_decides_unless_told_otherwise(wild: Path, name: str) -> None:
    games, tables = deals([find_variant("international", {})], 40, 6)
    rows = np.flatnonzero(games.deal.phase != PHASE_PLAY)
    found, keys, views = shared.ask(shared.search(f"{wild}+{name}"), games, tables, rows, 9)
    own = batch_agent(f"checkpoint:{wild}").act_batch(views, tables, keys)
    everywhere = shared.search(f"{wild}+{name},phases=all")
    searched, _, _ = shared.ask(everywhere, games, tables, rows, 9)
    assert len(rows) > 10 and np.array_equal(found, own)
    assert not np.array_equal(searched, own)


def test_defaults_with_a_network() -> None:
    alone = search_settings("pimc", "pimc", "", {})
    found = search_settings("net+pimc", "pimc", "", {}, network=True)
    assert (alone.trust, alone.weigh, alone.early, alone.depth) == (12, False, True, UNLIMITED)
    assert (found.trust, found.weigh, found.early, found.depth) == (40, True, False, 2)


@pytest.mark.slow
def test_legal_blind_and_the_same_whatever_the_batch(wild: Path) -> None:
    name = f"{wild}+pimc:1,depth=3"
    shared.test_legal_and_blind_in_every_phase_of_every_variant(name)
    shared.test_same_action_whatever_the_batch(name)


SCRIPT = """
import sys
import numpy as np
from tests.agents.search.test_search import ask, search
from tests.agents.search.positions import endgames
from tests.rules.factories import find_variant
games, tables = endgames([find_variant("international", {})], 6, 4, 9)
rows = np.arange(len(games), dtype=np.int64)
print(ask(search(sys.argv[1] + "+pimc:2"), games, tables, rows, 5)[0].tolist())
assert "torch" not in sys.modules
"""


def test_the_same_without_the_compiler(wild: Path) -> None:
    found = []
    for disabled in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disabled}
        done = subprocess.run(
            [sys.executable, "-W", "ignore::RuntimeWarning", "-c", SCRIPT, str(wild)],
            check=True, capture_output=True, text=True, env=environment, timeout=600,
        )  # fmt: skip
        found.append(done.stdout)
    assert found[0] == found[1] and len(found[0]) > 10


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("net:3", r"net takes nothing after a colon"),
        ("net@2", r"net has no version '2'; allowed: net, net@1$"),
        ("net,sample=2", r"sample: found '2'; allowed: 0, 1"),
        ("net,depth=2", r"unknown key 'depth'.*sample"),
        ("nett", r"did you mean 'net'"),
        ("rule+pimc:3", r"'rule' is no network; allowed: net, net@1, checkpoint:PATH"),
        ("no/such/run+pimc:3", r"'no/such/run' is no network"),
        ("checkpoint:no/run+pimc:3", r"no/run: no such file or folder"),
        ("net+pimc:0", r"number of worlds: found '0'; allowed: 1..10000"),
        ("net+pimc:3,policy=rule", r"unknown key 'policy'.*depth"),
        ("net+pimc:3,depth=x", r"depth: found 'x'; allowed: 0..1000"),
        ("pimc:3,depth=4", r"unknown key 'depth'"),
        ("pimc:3,phases=bids", r"phases: found 'bids'; allowed: all, play"),
        ("net+search:3", r"no such agent; .*NETWORK\+pimc:W"),
    ],
)
def test_wrong_names(name: str, message: str) -> None:
    with pytest.raises(AgentError, match=message) as error:
        make_agent(name)
    assert "\n" not in str(error.value)


def test_a_folder_may_be_called_like_a_search(tmp_path: Path) -> None:
    folder = tmp_path / "net+pimc"
    folder.mkdir()
    write_network(folder)
    for name in (str(folder), f"checkpoint:{folder}"):
        assert isinstance(make_agent(name), NeuralPolicy)
    assert isinstance(make_agent(f"{folder}+pimc:2"), SearchAgent)
