"""The leaderboard: sums, the split of the budget, state, refusals, and whole boards."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.registry import make_agent
from king_env.rules.catalogue import load_variant
from tests.evaluation.helpers import LastCard
from train import cli
from train.evaluation.budget import LeaderboardError, allot, parse_budget, shrunk_variances
from train.evaluation.duplicate import evaluate
from train.evaluation.identity import agent_identity
from train.evaluation.intervals import estimate
from train.evaluation.leaderboard import (
    DEALS,
    FIRST,
    MARGIN,
    MATCHES,
    STATE,
    AgentTable,
    Board,
    Cell,
    Portion,
    Scheduler,
    Setting,
    deal_number,
)
from train.evaluation.seeds import benchmark_seed
from train.evaluation.tally import MAX_BLOCKS, Tally, combine, covariance_of_means

pytest.importorskip("openskill")
from train.evaluation.ratings import rate
from train.evaluation.standings import standings, to_json, to_markdown, write

INTERNATIONAL = load_variant("international")
SETTING = Setting(INTERNATIONAL, "development")


# ---------------------------------------------------------------- sums


def _tally(values: Any, block: int = 10, pieces: tuple[int, ...] = ()) -> Tally:
    tally = Tally(values.shape[1], block)
    for part in np.split(values, np.cumsum(pieces)):
        tally.add(part)
    return tally


def test_a_tally_estimates_what_all_values_do() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(3, 20, (500, 2))
    values[rng.random(500) < 0.7, 1] = np.nan
    tally = _tally(values, pieces=(7, 100, 3))
    for column in range(2):
        direct = estimate(values[np.isfinite(values[:, column]), column])
        found = tally.estimate(column)
        assert found.count == direct.count
        assert found.mean == pytest.approx(direct.mean)
        assert (found.low, found.high) == pytest.approx((direct.low, direct.high))


def test_pieces_and_files_change_nothing() -> None:
    values = np.random.default_rng(2).normal(0, 1, (4000, 2))
    whole = _tally(values, 10)
    pieces = _tally(values, 10, (1, 1, 3, 10, 1300, 2, 1288))
    again = Tally.from_data(json.loads(json.dumps(pieces.to_data())))
    assert len(whole.blocks) <= MAX_BLOCKS and whole.block == 40
    for tally in (pieces, again):
        assert tally.units == whole.units and tally.block == whole.block
        assert np.allclose(tally.blocks, whole.blocks) and np.allclose(tally.total, whole.total)
    assert again.to_data() == pieces.to_data()


@pytest.mark.parametrize("share", [0.0, 0.6])
def test_the_mean_of_cells_that_share_deals_has_an_honest_error(share: float) -> None:
    """Over many draws the variance of the combined mean is what single draws estimate."""
    rng = np.random.default_rng(3)
    means, errors = [], []
    for _ in range(300):
        common = rng.normal(0, 1, 1200)
        a = math.sqrt(share) * common + math.sqrt(1 - share) * rng.normal(0, 1, 1200)
        b = math.sqrt(share) * common[:600] + math.sqrt(1 - share) * rng.normal(0, 1, 600)
        parts = [(_tally(a[:, None], 4), 0.5), (_tally(b[:, None], 4), 0.5)]
        made = combine(parts, 0)
        means.append(made.mean)
        errors.append(made.half_width / 1.96)
    assert np.mean(np.square(errors)) == pytest.approx(np.var(means), rel=0.25)
    expected = 0.25 * (1 / 1200 + 1 / 600 + 2 * share * 600 / (1200 * 600))
    assert np.mean(np.square(errors)) == pytest.approx(expected, rel=0.05)


def test_few_blocks_mean_the_worst_case() -> None:
    values = np.random.default_rng(4).normal(0, 1, (60, 1))
    one, two = _tally(values), _tally(values[:40])
    bound = one.error(0) * two.error(0)
    assert covariance_of_means(one, two, 0) == pytest.approx(bound)
    assert covariance_of_means(one, two, 0, -1.0) == pytest.approx(-bound)
    difference = combine([(one, 1.0), (two, -1.0)], 0)
    expected = 1.96 * (one.error(0) + two.error(0))
    assert difference.half_width == pytest.approx(expected, rel=0.05)


# ---------------------------------------------------------------- the split


def test_time_goes_with_variance_and_cost() -> None:
    units = allot([100.0, 400.0, 100.0], [0.01, 0.01, 0.1], [0, 0, 0], 150)
    assert sum(n * t for n, t in zip(units, [0.01, 0.01, 0.1], strict=True)) == pytest.approx(
        150, rel=0.01
    )
    assert units[1] == pytest.approx(4 * units[0], rel=0.01)
    assert units[2] == pytest.approx(units[0], rel=0.01)


def test_cells_that_are_precise_enough_get_nothing() -> None:
    assert allot([1.0, 1.0], [1.0, 1.0], [1000, 0], 10) == [0, 10]
    assert allot([0.0, 4.0], [1.0, 1.0], [5, 5], 10) == [0, 10]
    assert allot([0.0, 0.0], [1.0, 1.0], [5, 5], 10) == [0, 0]
    assert allot([1.0], [1.0], [0], 0) == [0]


def test_small_samples_are_drawn_to_the_median() -> None:
    found = shrunk_variances([0.0, 100.0, math.inf, 100.0], [3, 1000, 1, 500])
    assert 60 < found[0] < 100 and found[1] == pytest.approx(100) and found[2] == 100


@pytest.mark.parametrize("schedule", [1, 4, 10, 12, 14, 15, 20, 40, 56])
def test_units_are_a_permutation_of_each_schedule(schedule: int) -> None:
    numbers = deal_number(np.arange(3 * schedule), schedule)
    for cycle in range(3):
        part = numbers[cycle * schedule : (cycle + 1) * schedule]
        assert sorted(part) == list(range(cycle * schedule, (cycle + 1) * schedule))


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("30m", 1800), ("2h", 7200), ("1.5", 90)]
)
def test_budgets(text: str, seconds: float) -> None:
    assert parse_budget(text) == seconds


# ---------------------------------------------------------------- a board of numbers


class Clock:
    """Time that only play spends."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


