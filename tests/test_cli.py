"""The program ``king``: what each command prints, and one clear line for every bad input."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from agents.pretrained import released_file
from king_env import variant_names
from train import cli

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def records(tmp_path: Path) -> Path:
    path = tmp_path / "games.jsonl"
    command = f"record --agents random --matches 2 --seed 1 --out {path}"
    assert cli.main(command.split()) == 0
    return path


# ---------------------------------------------------------------- what the commands do


def test_variants(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["variants"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 14
    assert [line.split()[0] for line in lines] == variant_names()
    assert all(len(line.split()) > 4 for line in lines)


def test_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rules", "international", "--option", "a.pack=32"]) == 0
    text = capsys.readouterr().out
    assert "no_hearts" in text and "a.pack" in text and "32" in text


@pytest.mark.parametrize(
    "arguments",
    [
        "--agents random --matches 3",
        "--agents rule random greedy random --deals 25",
        "--variant turkish_short --agents random --matches 2",
        "--variant turkish_short --option d.partnership=true --agents greedy --deals 5",
    ],
)
def test_record_and_replay(
    arguments: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.jsonl"
    assert cli.main(["record", *arguments.split(), "--seed", "1", "--out", str(path)]) == 0
    count = int(arguments.split()[-1])
    assert f"{count} " in capsys.readouterr().out
    lines = path.read_text().splitlines()
    assert len(lines) == count
    record = json.loads(lines[0])
    assert record["schema"] == 1 and record["seed"] == 1 and len(record["agents"]) == 4
    assert cli.main(["replay", str(path), "--check"]) == 0
    assert "every score agrees" in capsys.readouterr().out
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.jsonl"]


def test_records_do_not_depend_on_how_many_are_made(records: Path, tmp_path: Path) -> None:
    more = tmp_path / "more.jsonl"
    command = f"record --agents random --matches 3 --seed 1 --out {more}"
    assert cli.main(command.split()) == 0
    assert more.read_text().splitlines()[:2] == records.read_text().splitlines()


def test_replay_prints_games(records: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert cli.main(["replay", str(records), "--match", "2"]) == 0
    text = capsys.readouterr().out
    assert "record 2: international" in text and "record 1:" not in text
    assert "seat 0: random" in text and "deal 10: " in text
    assert len(re.findall(r"trick 13 ", text)) >= 6
    record = json.loads(records.read_text().splitlines()[1])
    totals = "  ".join(f"{points:+d}" for points in record["totals"])
    assert f"totals  {totals}" in text


def test_dataset(records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from king_env.dataset import load

    out = tmp_path / "d.npz"
    capsys.readouterr()
    assert cli.main(["dataset", str(records), "--out", str(out)]) == 0
    every = load(out)
    assert f"{len(every):,} decisions of 2 records written to {out}" in capsys.readouterr().out
    assert cli.main(["dataset", str(records), "--out", str(out), "--skip-forced"]) == 0
    assert 0 < len(load(out)) < len(every) and load(out).skip_forced
    assert cli.main(["dataset", str(records), "--out", str(records)]) == 2
    assert "is the file of records" in capsys.readouterr().err
    _spoil(records, '"totals":[', '"totals":[1,')
    assert cli.main(["dataset", str(records), "--out", str(out)]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1 and f"{records}, record 1: totals" in message
    assert len(load(out)) and len(list(tmp_path.iterdir())) == 2


def test_evaluate_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    command = "evaluate greedy --against random --deals 20 --start play --seed-list development"
    assert cli.main(command.split()) == 0
    text = capsys.readouterr().out
    assert "greedy against random: international, 20 deals from play on" in text
    assert "seed list development" in text and "±" in text


def test_evaluate_says_that_it_played_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    command = (
        "evaluate rule --against random --variant turkish_short --option d.partnership=true "
        "--deals 40"
    )
    assert cli.main(command.split()) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "turkish_short, d.partnership=True, 40 deals" in text and "pairs: each deal" in text


@pytest.mark.parametrize("units", ["--deals 12", "--matches 2"])
def test_evaluate_json(units: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = f"evaluate greedy --against random --variant turkish_short {units} --json"
    assert cli.main(command.split()) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["candidate"] == "greedy" and data["against"] == "random"
    assert data["variant"] == "turkish_short" and data["benchmark"] == "king-1"
    assert ("matches" in data) == ("matches" in units)


TINY = """
workers = 1
total_decisions = 500
[network]
width = 8
[clone]
decisions = 500
most = 500
batch = 128
[ppo]
decisions_per_iteration = 500
minibatch = 128
epochs = 1
"""


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Path, dict[str, Any]]]:
    """Puts a stand-in for the training loop in place, which only makes the folder."""
    calls: list[tuple[Any, Path, dict[str, Any]]] = []

    def run_training(config: Any, out: Path, **arguments: Any) -> Path:
        calls.append((config, out, arguments))
        out.mkdir(parents=True, exist_ok=True)
        return out

    loop: Any = types.ModuleType("train.loop")
    loop.run_training = run_training
    monkeypatch.setitem(sys.modules, "train.loop", loop)
    return calls


def test_train_hands_over_what_was_asked_for(
    trainings: list[tuple[Any, Path, dict[str, Any]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tiny.toml").write_text(TINY)
    assert cli.main("train tiny.toml --minutes 2.5 --workers 2 --quiet".split()) == 0
    config, out, arguments = trainings[-1]
    assert config.workers == 2 and config.total_decisions == 500
    assert out == Path("runs", "tiny-1-1")
    assert arguments["minutes"] == 2.5 and not arguments["progress"]
    assert arguments["seed"] is arguments["resume"] is arguments["init"] is None
    assert f"king evaluate {out}" in capsys.readouterr().out
    # Folders are numbered, never shared.
    assert cli.main("train tiny.toml --seed 1 --init tiny.toml".split()) == 0
    assert trainings[-1][1] == Path("runs", "tiny-1-2")
    assert trainings[-1][2]["init"] == Path("tiny.toml") and trainings[-1][2]["seed"] == 1
    assert not trainings[-1][0].output.tensorboard
    assert cli.main("train tiny.toml --init net".split()) == 0
    assert trainings[-1][2]["init"] == released_file("net")
    assert cli.main("train tiny.toml --tensorboard".split()) == 0
    assert trainings[-1][0].output.tensorboard


def test_resume_keeps_the_config_of_the_run(
    trainings: list[tuple[Any, Path, dict[str, Any]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tiny.toml").write_text(TINY)
    Path("run").mkdir()
    Path("run", "config.toml").write_text("seed = 7\n" + TINY)
    for command in ("train --resume run", "train tiny.toml --resume run"):
        assert cli.main(command.split()) == 0
        config, out, arguments = trainings[-1]
        assert config.seed == 7 and out == arguments["resume"] == Path("run")
    Path("other.toml").write_text(TINY.replace("epochs = 1", "epochs = 2"))
    assert cli.main("train other.toml --resume run".split()) == 2
    assert "differs from the config of run" in capsys.readouterr().err
    assert len(trainings) == 2


def test_evaluation_during_training_uses_development_deals(monkeypatch: pytest.MonkeyPatch) -> None:
    from agents.neural import policy
    from agents.registry import make_agent
    from train.config import TrainConfig

    loaded: list[Path] = []

    def stand_in(path: Path) -> Any:
        loaded.append(path)
        return make_agent("greedy")

    monkeypatch.setattr(policy, "load_policy", stand_in)
    figures = cli.evaluation_during_training(TrainConfig())(Path("with, comma.safetensors"))
    assert loaded == [Path("with, comma.safetensors")]
    assert list(figures) == ["random", "greedy", "rule"] and figures["greedy"] == 0
    both = TrainConfig(variants=("international", "turkish_short"))
    assert "turkish_short/rule" in cli.evaluation_during_training(both)(Path("x"))


@pytest.mark.slow
def test_train_evaluate_and_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    Path("tiny.toml").write_text(TINY)
    assert cli.main(["train", "tiny.toml", "--seed", "3", "--quiet"]) == 0
    run = Path("runs", "tiny-3-1")
    assert f"run folder: {run}" in capsys.readouterr().out
    logged = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert any("eval/rule" in entry for entry in logged)
    assert cli.main(f"evaluate {run} --against random --deals 20 --json".split()) == 0
    assert json.loads(capsys.readouterr().out)["candidate"] == str(run)
    # The same folder is not overwritten.
    assert cli.main(f"train tiny.toml --out {run} --quiet".split()) == 2
    assert "holds a run" in capsys.readouterr().err
    assert cli.main(f"train tiny.toml --resume {run} --quiet".split()) == 0


# ---------------------------------------------------------------- a person at the terminal


def _play(
    arguments: str,
    answers: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> str:
    monkeypatch.setattr(sys, "stdin", io.StringIO(answers))
    assert cli.main(["play", "--seed", "1", *arguments.split()]) == 0
    return capsys.readouterr().out


def test_play_deals_to_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = _play("--deals 2 --against greedy --seat 2", "1\n" * 26, monkeypatch, capsys)
    assert "You are seat 2, the others: greedy" in text
    assert text.count("deal: ") == 2 and "The end. Totals by seat" in text
    scores = [
        [int(n) for n in re.findall(r"[+-]\d+", part)] for part in re.findall("deal: (.*)   ", text)
    ]
    assert [sum(deal) for deal in scores] == [-260, -260]


def test_play_a_whole_match(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = _play("--against random --variant turkish_short", "1\n" * 400, monkeypatch, capsys)
    assert text.count("--- deal ") == 20 and "Your place: " in text


def test_play_gives_places_to_teams(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = "--variant turkish_short --option d.partnership=true --deals 3 --against rule"
    for seat in (0, 3):
        text = _play(f"{options} --seat {seat}", "1\n" * 60, monkeypatch, capsys)
        found = re.search(
            r"Totals by seat: (.*)\. Totals by team: (.*)\. Your team's place: (\d)", text
        )
        assert found is not None
        seats = [int(number) for number in found[1].split()]
        teams = [int(number) for number in found[2].split()]
        assert teams == [seats[0] + seats[2], seats[1] + seats[3]]
        assert int(found[3]) == 1 + (teams[1 - seat % 2] > teams[seat % 2])


def test_play_takes_names_and_numbers_and_says_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = "99\nnonsense\nbid:+1\n\nquit\n"
    text = _play("--deals 1 --against greedy", answers, monkeypatch, capsys)
    assert "99: the numbers go from 1 to" in text
    assert "'nonsense'" in text and "only a card may be played" in text
    assert "You have left the game" in text and "The end" not in text
    legal = re.search(r"\n1 (\S+)", text)
    assert legal is not None
    for answer in (legal[1], legal[1].lower()):
        again = _play("--deals 1 --against greedy", f"{answer}\n", monkeypatch, capsys)
        assert f"you: {legal[1]}" in again


def test_play_shows_nobody_elses_cards(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = _play("--deals 1 --seat 1", "quit\n", monkeypatch, capsys)
    hands = re.findall(r"seat (\d)  (S:\S+ H:\S+ D:\S+ C:\S+)", text)
    assert {seat for seat, _ in hands} == {"1"}


# ---------------------------------------------------------------- at full size


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["international", "turkish_short"])
def test_two_hundred_matches_replay(
    variant: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.jsonl"
    command = f"record --variant {variant} --agents random --matches 200 --seed 1 --out {path}"
    assert cli.main(command.split()) == 0
    assert cli.main(["replay", str(path), "--check"]) == 0
    assert "200 records" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(("baseline", "least"), [("random", 30), ("greedy", 5)])
def test_rule_beats_the_simple_baselines(
    baseline: str, least: float, capsys: pytest.CaptureFixture[str]
) -> None:
    command = f"evaluate rule --against {baseline} --start play --json"
    assert cli.main(command.split()) == 0
    assert json.loads(capsys.readouterr().out)["margin"] >= least


# ---------------------------------------------------------------- bad input

BAD = {
    "variant": "evaluate rule --against random --variant internationl",
    "variant in rules": "rules nosuch",
    "variant file": "rules missing.toml",
    "option": "rules international --option a.nosuch=1",
    "option value": "rules international --option a.pack=40",
    "option form": "rules international --option a.pack",
    "option twice": "rules international --option a.pack=32 --option a.pack=52",
    "options that contradict": "rules international --option a.table32=balanced160",
    "option of another variant": "play --variant turkish_short --option a.pack=32",
    "candidate": "evaluate nosuch --against random",
    "baseline": "evaluate random --against nosuch",
    "argument of an agent": "evaluate random:3 --against random",
    "key of an agent": "evaluate random,x=1 --against random",
    "checkpoint that is missing": "evaluate checkpoint:missing --against random",
    "deals": "evaluate random --against random --deals 0",
    "matches": "evaluate random --against random --matches -3",
    "deals and matches": "evaluate random --against random --deals 1 --matches 1",
    "start of matches": "evaluate random --against random --matches 1 --start play",
    "seed list": "evaluate random --against random --seed-list exam",
    "seed": "evaluate random --against random --seed -1",
    "seed and seed list": "evaluate random --against random --seed 1 --seed-list test",
    "seat": "play --seat 4",
    "number of agents": "record --agents random rule --deals 1 --out r.jsonl",
    "agent of a record": "record --agents nosuch --deals 1 --out r.jsonl",
    "neither deals nor matches": "record --agents random --out r.jsonl",
    "folder of a record": "record --agents random --deals 1 --out missing/r.jsonl",
    "folder for a record": "record --agents random --deals 1 --out .",
    "record that is missing": "replay missing.jsonl --check",
    "record that is a folder": "replay . --check",
    "records of a dataset": "dataset missing.jsonl --out d.npz",
    "folder of a dataset": "dataset /dev/null --out missing/d.npz",
    "dataset of nothing": "dataset /dev/null --out d.npz",
    "config": "train nosuch",
    "config file": "train missing.toml",
    "no config": "train",
    "minutes": "train international --minutes 0",
    "workers": "train international --workers 0",
    "address of a Ray cluster": "train international --ray nowhere",
    "actors": "train international --ray --actors 0",
    "actors without Ray": "train international --actors 2",
    "workers of a run with actors": "train international --ray --workers 2",
    "seed of training": "train international --seed -1",
    "run to resume": "train --resume missing",
    "resume with a seed": "train --resume . --seed 1",
    "resume with other output": "train --resume . --tensorboard",
    "folder that holds no run": "train --resume .",
    "weights to start from": "train international --init missing",
}


@pytest.mark.parametrize("command", BAD.values(), ids=BAD.keys())
def test_bad_input_gives_one_line_and_exit_code_2(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(command.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("king: ") and captured.err.count("\n") == 1
    assert "Traceback" not in captured.err
    assert not list(tmp_path.iterdir()), "nothing half-written"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (BAD["variant"], ["internationl", "international", "turkish_short"]),
        (BAD["option value"], ["a.pack", "40", "52, 32"]),
        (BAD["candidate"], ["nosuch", "random", "greedy", "rule"]),
        (BAD["seed list"], ["exam", "development", "validation", "test"]),
        (BAD["seat"], ["seat", "4", "0 to 3"]),
        (BAD["config"], ["nosuch", "international"]),
        (BAD["record that is missing"], ["missing.jsonl", "No such file"]),
    ],
)
def test_messages_say_what_where_and_what_is_allowed(
    command: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(command.split())
    message = capsys.readouterr().err
    assert all(word in message for word in words), message


@pytest.mark.parametrize("command", ["", "nosuch", "evaluate", "play --seat x", "bench gpu"])
def test_the_parser_answers_with_exit_code_2(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(command.split()) == 2
    assert "Traceback" not in capsys.readouterr().err


def _spoil(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"schema":1', '"schema":9', ["record 1", "schema", "9"]),
        ('"variant":"international"', '"variant":"bridge"', ["record 1", "bridge"]),
        ('"dealt":[["', '"dealt":[["XX","', ["deal 1"]),
        ('"actions":[[', '"actions":[[9,"AS"],[', ["deal 1, action 1", "9"]),
        ('"totals":[', '"totals":[1,', ["totals"]),
        ('{"schema"', '["schema"', ["line 1"]),
    ],
    ids=["schema", "variant", "cards", "action", "totals", "JSON"],
)
def test_a_bad_record_is_refused_with_its_place(
    old: str, new: str, words: list[str], records: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _spoil(records, old, new)
    capsys.readouterr()
    assert cli.main(["replay", str(records), "--check"]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1 and all(word in message for word in words), message


def test_a_record_that_is_not_there(records: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert cli.main(["replay", str(records), "--match", "3"]) == 2
    assert capsys.readouterr().err == f"king: {records}: no record 3\n"


def test_a_config_with_an_unknown_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("learning_rate = 1\n")
    assert cli.main(["train", str(path), "--out", str(tmp_path / "run")]) == 2
    message = capsys.readouterr().err
    assert "learning_rate" in message and message.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_failed_record_leaves_the_old_file(
    records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = records.read_bytes()
    command = f"record --agents tests.test_cli:Cheat --deals 2 --out {records}"
    assert cli.main(command.split()) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert "cheat" in message and "not legal" in message
    assert records.read_bytes() == old and list(tmp_path.iterdir()) == [records]


class Cheat:
    """An agent that plays what it does not hold."""

    name = "cheat"

    def act(self, view: object, rng: object) -> int:
        return 148


def test_interrupt(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt() -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "variant_names", interrupt)
    assert cli.main(["variants"]) == 130
    assert capsys.readouterr().err == "king: interrupted\n"


def test_a_bug_of_ours_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> str:
        raise KeyError("bug")

    monkeypatch.setattr(cli, "variant_names", fail)
    with pytest.raises(KeyError):
        cli.main(["variants"])


# ---------------------------------------------------------------- real processes

HEAVY = """
import sys
from train import cli
code = cli.main(sys.argv[1:])
print("heavy:", [name for name in ("numba", "torch") if name in sys.modules], "code:", code)
"""


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("--help", 0),
        ("evaluate --help", 0),
        ("variants", 0),
        ("rules turkish_short", 0),
        ("rules nosuch", 2),
        ("evaluate nosuch --against random", 2),
        ("evaluate random --against random --seed-list exam", 2),
        ("record --agents random --deals 1 --out missing/r.jsonl", 2),
        ("replay missing.jsonl", 2),
        ("dataset missing.jsonl --out d.npz", 2),
        ("train nosuch", 2),
        ("leaderboard --agents rule", 2),
        ("leaderboard --budget soon", 2),
        ("leaderboard --agents nosuch rule", 2),
        ("exploit rule --decisions 0", 2),
        ("exploit nosuch", 2),
    ],
)
def test_what_needs_no_kernels_loads_neither_numba_nor_torch(command: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HEAVY, *command.split()],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == f"heavy: [] code: {code}", done.stdout + done.stderr


def test_a_real_process_refuses_bad_input() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "train.cli", "rules", "nosuch"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("king: variant 'nosuch'") and done.stderr.count("\n") == 1


def test_a_reader_that_has_seen_enough(records: Path) -> None:
    program = f"{sys.executable} -m train.cli replay {records} | head -1"
    done = subprocess.run(program, shell=True, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("record 1:") and done.stderr == ""
