"""One learner a game: kernels of the Gymnasium environments.

The seats that are not the learner's are played between these kernels, by ``Opponents.advance``,
which also plays the learner's moves without alternative where those are skipped.

Axes: N games, M games in a list of rows, W words, B bits, K numbers, A actions, F features.
"""

from __future__ import annotations

from typing import Any, Final

from king_env.engine.actions import NUM_MASK_WORDS
from king_env.engine.batch import pay
from king_env.engine.jit import kernel, unfold
from king_env.engine.layout import NUM_SEATS, PHASE_OVER, ZERO, i64
from king_env.engine.observe import NUM_NUMBERS, NUM_WORDS, float_row, observe_row
from king_env.engine.step import apply, is_legal

FORM_FLOAT: Final = 0
FORM_DENSE: Final = 1
FORM_PACKED: Final = 2

ILLEGAL_REWARD: Final = -1.0
"""Reward of an illegal action that ends its episode: PettingZoo's wrapper pays the same."""


@kernel
def take_seats(
    games: Any,
    tables: Any,
    rows: Any,
    numbers: Any,
    whole_match: int,
    fixed: int,
    opponents: Any,
    seats: Any,
) -> None:
    """Says who plays which seat in the episode that each game of ``rows`` is about to begin.

    Args:
        games: `[N]` games; ``control`` is written.
        tables: rule tables.
        rows: `[M]` int64, games.
        numbers: `[N]` int64, number of each game's episode.
        whole_match: 1: an episode is a match. Match m has the learner in seat m mod 4. Deal i of a
            schedule of K deals has it in seat (i mod K + i div K) mod 4, so that 4 K deals in a row
            bring every place of the schedule to every seat once; i mod 4 would tie some together.
        fixed: the learner's seat in every episode, or -1.
        opponents: `[3]` uint8, ``control`` of the seats after the learner's.
        seats: `[N]` int64, out: the learner's seat.
    """
    for row in range(rows.shape[0]):
        i = rows[row]
        g = games[i]
        number = i64(numbers[i])
        seat = i64(fixed)
        if seat < 0:
            if whole_match == 0:
                num_deals = i64(tables[g.variant].num_deals)
                number = number % num_deals + number // num_deals
            seat = number & 3
        seats[i] = seat
        g.control[seat] = 0
        for place in range(NUM_SEATS - 1):
            g.control[(seat + 1 + place) & 3] = opponents[place]


@kernel
def act(games: Any, tables: Any, actions: Any, waiting: Any, strict: int, fouls: Any) -> int:
    """Applies the learner's action in every game that does not wait.

    Args:
        games: `[N]` games, in which the learner is to act.
        tables: rule tables.
        actions: `[N]` int64; where a game waits, ignored.
        waiting: `[N]` uint8, 1: the game takes no action in this step.
        strict: 1: an illegal action is refused before anything changes.
        fouls: `[N]` uint8, out: 1: the action was illegal and not applied (strict=0).

    Returns:
        The first game whose action is illegal, where that is refused, or -1.
    """
    for i in range(games.shape[0]):
        fouls[i] = 0
        if waiting[i] == 0:
            if not is_legal(games[i].deal, i64(actions[i])):
                if strict:
                    return i
                fouls[i] = 1
    for i in range(games.shape[0]):
        if waiting[i] == 0 and fouls[i] == 0:
            g = games[i]
            apply(g, tables[g.variant], i64(actions[i]))
    return -1


@kernel
def settle(
    games: Any,
    tables: Any,
    waiting: Any,
    fouls: Any,
    seats: Any,
    by_deal: int,
    rewards: Any,
    reward: Any,
    ended: Any,
) -> int:
    """Pays the learners and says whose episode has ended, once it is their turn again.

    Args:
        games: `[N]` games.
        tables: rule tables.
        waiting: `[N]` uint8, 1: the game took no action; reward 0, not ended.
        fouls: `[N]` uint8, 1: an illegal action, which ends the episode.
        seats: `[N]` int64, the learner's seat.
        by_deal: 1: points are paid when their deal is finished.
        rewards: `[N, 4]` int32, scratch.
        reward: `[N]` float64, out: the learner's points since it last acted.
        ended: `[N]` bool, out.

    Returns:
        The number of episodes that have ended.
    """
    count = 0
    for i in range(games.shape[0]):
        reward[i] = 0.0
        ended[i] = False
        if waiting[i]:
            continue
        g = games[i]
        over = g.deal.phase == PHASE_OVER or fouls[i] != 0
        if fouls[i]:
            reward[i] = ILLEGAL_REWARD
        else:
            pay(g, tables[g.variant], i, by_deal, rewards)
            reward[i] = rewards[i, seats[i]]
        ended[i] = over
        if over:
            count += 1
    return count


@kernel
def observe_seats(
    games: Any,
    tables: Any,
    rows: Any,
    seats: Any,
    closed: Any,
    form: int,
    words: Any,
    values: Any,
    floats: Any,
    bits: Any,
    numbers: Any,
    masks: Any,
) -> None:
    """Writes what the learner of each game may know, and what it may do.

    A row is turned into its last form while it is still in the nearest cache.

    Args:
        games: `[N]` games.
        tables: rule tables.
        rows: `[M]` int64, games to observe; row r of the outputs is game ``rows[r]``.
        seats: `[N]` int64, the learner's seats.
        closed: `[N]` uint8, 1: the episode has ended; nothing is legal.
        form: FORM_FLOAT, FORM_DENSE or FORM_PACKED.
        words: `[1, W]` uint64, scratch.
        values: `[1, K]` int16, scratch.
        floats: `[M, F]` float32, out with FORM_FLOAT.
        bits: `[M, 8 W]` uint64, the bytes of which are the bits, with FORM_DENSE, or `[M, W]` with
            FORM_PACKED, out.
        numbers: `[M, K]` int16, out with both.
        masks: `[M, 24]` uint64, the bytes of which say what is legal, out.
    """
    for row in range(rows.shape[0]):
        i = rows[row]
        g = games[i]
        for word in range(NUM_MASK_WORDS):
            unfold(ZERO if closed[i] else g.deal.legal[word], masks, i64(row), i64(word))
        observe_row(g, tables[g.variant], i64(seats[i]), words, values, i64(0))
        if form == FORM_FLOAT:
            float_row(words, values, i64(0), floats[row])
            continue
        for index in range(NUM_NUMBERS):
            numbers[row, index] = values[0, index]
        for word in range(NUM_WORDS):
            if form == FORM_DENSE:
                unfold(words[0, word], bits, i64(row), i64(word))
            else:
                bits[row, word] = words[0, word]