SPREAD = {"a": 10.0, "b": 20.0, "c": 40.0}
COST = {"a": 0.01, "b": 0.02, "c": 0.05}


class NumberTable:
    """Cells whose units are random numbers of a known spread and cost; notes what was played."""

    schedule = 10
    quantities: tuple[str, ...] = ("margin", "first", "rank", "even", "odd")

    def __init__(self, clock: Clock, stop_at: float = math.inf) -> None:
        self.clock = clock
        self.stop_at = stop_at
        self.played: dict[Cell, list[int]] = {}

    def play(self, cell: Cell, first: int, count: int) -> Portion:
        self.clock.now += count * (COST[cell.candidate] + COST[cell.against])
        if self.clock.now >= self.stop_at:
            raise KeyboardInterrupt
        self.played.setdefault(cell, []).extend(range(first, first + count))
        values = np.full((count, 5), 0.25)
        for row, unit in enumerate(range(first, first + count)):
            seed = [unit, ord(cell.candidate), ord(cell.against)]
            values[row, MARGIN] = np.random.default_rng(seed).normal(
                0, SPREAD[cell.candidate] + SPREAD[cell.against]
            )
            values[row, 3 + unit % 2] = values[row, MARGIN]
            values[row, 4 - unit % 2] = np.nan
        return Portion(values, asked=(count, count), thinking_s=(count * 1e-3, count * 1e-3))

    def speed(self, agent: str) -> tuple[int, float] | None:
        return None


AGENTS = {"a": "1", "b": "1", "c": "1"}


def _run(board: Board, folder: Path | None, budget: float, **kw: Any) -> tuple[NumberTable, bool]:
    clock = Clock()
    table = NumberTable(clock, **kw)
    return table, Scheduler(board, table, budget, folder, clock=clock).run()


def test_half_widths_come_out_equal_and_the_budget_is_kept() -> None:
    board = Board(SETTING, AGENTS)
    _, finished = _run(board, None, 2000)
    assert finished and 1990 < board.spent_s < 2015
    widths = [board.records[cell].tally.estimate(MARGIN).half_width for cell in board.cells()]
    assert len(widths) == 6 and max(widths) < 1.15 * min(widths)


