"""Games at the terminal: a person against agents, agents among themselves, and games as text."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from king_env.cards import NUM_CARDS
from king_env.engine.actions import ActionId
from king_env.game import Game
from king_env.policy import Policy, ask_one, decision_keys
from king_env.rules.catalogue import Variant
from train.evaluation.match import CHUNK, TableRunner

QUIT: Final = ("quit", "q", "exit")

_FIRST_ROW: Final = np.zeros(1, dtype=np.int64)


class _Quit(Exception):
    """The person leaves."""


# ---------------------------------------------------------------- agents among themselves


def record_games(
    variant: Variant,
    agents: Sequence[Policy],
    names: Sequence[str],
    count: int,
    whole_match: bool,
    seed: int,
    progress: Callable[[int, int], object] | None = None,
) -> Iterator[dict[str, Any]]:
    """Plays games between agents and yields their records.

    Args:
        variant: the rules.
        agents: one agent for all seats, or four.
        names: their names by seat, four.
        count: number of games: match or deal 0 .. count - 1 under the seed.
        whole_match: matches, else single deals.
        seed: seed of the deals and of what agents draw.
        progress: is told (games finished, games in all).
    """
    seats = np.arange(4) % len(agents)
    runner = TableRunner(variant, agents, agent_seed=seed, record=True)
    chunk = min(CHUNK, 64) if whole_match else 512
    for first in range(0, count, chunk):
        numbers = np.arange(first, min(first + chunk, count), dtype=np.int64)
        seating = np.tile(seats, (len(numbers), 1))
        results = runner.play(numbers, seating, seed=seed, whole_match=whole_match)
        for number, deals in zip(numbers, results.actions, strict=True):
            episode = "match" if whole_match else "deal"
            game = Game(variant, seed=seed, match=int(number), episode=episode)
            for moves in deals:
                for _, action in moves:
                    game.push(action)
            yield game.to_record(agents=list(names))
        if progress is not None:
            progress(int(numbers[-1]) + 1, count)


# ---------------------------------------------------------------- games as text


def game_text(game: Game, number: int, agents: Sequence[str] | None = None) -> str:
    """Returns a whole game as text: hands, decisions, tricks and scores of every deal."""
    options = "".join(f" {name}={value}" for name, value in game.variant.options.items())
    lines = [f"record {number}: {game.variant.name}{options}"]
    if agents:
        lines.append("  " + ", ".join(f"seat {seat}: {name}" for seat, name in enumerate(agents)))
    for index, deal in enumerate(game.deals, 1):
        lines.append(f"deal {index}: {deal.contract or 'no contract'}, dealer {deal.dealer}")
        for seat, hand in enumerate(deal.dealt):
            lines.append(f"  seat {seat}  {' '.join(hand)}")
        named = [(seat, action, game.names.format(action)) for seat, action in deal.actions]
        decisions = [f"{seat} {name}" for seat, action, name in named if action >= NUM_CARDS]
        cards = [f"{seat}:{name}" for seat, action, name in named if action < NUM_CARDS]
        if decisions:
            lines.append("  " + ", ".join(decisions))
        for trick in range(0, len(cards), 4):
            lines.append(f"  trick {trick // 4 + 1:2d}  {' '.join(cards[trick : trick + 4])}")
        scores = game.points if deal.scores is None else deal.scores
        lines.append(f"  {'unfinished' if deal.scores is None else 'scores'}  {_by_seat(scores)}")
    lines.append(f"totals  {_by_seat(game.scores)}")
    return "\n".join(lines) + "\n"


def _by_seat(points: Sequence[int]) -> str:
    return "  ".join(f"{value:+d}" for value in points)


# ---------------------------------------------------------------- a person against agents


def play_at_terminal(
    variant: Variant, agent: Policy, seat: int, seed: int, num_deals: int | None
) -> None:
    """Plays a match, or single deals, against three copies of an agent; reads standard input.

    Args:
        variant: the rules.
        agent: plays the other seats.
        seat: the person's seat.
        seed: seed of the deals and of what the agent draws.
        num_deals: number of single deals; None for a match.
    """
    what = "a match" if num_deals is None else f"{num_deals} deals"
    print(
        f"{variant.spec.title}: {what}, seed {seed}. You are seat {seat}, the others: {agent.name}."
    )
    print("Answer with the number or the name of an action; quit ends the game.")
    totals = [0, 0, 0, 0]
    try:
        for number in range(num_deals or 1):
            if num_deals is None:
                game = Game(variant, seed=seed)
            else:
                game = Game(variant, seed=seed, match=number, episode="deal")
            _play_game(game, agent, seat, seed)
            totals = [a + b for a, b in zip(totals, game.scores, strict=True)]
    except _Quit:
        print("You have left the game.")
        return
    print(f"The end. Totals by seat: {_by_seat(totals)}. {_place(variant, totals, seat)}")


def _place(variant: Variant, totals: Sequence[int], seat: int) -> str:
    """Returns in words the place of a seat, or of its team in a partnership; equals share it."""
    if variant.spec.partnership:
        teams = [totals[0] + totals[2], totals[1] + totals[3]]
        place = 1 + (teams[1 - seat % 2] > teams[seat % 2])
        return f"Totals by team: {_by_seat(teams)}. Your team's place: {place} of 2."
    return f"Your place: {1 + sum(total > totals[seat] for total in totals)} of 4."


def _play_game(game: Game, agent: Policy, seat: int, seed: int) -> None:
    """Plays one game to its end."""
    keys = np.zeros(1, dtype=np.uint64)
    agent_seed: Any = np.uint64(seed)
    shown: tuple[int, int] | None = None
    while game.actor is not None:
        log = game.deals[-1]
        if not log.actions and shown != (len(game.deals), -1):
            shown = (len(game.deals), -1)
            print(f"\n--- deal {game.position + 1}, dealer: seat {log.dealer} ---")
        actor = game.actor
        legal = game.legal_actions
        if len(legal) == 1:
            action = legal[0]
        elif actor == seat:
            action = _ask_person(game, seat)
        else:
            decision_keys(game.games, _FIRST_ROW, agent_seed, keys)
            action = ask_one(agent, game.view(actor), keys[0])
            game.check(action)
        who = "you" if actor == seat else f"seat {actor}"
        forced = " (the only action)" if len(legal) == 1 and actor == seat else ""
        print(f"{who}: {game.names.format(action)}{forced}")
        tricks = int(game.record.deal.trick_number)
        game.push(action)
        if log.scores is not None:
            print(f"deal: {_by_seat(log.scores)}   totals: {_by_seat(game.scores)}")
        elif int(game.record.deal.trick_number) > tricks:
            taker = int(game.record.deal.leader)
            print(f"{'you take' if taker == seat else f'seat {taker} takes'} the trick")


def _ask_person(game: Game, seat: int) -> ActionId:
    """Shows the table and asks until a legal action is answered."""
    legal = game.legal_actions
    names = [game.names.format(action) for action in legal]
    print(f"\n{game.view(seat)}")
    print("  ".join(f"{number} {name}" for number, name in enumerate(names, 1)))
    while True:
        print("your action> ", end="", flush=True)
        line = sys.stdin.readline()
        if not line or line.strip().lower() in QUIT:
            print()
            raise _Quit
        answer = line.strip()
        if not answer:
            continue
        if answer.isdecimal():
            if 1 <= int(answer) <= len(legal):
                return legal[int(answer) - 1]
            print(f"{answer}: the numbers go from 1 to {len(legal)}")
            continue
        for text in (answer, answer.upper()):
            if text in names:
                return legal[names.index(text)]
        try:
            game.check(answer.upper() if len(answer) == 2 else answer)
        except ValueError as error:
            print(error)
