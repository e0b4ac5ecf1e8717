"""Datasets: rows are what the environment shows and pays, files are whole, wrong ones refused."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from king_env import dataset
from king_env.dataset import COLUMNS, Dataset, DatasetError, load, make_dataset
from king_env.engine import observe
from king_env.engine.layout import PHASES
from king_env.envs.aec import raw_env
from king_env.envs.core import AGENTS
from king_env.records import RecordError, write_records
from tests.playing import new_game, play
from tests.rules.factories import find_variant

GAMES: list[tuple[str, dict[str, object], dict[str, Any]]] = [
    ("international", {}, {}),
    ("turkish_short", {}, {}),
    ("turkish_short", {"d.partnership": True}, {}),
    ("international", {"a.pack": 32}, {"episode": "deal", "match": 8}),
    ("turkish_short", {"d.partnership": True}, {"episode": "deal", "match": 17}),
    ("international", {}, {"episode": "deal", "match": 7, "start": "play"}),
    ("tiny_counter", {}, {}),
]


def written(tmp_path: Path, records: list[dict[str, Any]], **how: Any) -> Dataset:
    source = tmp_path / "r.jsonl"
    write_records(source, records)
    counts = make_dataset(source, tmp_path / "d.npz", **how)
    result = load(tmp_path / "d.npz")
    assert counts == (len(records), len(result))
    return result


def shown_and_paid(record: dict[str, Any], how: dict[str, Any]) -> list[dict[str, Any]]:
    """What the AEC environment shows before each action of a record, and what it pays after it."""
    variant = find_variant(record["variant"], record["options"])
    episode = {key: how[key] for key in ("episode", "start") if key in how}
    environment = raw_env(variant, **episode)
    environment.reset(seed=record["seed"], options={"match": how.get("match", 0)})
    rows = []
    for number, deal in enumerate(record["deals"]):
        for seat, name in deal["actions"]:
            game = environment.game
            seen = environment.observe(AGENTS[seat])
            rows.append(
                {
                    "observation": seen["observation"],
                    "mask": seen["action_mask"],
                    "action": game.names.parse(name),
                    "seat": seat,
                    "phase": PHASES.index(game.phase),
                    "deal": game.position,
                    "number": number,
                }
            )
            environment.step(rows[-1]["action"])
            rows[-1]["paid"] = list(environment.rewards.values())
    return rows


@pytest.mark.parametrize(("variant", "options", "how"), GAMES, ids=str)
def test_rows_are_what_the_environment_shows_and_pays(
    variant: str, options: dict[str, object], how: dict[str, Any], tmp_path: Path
) -> None:
    game = play(new_game(variant, options, seed=5, **how), random.Random(1))
    record = game.to_record()
    expected = shown_and_paid({**record, "variant": variant}, how)
    found = written(tmp_path, [record])
    assert len(found) == len(expected) and not found.skip_forced
    dense = found.dense()
    for name in ("action", "seat", "phase", "deal"):
        assert getattr(found, name).tolist() == [row[name] for row in expected]
    assert np.array_equal(dense.observation, np.array([row["observation"] for row in expected]))
    assert np.array_equal(dense.action_mask, np.array([row["mask"] for row in expected]))
    assert dense.observation.dtype == np.float32 and dense.action_mask.dtype == np.int8
    for row, at in enumerate(expected):
        after = expected[row:]
        seat = at["seat"]
        deal = sum(later["paid"][seat] for later in after if later["number"] == at["number"])
        assert found.deal_return[row] == deal
        assert found.match_return[row] == sum(later["paid"][seat] for later in after)
    assert any(found.deal_return) and not found.match.any() and not found.variant.any()


def test_types_and_shapes(tmp_path: Path) -> None:
    found = written(tmp_path, [play(new_game("international"), random.Random(1), 100).to_record()])
    assert len(found) == 100
    for name, column in COLUMNS.items():
        array = getattr(found, name)
        assert array.dtype == column.dtype and array.shape == column.shape(100) and column.meaning
    some = found.dense([3, 5])
    assert np.array_equal(some.observation, found.dense().observation[[3, 5]])
    assert np.array_equal(found.dense(slice(2)).action_mask, found.dense().action_mask[:2])


def test_an_unfinished_record_counts_up_to_where_it_stops(tmp_path: Path) -> None:
    game = play(new_game("international", seed=1), random.Random(1), 70)
    found = written(tmp_path, [game.to_record()])
    first, second = game.deals[0].scores, game.points
    assert first is not None and len(found) == 70 and any(second)
    assert found.deal_return[0] == first[found.seat[0]]
    assert found.deal_return[52] == second[found.seat[52]]
    assert found.match_return[0] == first[found.seat[0]] + second[found.seat[0]]


def test_records_of_different_variants(tmp_path: Path) -> None:
    settings: list[tuple[str, dict[str, object]]] = [
        ("international", {}), ("turkish_short", {}), ("international", {"a.pack": 32}),
        ("tiny_three", {}), ("turkish_short", {}),
    ]  # fmt: skip
    games = [
        play(new_game(name, options, seed=n), random.Random(n))
        for n, (name, options) in enumerate(settings)
    ]
    told: list[tuple[int, int]] = []
    records = [game.to_record() for game in games]
    found = written(tmp_path, records, progress=lambda *done: told.append(done))
    assert told == [(n, 5) for n in range(1, 6)]
    lengths = [sum(len(log.actions) for log in game.deals) for game in games]
    assert found.match.tolist() == np.repeat(range(5), lengths).tolist()
    assert found.variant.tolist() == np.repeat([0, 1, 2, 3, 1], lengths).tolist()
    assert [entry["options"] for entry in found.variants] == [{}, {}, {"a.pack": 32}, {}]
    assert ["spec" in entry for entry in found.variants] == [False, False, False, True]
    assert found.variants[3]["spec"] == games[3].variant.data
    # A match that is one of several has the rows it has alone.
    alone = written(tmp_path, records[1:2])
    for name in ("bits", "numbers", "mask", "action", "deal_return", "match_return"):
        assert np.array_equal(getattr(found, name)[found.match == 1], getattr(alone, name))


def test_forced_decisions_can_be_left_out(tmp_path: Path) -> None:
    records = [play(new_game("turkish_short", seed=1), random.Random(1)).to_record()]
    every, free = written(tmp_path, records), written(tmp_path, records, skip_forced=True)
    choice = every.dense().action_mask.sum(axis=1) > 1
    assert 0 < len(free) < len(every) and free.skip_forced
    for name in COLUMNS:
        assert np.array_equal(getattr(free, name), getattr(every, name)[choice])


def test_the_same_records_are_the_same_file(tmp_path: Path) -> None:
    records = [play(new_game("international", seed=1), random.Random(1)).to_record()]
    written(tmp_path, records)
    first = (tmp_path / "d.npz").read_bytes()
    written(tmp_path, records)
    assert (tmp_path / "d.npz").read_bytes() == first
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["d.npz", "r.jsonl"]


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], ["no records"]),
        (["{}"], ["record 1", "schema"]),
        (["good", '{"schema": 1'], ["line 2", "JSON"]),
        (["good", "illegal"], ["record 2", "deal 1, action 1"]),
        (["good", "scores"], ["record 2", "totals"]),
    ],
)
def test_a_wrong_file_leaves_what_was_there(
    lines: list[str], words: list[str], tmp_path: Path
) -> None:
    record = play(new_game("international", seed=1), random.Random(1), 60).to_record()
    illegal = json.loads(json.dumps(record))
    illegal["deals"][0]["actions"][0][1] = "pass"
    texts = {
        "good": json.dumps(record),
        "illegal": json.dumps(illegal),
        "scores": json.dumps({**record, "totals": [1, 2, 3, 4]}),
    }
    source, out = tmp_path / "r.jsonl", tmp_path / "d.npz"
    source.write_text("".join(texts.get(line, line) + "\n" for line in lines))
    out.write_text("what was there before\n")
    with pytest.raises(RecordError) as caught:
        make_dataset(source, out)
    message = str(caught.value)
    assert str(source) in message and all(word in message for word in words), message
    assert out.read_text() == "what was there before\n"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["d.npz", "r.jsonl"]


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04"])
def test_what_is_no_dataset(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "d.npz"
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=r"d\.npz: not a dataset"):
        load(path)
    with path.open("wb") as file:
        np.savez(file, action=np.zeros(3))
    with pytest.raises(DatasetError, match=r"d\.npz: not a dataset"):
        load(path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing.npz")


def test_a_dataset_of_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, [play(new_game("international"), random.Random(1), 9).to_record()])
    with monkeypatch.context() as patch:
        patch.setattr(observe, "OBSERVATION_VERSION", 99)
        with pytest.raises(DatasetError, match=r"observation version: found .* allowed: 1 and 99"):
            load(tmp_path / "d.npz")
    wider = dataset.Column("int16", 7, "wider")
    monkeypatch.setitem(COLUMNS, "numbers", wider)
    with pytest.raises(DatasetError, match=r"column numbers: found int16 \(9, "):
        load(tmp_path / "d.npz")
