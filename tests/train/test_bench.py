"""``king bench``: the rows of each group, and other libraries beside ours."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest

from train import bench, cli
from train.peers import PEERS, Peer
from train.scaling import Scaling

PEER_LIST = [(group, peer) for group, peers in PEERS.items() for peer in peers]


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measures little."""
    monkeypatch.setattr(bench, "RUNS", 1)
    monkeypatch.setattr(bench, "START_RUNS", 1)
    monkeypatch.setattr(bench, "NUM_ENVS", 64)
    monkeypatch.setattr(bench, "NUM_SEATS", 16)
    monkeypatch.setattr(bench, "NUM_VIEWS", 8)
    monkeypatch.setattr(bench, "WIDTH", 16)
    monkeypatch.setattr(bench, "SMALL_ENVS", 8)
    monkeypatch.setattr(bench, "MANY_ENVS", 128)
    monkeypatch.setattr(bench, "LEARNED", 100)
    monkeypatch.setattr(bench, "SEARCHES", ("pimc:2", "ismcts:10"))
    monkeypatch.setattr(bench, "SOLVED", {"solve": (2, 3), "solve_maxn": (2,)})
    monkeypatch.setattr(bench, "ENDGAMES", 3)
    monkeypatch.setattr(bench, "RAY_DECISIONS", 400)
    monkeypatch.setattr(bench, "RAY_PARTS", (2, 4))
    monkeypatch.setattr(bench, "RAY_RUNS", 1)
    monkeypatch.setattr(bench, "RAY_SEARCH", "pimc:2")
    monkeypatch.setattr(bench, "RAY_SEARCH_DECISIONS", 200)
    monkeypatch.setattr(bench, "_first_step_s", lambda cache: 1.0)


ROWS = {
    "engine": [
        "random_match",
        "step_packed",
        "step_dense",
        "step_packed_128",
        "step_dense_128",
        "rule_match",
        "threads_2",
        "cold_start",
        "warm_start",
        "state_bytes",
    ],
    "env": ["raw_env", "vector_env"],
    "act": [
        "view",
        "act_random",
        "act_greedy",
        "act_rule",
        "act_network",
        "act_batch_rule",
        "act_batch_network",
    ],
    "search": [
        *("worlds", "pimc_2", "ismcts_10"),
        *("solve_2_cards", "solve_3_cards", "solve_maxn_2_cards"),
    ],
    "train": ["learned", "learned_2", "learned_2_family", "learned_2_taught"],
}


@pytest.mark.parametrize("group", ROWS)
def test_rows(group: str) -> None:
    told: list[tuple[int, int]] = []
    result = bench.measure(group, progress=lambda done, everything: told.append((done, everything)))
    assert set(result) == {"machine", "rows"}
    assert [row["name"] for row in result["rows"]] == ROWS[group]
    assert all(row["value"] > 0 for row in result["rows"])
    assert [done for done, _ in told] == list(range(told[0][1]))


def test_json_and_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "env", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    keys = ["name", "value", "unit", "spread", "peer", "ratio"]
    assert all(list(row) == keys for row in rows)
    assert rows[0]["value"] > 1000
    assert cli.main(["bench", "env"]) == 0
    assert "vector_env" in capsys.readouterr().out


@pytest.mark.slow
def test_actors() -> None:
    pytest.importorskip("ray", reason="ray is not installed")
    rows = {row["name"]: row for row in bench.measure("ray")["rows"]}
    assert {name.removeprefix("ray_").removeprefix("search_") for name in rows} == {
        *("start", "weights", "decisions", "learn"),
        *("2_parts_play", "2_parts_transfer", "2_parts_1_actors", "2_parts_2_actors"),
        *("2_parts_model_1", "2_parts_model_2"),
        *("4_parts_play", "4_parts_transfer", "4_parts_1_actors", "4_parts_2_actors"),
        *("4_parts_model_1", "4_parts_model_2", "4_parts_model_4"),
    }
    assert all(row["value"] > 0 for name, row in rows.items() if "transfer" not in name)
    assert rows["ray_4_parts_model_4"]["peer"].startswith("one process, ")


def test_the_model_of_more_actors() -> None:
    measured = Scaling(100, 10, 2.0, 0.1, 5.0, 0.0, 0, 0, {})
    assert measured.alone_s == 25.0
    assert [measured.seconds(actors) for actors in (1, 3, 10)] == [26.0, 14.0, 8.0]


# ---------------------------------------------------------------- other libraries


def test_peers_stand_beside_rows_of_their_group() -> None:
    for group, peer in PEER_LIST:
        assert peer.against in ROWS[group]
    for peers in PEERS.values():
        assert len({peer.key for peer in peers}) == len(peers)


def test_a_peer_is_a_row_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(module: Any) -> Any:
        assert module is json
        return lambda: sum(range(100_000)) and 1000

    ticks: list[float] = []

    def clock() -> float:
        ticks.append(time.process_time())
        return ticks[-1]

    ours = Peer("here", "raw_env", "numpy", "json", "counting", make, clock=clock)
    missing = replace(ours, key="gone", distribution="no-such-library", extra="[all]")
    broken = replace(ours, key="broken", module="numpy.no_such_module")
    monkeypatch.setitem(PEERS, "env", (ours, missing, broken))
    rows = bench.measure("env", peers=True)["rows"]
    by_name = {row["name"]: row for row in rows}
    here = by_name["raw_env : here"]
    assert here["value"] == by_name["raw_env"]["value"] and here["unit"] == "decisions/s"
    name, _, rate = here["peer"].partition(" counting: ")
    assert name.startswith("numpy ")
    other = float(rate.removesuffix(" decisions/s").replace(",", ""))
    assert here["ratio"] == pytest.approx(here["value"] / other, rel=0.01)
    assert ticks, "a peer's time is measured with its own clock"
    gone = by_name["raw_env : gone"]
    assert gone["peer"] == "no-such-library[all]: not installed" and gone["ratio"] is None
    assert by_name["raw_env : broken"]["ratio"] is None
    assert "not installed" in cli_text(rows)


def cli_text(rows: list[dict[str, Any]]) -> str:
    from rich.console import Console

    console = Console(width=200)
    with console.capture() as capture:
        console.print(bench.to_text({"machine": {}, "rows": rows}))
    return capture.get()


@pytest.mark.parametrize(
    ("group", "peer"), PEER_LIST, ids=[f"{group}-{peer.key}" for group, peer in PEER_LIST]
)
def test_each_installed_library_plays(group: str, peer: Peer) -> None:
    run = peer.load()
    if run is None:
        pytest.skip(f"{peer.distribution}{peer.extra} is not installed")
    assert run() > 100 and run() > 100
    assert peer.distribution in peer.label()


def test_a_group_without_peers(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "act", "--peers"]) == 2
    assert "group act has none; allowed: engine, env, train" in capsys.readouterr().err
