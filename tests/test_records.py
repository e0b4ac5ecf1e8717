"""Records: written whole or not at all, replayed to the same scores, broken ones refused."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from king_env.game import Game
from king_env.records import RecordError, make_record, read_records, replay, write_records
from tests.playing import TINY, new_game, play

Record = dict[str, Any]

SETTINGS: list[tuple[str, dict[str, object]]] = [
    ("international", {}),
    ("international", {"a.pack": 32, "a.table32": "balanced160", "a.auction.max_plus": 5}),
    ("international", {"a.ultimatum.timing": "both", "early_end": "auto", "first_dealer": 2}),
    ("turkish_short", {}),
    ("turkish_short", {"d.match": "full"}),
    ("turkish_short", {"d.partnership": True, "d.global_cap": 2}),
    *((name, {}) for name in TINY),
]


def without_origin(record: Record) -> Record:
    """What a replay can know: not the seed, nor who played."""
    return {key: value for key, value in record.items() if key not in ("seed", "agents")}


def through_json(record: Record) -> Record:
    result: Record = json.loads(json.dumps(record))
    return result


@pytest.mark.parametrize(("variant", "options"), SETTINGS)
def test_record_replay_record(variant: str, options: dict[str, object]) -> None:
    for number in range(3):
        game = play(new_game(variant, options, seed=5, match=number), random.Random(number))
        record = through_json(make_record(game, ["random"] * 4))
        assert record["schema"] == 1 and record["seed"] == 5
        assert record["agents"] == ["random"] * 4
        assert record["options"] == options
        assert ("spec" in record) == (variant in TINY)
        assert record["totals"] == game.scores
        assert len(record["deals"]) == len(game.variant.spec.deals)
        for deal in record["deals"]:
            assert set(deal) == {"dealer", "dealt", "contract", "actions", "scores"}
            assert len({card for hand in deal["dealt"] for card in hand}) == game.variant.spec.pack
        again = replay(record)
        assert again.scores == game.scores
        assert through_json(again.to_record()) == without_origin(record)
        assert again.is_over


@pytest.mark.parametrize("moves", [0, 1, 7, 52, 60, 111])
@pytest.mark.parametrize("variant", ["international", "turkish_short", "tiny_three"])
def test_an_unfinished_match(variant: str, moves: int) -> None:
    game = play(new_game(variant, seed=2), random.Random(1), moves)
    record = through_json(game.to_record())
    again = replay(record)
    assert through_json(again.to_record()) == without_origin(record)
    assert again.legal_actions == game.legal_actions and again.scores == game.scores


@pytest.mark.parametrize("variant", ["international", "turkish_short"])
@pytest.mark.parametrize("number", [0, 7, 19, 33])
def test_a_single_deal(variant: str, number: int) -> None:
    """Choices used up before are part of the record: later ones must be legal again."""
    game = play(new_game(variant, seed=2, match=number, episode="deal"), random.Random(number))
    record = through_json(game.to_record())
    again = replay(record)
    assert through_json(again.to_record()) == without_origin(record)
    assert len(again.deals) == 1 and again.is_over


def test_unknown_keys_are_ignored() -> None:
    record = example()
    record["comment"] = "a fine match"
    record["deals"][0]["weather"] = "rain"
    assert replay(record).is_over


def test_files(tmp_path: Path) -> None:
    records = [
        play(new_game("turkish_short", seed=n), random.Random(n)).to_record() for n in (1, 2)
    ]
    path = tmp_path / "matches.jsonl"
    assert write_records(path, records) == 2
    assert len(path.read_text().splitlines()) == 2
    assert list(read_records(path)) == through_json({"all": records})["all"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["matches.jsonl"]
    with path.open("a") as file:
        file.write("\n  \n")
    assert len(list(read_records(path))) == 2  # blank lines are nothing


def test_a_failing_writer_leaves_no_file(tmp_path: Path) -> None:
    def failing() -> Iterator[Record]:
        yield example()
        raise RuntimeError("the run was stopped")

    path = tmp_path / "matches.jsonl"
    with pytest.raises(RuntimeError):
        write_records(path, failing())
    assert list(tmp_path.iterdir()) == []
    path.write_text("what was there before\n")
    with pytest.raises(RuntimeError):
        write_records(path, failing())
    with pytest.raises(TypeError):
        write_records(path, [{"schema": object()}])
    assert path.read_text() == "what was there before\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["matches.jsonl"]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (b'{"schema": 1\n', "line 1: not JSON"),
        (b'{"schema": 1}\n[1, 2]\n', "line 2: expected a JSON object"),
        (b"\xff\xfe\x00\n", "not a text file"),
    ],
)
def test_broken_files(tmp_path: Path, text: bytes, part: str) -> None:
    path = tmp_path / "matches.jsonl"
    path.write_bytes(text)
    with pytest.raises(RecordError, match=part):
        list(read_records(path))


# ---------------------------------------------------------------- broken records

_EXAMPLES: dict[str, Record] = {}


def example(variant: str = "international") -> Record:
    """A whole match."""
    if variant not in _EXAMPLES:
        game = play(new_game(variant, seed=3), random.Random(3))
        _EXAMPLES[variant] = through_json(game.to_record(["random"] * 4))
    return copy.deepcopy(_EXAMPLES[variant])


def put(*path: str | int, value: object) -> Callable[[Record], None]:
    """A change that sets one place."""

    def change(record: Record) -> None:
        node: Any = record
        for part in path[:-1]:
            node = node[part]
        node[path[-1]] = value

    return change


def drop(*path: str | int) -> Callable[[Record], None]:
    def change(record: Record) -> None:
        node: Any = record
        for part in path[:-1]:
            node = node[part]
        del node[path[-1]]

    return change


def swap_actions(record: Record) -> None:
    actions = record["deals"][0]["actions"]
    actions[0], actions[1] = actions[1], actions[0]


def revoke(record: Record) -> None:
    """The second player follows with a card of another suit, though he could follow."""
    actions, dealt = record["deals"][0]["actions"], record["deals"][0]["dealt"]
    led = actions[0][1][1]
    seat = actions[1][0]
    actions[1][1] = next(card for card in dealt[seat] if card[1] != led)


def twice(record: Record) -> None:
    record["deals"][0]["dealt"][0][0] = record["deals"][0]["dealt"][1][0]


def one_more(record: Record) -> None:
    record["deals"][0]["actions"].append([0, "AS"])


def one_more_deal(record: Record) -> None:
    record["deals"].append(record["deals"][-1])


BROKEN: list[tuple[str, Callable[[Record], None], list[str]]] = [
    ("schema", put("schema", value=2), ["schema", "2", "allowed: 1"]),
    ("no schema", drop("schema"), ["schema", "None"]),
    ("variant", put("variant", value="chess"), ["variant 'chess'", "allowed"]),
    ("no variant", drop("variant"), ["variant"]),
    ("options", put("options", value=[1]), ["options", "[1]"]),
    ("option name", put("options", value={"a.what": 1}), ["'a.what'"]),
    ("option value", put("options", value={"a.pack": 40}), ["a.pack", "40", "52, 32"]),
    ("option list", put("options", value={"a.pack": [32]}), ["a.pack", "[32]"]),
    ("spec", put("spec", value={"id": "x"}), ["missing"]),
    ("spec list", put("spec", value=[1]), ["spec"]),
    ("deals", put("deals", value={}), ["deals"]),
    ("no deals", put("deals", value=[]), ["deals"]),
    ("deal", put("deals", 1, value=7), ["deal 2"]),
    ("dealer", put("deals", 1, "dealer", value=9), ["deal 2", "dealer", "9"]),
    ("first dealer", put("deals", 0, "dealer", value="0"), ["deal 1", "dealer", "'0'"]),
    ("no dealer", drop("deals", 0, "dealer"), ["deal 1", "dealer"]),
    ("no hands", drop("deals", 0, "dealt"), ["deal 1", "dealt"]),
    ("hands", put("deals", 0, "dealt", value=5), ["deal 1", "dealt"]),
    ("three hands", drop("deals", 2, "dealt", 0), ["deal 3", "four hands of 13"]),
    ("short hand", drop("deals", 0, "dealt", 0, 0), ["deal 1", "four hands of 13"]),
    ("card", put("deals", 0, "dealt", 0, 0, value="1S"), ["deal 1", "'1S'", "rank then suit"]),
    ("card list", put("deals", 0, "dealt", 0, 0, value=["AS"]), ["deal 1", "AS"]),
    ("card twice", twice, ["deal 1", "each once"]),
    ("actions", put("deals", 0, "actions", value="AS"), ["deal 1", "actions", "list"]),
    ("no actions", drop("deals", 0, "actions"), ["deal 1", "actions"]),
    ("action", put("deals", 0, "actions", 3, value=["AS"]), ["deal 1, action 4", "[seat, name]"]),
    ("action name", put("deals", 0, "actions", 3, 1, value="XX"), ["deal 1, action 4", "'XX'"]),
    ("action id", put("deals", 0, "actions", 3, 1, value=7), ["deal 1, action 4", "7"]),
    ("seat", put("deals", 1, "actions", 0, 0, value=7), ["deal 2, action 1", "found 7"]),
    ("order", swap_actions, ["deal 1, action 1", "is to act"]),
    ("revoke", revoke, ["deal 1, action 2", "must be followed"]),
    ("bid", put("deals", 6, "actions", 0, 1, value="match"), ["deal 7, action 1", "match", "BID"]),
    ("too long", one_more, ["deal 1, action 53", "ended before"]),
    ("too short", drop("deals", 0, "actions", 51), ["deal 1", "not finished"]),
    ("deal missing", drop("deals", 4), ["deal 5", "dealer"]),
    ("a deal more", one_more_deal, ["deal 11", "only 10 deals"]),
    ("scores", put("deals", 3, "scores", value=[0, 0, 0, 0]), ["deal 4", "scores", "rules give"]),
    ("scores text", put("deals", 3, "scores", value="none"), ["deal 4", "scores"]),
    ("totals", put("totals", value=[0, 0, 0, 1]), ["totals", "rules give"]),
    ("episode", put("episode", value={"position": 99}), ["episode.position", "99", "0 to 9"]),
    ("episode used", put("episode", value={"position": 0, "used": 3}), ["episode.used"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "parts"),
    [pytest.param(change, parts, id=name) for name, change, parts in BROKEN],
)
def test_a_broken_record_is_one_clear_line(
    change: Callable[[Record], None], parts: list[str]
) -> None:
    record = example()
    change(record)
    with pytest.raises(RecordError) as caught:
        replay(record)
    message = str(caught.value)
    assert "\n" not in message and len(message) < 600
    for part in parts:
        assert part in message


def test_wrong_scores_pass_when_they_are_not_checked() -> None:
    record = example()
    record["deals"][3]["scores"] = [0, 0, 0, 0]
    record["totals"] = [1, 2, 3, 4]
    again = replay(record, check=False)
    assert again.scores == example()["totals"]


@pytest.mark.parametrize("number", range(0, 20, 3))
@pytest.mark.parametrize(
    "variant",
    ["international", "turkish_short", "rifki", "russian_auction", "russian_ordered", "tiny_three"],
)
def test_a_deal_that_started_at_play(variant: str, number: int) -> None:
    for start in ("play", "decision"):
        game = new_game(variant, seed=1, match=number, episode="deal", start=start)
        if start == "decision" and game.phase == "BID":
            game.set_contract("positive", "NT")
        elif start == "decision" and game.variant.name == "russian_auction":
            if game.phase == "ORDER":
                game.set_contract(("ordered_last", "ordered_misere")[number % 2])
        elif start == "decision" and game.phase in ("CHOOSE", "ORDER"):
            _, name, *trump = game.legal_names()[-1].split(":")
            game.set_contract(name, *trump)
        assert game.phase == "PLAY"
        skipped = game.variant.spec.deals[game.position].decision != "none"
        play(game, random.Random(number), random.Random(number).choice([0, 5, None]))
        record = through_json(game.to_record())
        assert ("start" in record["episode"]) == skipped
        if skipped:
            started = game.variant.spec.contract_index(record["episode"]["start"]["contract"])
            name = game.variant.spec.contract[started].record_name
            assert name == record["deals"][0]["contract"]
        again = replay(record)
        assert through_json(again.to_record()) == without_origin(record)
        assert again.legal_actions == game.legal_actions and again.scores == game.scores
        assert again.games.used.tolist() == game.games.used.tolist()


@pytest.mark.parametrize(
    ("start", "parts"),
    [
        (5, ["episode.start", "5"]),
        ({}, ["episode.contract", "positive, nulls"]),
        ({"contract": "no_king"}, ["episode.contract", "'no_king'", "positive, nulls"]),
        ({"contract": "positive"}, ["episode.trump", "None", "S, H, D, C, NT"]),
        ({"contract": "nulls", "trump": "S"}, ["episode.trump", "'S'", "nulls"]),
    ],
)
def test_a_broken_start_is_refused(start: object, parts: list[str]) -> None:
    game = new_game("international", seed=1, match=7, episode="deal", start="play")
    record = through_json(game.to_record())
    record["episode"]["start"] = start
    with pytest.raises(RecordError) as caught:
        replay(record)
    for part in parts:
        assert part in str(caught.value)


def test_any_dealer_of_a_single_deal_can_be_replayed() -> None:
    """The last choice of the match is open to one seat only, which follows from the dealer."""
    for seed in range(8):
        game = play(new_game("turkish_short", seed=seed, match=19, episode="deal"), random.Random())
        assert replay(through_json(game.to_record())).scores == game.scores


def test_a_watcher_sees_every_action_before_it_is_made() -> None:
    record = example("turkish_short")
    seen: list[list[Any]] = []

    def watch(game: Game, action: int) -> None:
        assert action in game.legal_actions
        seen.append([game.actor, game.names.format(action)])

    replay(record, watch=watch)
    assert seen == [move for deal in record["deals"] for move in deal["actions"]]


def test_a_choice_used_up_before_a_single_deal_is_refused() -> None:
    game = play(new_game("turkish_short", seed=2, match=16, episode="deal"), random.Random(1))
    record = through_json(game.to_record())
    seat, name = record["deals"][0]["actions"][0]
    spec = game.variant.spec
    contract = spec.contract_index(name.split(":")[1])
    used = record["episode"]["used"]
    made = spec.contract[contract].group
    # He made this choice before, in place of another of the group.
    for other, entry in enumerate(spec.contract):
        if entry.group == made and used[seat][other]:
            used[seat][other] -= 1
            used[seat][contract] += 1
            break
    if spec.contract[contract].per_player:
        with pytest.raises(RecordError, match="deal 1, action 1"):
            replay(record)
    used[seat][contract] = 9
    with pytest.raises(RecordError, match=r"episode\.used"):
        replay(record)