def test_a_stopped_board_goes_on_and_plays_nothing_twice(tmp_path: Path) -> None:
    first, finished = _run(Board.load(tmp_path, SETTING, AGENTS), tmp_path, 500, stop_at=200)
    assert not finished
    board = Board.load(tmp_path, SETTING, AGENTS)
    assert 100 < board.spent_s <= 200
    assert {cell: board.units(cell) for cell in board.cells()} == {
        cell: len(units) for cell, units in first.played.items()
    }
    second, finished = _run(board, tmp_path, 500)
    assert finished and 495 < board.spent_s < 515
    for cell in board.cells():
        units = first.played[cell] + second.played.get(cell, [])
        assert units == list(range(board.units(cell)))
        whole = NumberTable(Clock()).play(cell, 0, len(units)).values
        direct = estimate(whole[:, MARGIN])
        assert board.records[cell].tally.estimate(MARGIN).mean == pytest.approx(direct.mean)
    third, _ = _run(Board.load(tmp_path, SETTING, AGENTS), tmp_path, 500)
    assert not third.played  # the budget is that of all sittings
    more, _ = _run(Board.load(tmp_path, SETTING, AGENTS), tmp_path, 600)
    assert more.played


def test_agents_may_join_and_stay_away(tmp_path: Path) -> None:
    two = {name: "1" for name in "ab"}
    _run(Board.load(tmp_path, SETTING, two), tmp_path, 50)
    joined = Board.load(tmp_path, SETTING, {**AGENTS})
    before = joined.units(Cell("a", "b", DEALS))
    assert before and not joined.units(Cell("c", "b", DEALS))
    _run(joined, tmp_path, 200)
    assert joined.units(Cell("c", "b", DEALS))
    again = Board.load(tmp_path, SETTING, two)
    assert len(again.cells()) == 2 and again.units(Cell("a", "b", DEALS)) >= before
    again.save(tmp_path)
    assert Board.load(tmp_path, SETTING, AGENTS).units(Cell("c", "b", DEALS))


@pytest.mark.parametrize(
    ("setting", "agents", "text"),
    [
        (Setting(INTERNATIONAL, "test"), AGENTS, "seed list: it was played with 'development'"),
        (
            Setting(load_variant("turkish_short"), "development"),
            AGENTS,
            "variant: it was played with 'international'",
        ),
        (
            Setting(load_variant("international", {"early_end": "auto"}), "development"),
            AGENTS,
            "options: it was played with {}, this is {'early_end': 'auto'}",
        ),
        (SETTING, {**AGENTS, "b": "2"}, "agent 'b' is another one now"),
    ],
    ids=["seed list", "variant", "options", "agent"],
)
def test_what_was_played_otherwise_is_refused(
    setting: Setting, agents: dict[str, str], text: str, tmp_path: Path
) -> None:
    Board(SETTING, AGENTS).save(tmp_path)
    with pytest.raises(LeaderboardError) as caught:
        Board.load(tmp_path, setting, agents)
    assert text in str(caught.value) and "\n" not in str(caught.value)


def test_a_broken_state_is_refused(tmp_path: Path) -> None:
    (tmp_path / STATE).write_text('{"format": 1')
    with pytest.raises(LeaderboardError, match="not the state of a leaderboard"):
        Board.load(tmp_path, SETTING, AGENTS)


