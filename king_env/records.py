"""Records of matches: one JSON object a line, written atomically, replayed through ``Game``.

Source: the record format, schema 1, of the suite's specification. The record of a single deal also
has ``episode``: ``position``, its place in the schedule; ``used``, the choices used up before, by
seat and contract; and, where it began at PLAY instead of its decisions, ``start`` with the
``contract`` (an id) and the ``trump`` (``S H D C NT``, or null).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from king_env.engine.actions import ActionId
from king_env.files import replacing
from king_env.game import Game, IllegalActionError
from king_env.rules.catalogue import Variant, VariantError, load_variant, variant_names
from king_env.schema import suggest

SCHEMA: Final = 1


class RecordError(ValueError):
    """A record that is malformed or breaks a rule; the message names the deal and the action."""


def make_record(game: Game, agents: Sequence[str] = ()) -> dict[str, Any]:
    """Returns a game as a record."""
    record: dict[str, Any] = {"schema": SCHEMA, "variant": game.variant.name}
    if game.variant.shipped:
        record["options"] = game.variant.options
    else:
        record["options"] = {}
        record["spec"] = game.variant.data
    if game.seed is not None:
        record["seed"] = game.seed
    if agents:
        record["agents"] = list(agents)
    if game.episode == "deal":
        first = int(game.games.end[0]) - 1
        record["episode"] = {"position": first, "used": game._used_before.tolist()}
        if game.skipped is not None:
            contract, trump = game.skipped
            record["episode"]["start"] = {"contract": contract, "trump": trump}
    record["deals"] = [
        {
            "dealer": log.dealer,
            "dealt": log.dealt,
            "contract": log.contract,
            "actions": [[seat, game.names.format(action)] for seat, action in log.actions],
            "scores": log.scores if log.scores is not None else game.points,
        }
        for log in game.deals
    ]
    record["totals"] = game.scores
    return record


def write_records(path: str | Path, records: Iterable[Mapping[str, Any]]) -> int:
    """Writes records to a file, whole or not at all; returns their number."""
    count = 0
    with replacing(path) as file:
        for record in records:
            file.write((json.dumps(record, separators=(",", ":")) + "\n").encode())
            count += 1
    return count


def read_records(path: str | Path) -> Iterator[dict[str, Any]]:
    """Yields the records of a file.

    Raises:
        RecordError: if a line is not a JSON object.
        OSError: if the file cannot be read.
    """
    with open(path, encoding="utf-8") as file:
        try:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    record = json.loads(line)
                except json.JSONDecodeError as error:
                    raise RecordError(f"{path}, line {number}: not JSON: {error.msg}") from None
                if not isinstance(record, dict):
                    raise RecordError(f"{path}, line {number}: expected a JSON object")
                yield record
        except UnicodeDecodeError:
            raise RecordError(f"{path}: not a text file") from None


def replay(
    record: Mapping[str, Any],
    *,
    check: bool = True,
    watch: Callable[[Game, ActionId], object] | None = None,
) -> Game:
    """Plays a record through a game.

    Args:
        record: the record; unknown keys are ignored.
        check: compare the scores too.
        watch: is called before each action with the game and the action, which the game checks
            only afterwards.

    Returns:
        The game after the record's last action.

    Raises:
        RecordError: if the record is malformed, breaks a rule or has other scores.
    """
    if record.get("schema") != SCHEMA:
        raise RecordError(f"schema: found {record.get('schema')!r}; allowed: {SCHEMA}")
    game = open_game(record)
    deals = record["deals"]
    for number, deal in enumerate(deals):
        last = number == len(deals) - 1
        _replay_deal(game, deal, number, last=last, check=check, watch=watch)
    totals = record.get("totals")
    if check and totals is not None and totals != game.scores:
        raise RecordError(f"totals: found {totals}; the rules give {game.scores}")
    return game


def record_variant(record: Mapping[str, Any]) -> Variant:
    """Returns the variant of a record.

    Raises:
        RecordError: if there is no such variant, or it or an option is malformed.
    """
    spec = record.get("spec")
    name = record.get("variant")
    if spec is not None and not isinstance(spec, dict):
        raise RecordError(f"spec: expected a table, found {spec!r:.80}")
    if spec is None and name not in variant_names():
        # Never a path: a record does not make its reader open files.
        raise RecordError(f"variant {name!r}: unknown; {suggest(str(name), variant_names())}")
    try:
        return load_variant(spec or str(name), record.get("options"))
    except VariantError as error:
        raise RecordError(str(error)) from None
    except (AttributeError, TypeError):
        raise RecordError(f"options: expected a table, found {record.get('options')!r}") from None


def open_game(record: Mapping[str, Any]) -> Game:
    """Returns a fresh game of the record's variant, in which its deals can be set.

    Raises:
        RecordError: if what the record says of the match or the episode is malformed.
    """
    variant = record_variant(record)
    deals = record.get("deals")
    if not isinstance(deals, list) or not deals:
        raise RecordError("deals: expected a list of at least one deal")
    episode = record.get("episode")
    if not isinstance(episode, dict):
        return Game(variant)
    try:
        game = Game(variant, episode="deal", position=episode.get("position", -1))
    except ValueError as error:
        raise RecordError(f"episode.{error}") from None
    _set_dealer(game, deals[0])  # who declares, and what he may, follows from the dealer
    try:
        game.set_used(episode.get("used", ()))
        start = episode.get("start")
        if start is not None:
            if not isinstance(start, dict):
                raise ValueError(f"start: expected a table, found {start!r:.80}")
            game.set_contract(start.get("contract", ""), start.get("trump"))
    except ValueError as error:
        raise RecordError(f"episode.{error}") from None
    return game


def _set_dealer(game: Game, deal: object) -> None:
    """Sets the dealer of a game's first deal."""
    if not isinstance(deal, dict):
        raise RecordError("deal 1: expected an object")
    try:
        game.set_dealer(deal.get("dealer", ""))
    except ValueError as error:
        raise RecordError(f"deal 1: {error}") from None


