"""Variants of users: the worked examples, the one in the documentation, and every way in."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import numpy as np
import pytest

from king_env import BatchEnv, Game, king_v0, load_variant
from king_env.records import read_records, replay
from king_env.rules.sheet import rule_sheet
from king_env.view import legal_ids
from tests.playing import play
from train import cli

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "configs" / "variants").glob("*.toml"))
OWN = ROOT / "configs" / "variants" / "hearts_and_queens.toml"


def test_there_are_examples() -> None:
    assert [path.stem for path in EXAMPLES] == ["hearts_and_queens", "mild"]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_play_and_replay(path: Path) -> None:
    for match in range(3):
        game = play(Game(path, seed=4, match=match), random.Random(match))
        record = json.loads(json.dumps(game.to_record()))
        assert record["spec"]["id"] == path.stem and record["options"] == {}
        assert replay(record).scores == game.scores


def test_a_child_differs_where_it_says() -> None:
    mild, parent = load_variant(EXAMPLES[1]), load_variant("international")
    game = Game(mild, seed=1, match=6, episode="deal")
    assert "bid:+5" in game.legal_names() and "bid:+6" not in game.legal_names()
    values = {c.id: c.king_of_hearts for c in mild.spec.contract}
    assert values["no_king"] == -120 and parent.spec.contract[4].king_of_hearts == -160
    assert "a.auction.max_plus = 5" in rule_sheet(mild)
    assert "contract.no_king.king_of_hearts = -120" in mild.changes


def test_new_contracts_and_schedule() -> None:
    game = play(Game(OWN, seed=2), random.Random(0))
    contracts = [log.contract for log in game.deals]
    assert contracts[:2] == ["black_lady", "black_lady"] and len(contracts) == 10
    sums = {"black_lady": -250, "low": -195, "finale": -240, "trump": 390, "by_the_last": 455}
    assert [sum(log.scores or []) for log in game.deals] == [sums[str(c)] for c in contracts]
    assert {"low", "finale"} & set(contracts) and {"trump", "by_the_last"} & set(contracts)


def test_trump_by_the_last_card_of_the_chooser() -> None:
    game = Game(OWN, seed=2, match=3, episode="deal")
    chooser = game.actor
    assert chooser is not None
    game.push("contract:by_the_last")
    last = game.deals[0].dealt[chooser][-1]
    assert game.view((chooser + 1) % 4).trump == last[1]
    assert f"shown: {last} of seat {chooser}" in str(game)


def test_the_file_goes_wherever_a_name_does(tmp_path: Path) -> None:
    out = tmp_path / "games.jsonl"
    command = f"record --variant {OWN} --agents greedy --matches 2 --seed 1 --out {out}"
    assert cli.main(command.split()) == 0
    assert cli.main(["replay", str(out), "--check"]) == 0
    assert all(record["spec"]["id"] == "hearts_and_queens" for record in read_records(out))
    command = f"evaluate rule --against random --variant {OWN} --deals 20"
    assert cli.main(command.split()) == 0
    env = king_v0.env(variant=OWN)
    env.reset(seed=1)
    assert env.last()[0]["action_mask"].any()


def test_a_batch_may_mix_variants() -> None:
    env = BatchEnv(["rifki", str(OWN), "russian_auction"], 9, seed=3)
    step = env.reset()
    rng = np.random.default_rng(0)
    while step.rows.size:
        step = env.step(np.array([rng.choice(legal_ids(mask)) for mask in step.mask]))
    games = [play_like(env, i) for i in range(9)]
    assert [game.variant.spec.id for game in games[:3]] == [
        "rifki", "hearts_and_queens", "russian_auction",
    ]  # fmt: skip
    for i, game in enumerate(games):
        assert game.position == int(env.games.position[i])


def play_like(env: BatchEnv, i: int) -> Game:
    """The single game of slot i."""
    return Game(env.variants[i % 3], seed=3, match=i, episode="deal")


def test_the_example_of_the_documentation(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "variants.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert blocks
    for number, block in enumerate(blocks):
        path = tmp_path / f"{number}.toml"
        path.write_text(block, encoding="utf-8")
        assert load_variant(path).changes


def test_an_edit_is_seen_at_once(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    text = OWN.read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    assert load_variant(path).spec.title == "Hearts and queens"
    path.write_text(text.replace('title = "Hearts and queens"', 'title = "New"', 1), "utf-8")
    assert load_variant(path).spec.title == "New"