def test_identities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert agent_identity("rule") == agent_identity("random")
    assert agent_identity("pimc:5").startswith("search ")
    module = tmp_path / "own_agent.py"
    module.write_text("class Own: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    before = agent_identity("own_agent:Own")
    program = agent_identity(f"exec:sh {module},limit=1")
    module.write_text("class Own:\n    better = True\n")
    assert agent_identity("own_agent:Own") != before
    assert agent_identity(f"exec:sh {module},limit=1") != program


# ---------------------------------------------------------------- boards of agents


def _board(variant: Any, names: tuple[str, ...], seconds: float) -> tuple[Board, AgentTable]:
    board = Board(Setting(variant, "development"), dict.fromkeys(names, "1"))
    players = {name: make_agent(name) for name in names}
    table = AgentTable(variant, players, benchmark_seed("development"))
    assert Scheduler(board, table, seconds).run()
    return board, table


def test_a_cell_is_an_evaluation() -> None:
    table = AgentTable(
        INTERNATIONAL,
        {"rule": make_agent("rule"), "last": LastCard()},
        benchmark_seed("development"),
    )
    for kind, units in ((DEALS, 30), (MATCHES, 3)):
        cell = Cell("last", "rule", kind)
        tally = Tally(len(table.quantities), 10)
        for first, count in ((0, 2), (2, units - 2)):
            tally.add(table.play(cell, first, count).values)
        deals, matches = (units, None) if kind == DEALS else (None, units)
        result = evaluate(LastCard(), "rule", deals=deals, matches=matches, seed_list="development")
        found = tally.estimate(MARGIN)
        assert found.mean == pytest.approx(result.margin.mean)
        assert found.half_width == pytest.approx(result.margin.half_width)
        if kind == DEALS:
            for column, name in enumerate(table.quantities[3:], 3):
                assert tally.mean(column) == pytest.approx(result.strata[name].margin.mean)
        else:
            assert result.matches is not None
            assert tally.mean(FIRST) == pytest.approx(result.matches.first.mean)


def test_a_board_of_our_agents(tmp_path: Path) -> None:
    board, table = _board(INTERNATIONAL, ("random", "greedy", "rule"), 3)
    assert len(board.cells()) == 12  # all are fast: deals and matches
    made = standings(board, table.quantities)
    assert [line.name for line in made.lines] == ["rule", "greedy", "random"]
    best = made.lines[0]
    assert best.margin.low > 20 and best.three is not None and best.three.low > 10
    assert best.margin.mean == pytest.approx(
        np.mean([entry.mean for entry in best.opponents.values()])
    )
    cell = board.records[Cell("random", "rule", DEALS)].tally
    other = board.records[Cell("greedy", "rule", DEALS)].tally
    assert best.three.mean == pytest.approx(-(cell.mean(MARGIN) + other.mean(MARGIN)) / 6)
    assert best.match_wins is not None and best.match_wins.low > 0.5
    assert best.rating.mu > made.lines[2].rating.mu
    assert 0 < best.ms_per_move < 0.1 and not best.faults
    assert set(best.strata) == set(table.quantities[3:]) and "strata:auction" in best.differs
    write(made, tmp_path)
    text = (tmp_path / "leaderboard.md").read_text()
    assert text.startswith("**benchmark king-1; variant international; seed list development**")
    assert "| 1 | rule |" in text and "auction" in text
    data = json.loads((tmp_path / "leaderboard.json").read_text())
    assert data["benchmark"] == "king-1" and data["agents"][0]["margin"]["low"] > 20
    assert (tmp_path / "leaderboard.png").read_bytes().startswith(b"\x89PNG")


def test_a_board_of_pairs_adds_up_to_nothing() -> None:
    variant = load_variant("turkish_short_pairs")
    board, table = _board(variant, ("random", "greedy", "rule"), 2)
    assert len(board.cells()) == 6
    made = standings(board, table.quantities)
    assert made.pairs and all(line.three is None for line in made.lines)
    assert sum(line.margin.mean for line in made.lines) == pytest.approx(0)
    by_name = {line.name: line for line in made.lines}
    one, two = by_name["rule"].opponents["random"], by_name["random"].opponents["rule"]
    assert one.mean == pytest.approx(-two.mean) and one.low == pytest.approx(-two.high)
    wins = [line.wins.mean for line in made.lines]
    assert sum(wins) / 3 == pytest.approx(0.5)


def test_what_is_not_the_benchmark_says_so() -> None:
    variant = load_variant("international", {"early_end": "auto"})
    board, table = _board(variant, ("random", "rule"), 0.5)
    text = to_markdown(standings(board, table.quantities))
    assert "not the benchmark; variant international, early_end=auto; seed list" in text
    assert to_json(standings(board, table.quantities))["benchmark"] is None


class Broken:
    """Fails in some deals."""

    name = "broken"

    def act(self, view: Any, rng: np.random.Generator) -> int:
        if view.phase == "PLAY" and "AS" in view.hand and len(view.hand) == 5:
            raise RuntimeError("out of ideas")
        if view.phase == "PLAY" and "KH" in view.hand and len(view.hand) == 4:
            return 148
        return int(view.legal_actions[0])


def test_a_broken_agent_loses_deals_and_stops_nothing() -> None:
    board = Board(SETTING, {"broken": "1", "greedy": "1"})
    players = {"broken": Broken(), "greedy": make_agent("greedy")}
    table = AgentTable(INTERNATIONAL, players, SETTING.seed)
    assert Scheduler(board, table, 2.0).run()
    made = standings(board, table.quantities)
    line = next(line for line in made.lines if line.name == "broken")
    assert line.faults["crash"] > 0 and line.faults["illegal"] > 0
    assert "faults of broken: " in to_markdown(made)
    other = next(line for line in made.lines if line.name == "greedy")
    assert not other.faults


def test_ratings_follow_the_signs() -> None:
    found = rate(["a", "b", "c"], {("a", "b"): "++0+" * 10, ("b", "c"): "+-++" * 10})
    assert found["a"].mu > found["b"].mu > found["c"].mu
    assert found["a"].sigma < 25 / 3


# ---------------------------------------------------------------- the command


def _command(folder: Path, budget: str) -> list[str]:
    return [
        sys.executable, "-m", "train.cli", "leaderboard", "--agents", "random", "greedy",
        "--budget", budget, "--out", str(folder), "--seed-list", "development",
    ]  # fmt: skip


def _wait_for(file: Path, process: subprocess.Popen[str]) -> None:
    for _ in range(1200):
        if file.is_file():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    raise AssertionError(f"no {file}")


@pytest.mark.slow
def test_kill_and_go_on(tmp_path: Path) -> None:
    process = subprocess.Popen(_command(tmp_path, "60s"), text=True, stderr=subprocess.DEVNULL)
    _wait_for(tmp_path / STATE, process)
    process.kill()
    process.wait()
    data = json.loads((tmp_path / STATE).read_text())
    assert 0 < data["spent_s"] < 60 and data["cells"]
    budget = f"{data['spent_s'] + 3:.0f}s"
    done = subprocess.run(_command(tmp_path, budget), capture_output=True, text=True, check=True)
    assert "benchmark king-1" in done.stdout and "greedy" in done.stdout
    after = json.loads((tmp_path / STATE).read_text())
    for old, new in zip(data["cells"], after["cells"], strict=False):
        assert new["tally"]["units"] >= old["tally"]["units"]
        assert new["signs"].startswith(old["signs"])


@pytest.mark.slow
def test_ctrl_c_prints_the_table_so_far(tmp_path: Path) -> None:
    process = subprocess.Popen(
        _command(tmp_path, "60s"), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    _wait_for(tmp_path / STATE, process)
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == cli.INTERRUPTED
    assert "benchmark king-1" in out and "greedy" in out
    assert json.loads((tmp_path / STATE).read_text())["spent_s"] < 60


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("--budget soon", "budget: found 'soon'; allowed: a time such as 90s, 30m or 2h"),
        ("--budget 0s", "budget: found '0s'"),
        ("--agents rule", "agents: found 1; allowed: two and more"),
        ("--agents rule rule", "agents: rule: given twice"),
        ("--agents rule rul", "agent 'rul': no such agent; did you mean 'rule'"),
        ("--seed-list exam", "seed list 'exam': unknown; allowed: development"),
        ("--variant bridge", "bridge"),
    ],
)
def test_bad_input_is_one_line(
    arguments: str, text: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    command = ["leaderboard", "--out", str(tmp_path / "board"), *arguments.split()]
    assert cli.main(command) == cli.USAGE
    error = capsys.readouterr().err
    assert text in error and len(error.splitlines()) == 1
    assert not (tmp_path / "board").exists()