def _replay_deal(
    game: Game,
    deal: object,
    number: int,
    *,
    last: bool,
    check: bool,
    watch: Callable[[Game, ActionId], object] | None,
) -> None:
    """Plays one deal of a record."""
    where = f"deal {number + 1}"
    if game.is_over:
        raise RecordError(f"{where}: the match has only {number} deals")
    if not isinstance(deal, dict):
        raise RecordError(f"{where}: expected an object")
    try:
        game.set_hands(deal.get("dealt"), deal.get("dealer") if number == 0 else None)  # type: ignore[arg-type]
    except (ValueError, TypeError) as error:
        raise RecordError(f"{where}: {error}") from None
    log = game.deals[-1]
    if deal.get("dealer") != log.dealer:
        raise RecordError(f"{where}: dealer: found {deal.get('dealer')!r}; allowed: {log.dealer}")
    moves = deal.get("actions")
    if not isinstance(moves, list):
        raise RecordError(f"{where}: actions: expected a list")
    for index, move in enumerate(moves):
        place = f"{where}, action {index + 1}"
        if not isinstance(move, list) or len(move) != 2 or not isinstance(move[1], str):
            raise RecordError(f"{place}: expected [seat, name], found {move!r}")
        if log.scores is not None:
            raise RecordError(f"{place}: the deal has ended before")
        if move[0] != game.actor:
            raise RecordError(f"{place}: seat {game.actor} is to act, found {move[0]!r}")
        try:
            action = game.names.parse(move[1])
            if watch is not None:
                watch(game, action)
            game.push(action)
        except (IllegalActionError, ValueError) as error:
            raise RecordError(f"{place}: {error}") from None
    if log.scores is None and not last:
        raise RecordError(f"{where}: the deal is not finished; only the last may be")
    scores = log.scores if log.scores is not None else game.points
    if check and deal.get("scores") is not None and deal["scores"] != scores:
        raise RecordError(f"{where}: scores: found {deal['scores']}; the rules give {scores}")
