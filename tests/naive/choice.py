"""Free choice of contracts with quotas: systems D and E (rule text 5, 6.3)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from tests.naive.cards import SEATS, SUITS

if TYPE_CHECKING:
    from tests.naive.match import NaiveMatch


def team_totals(totals: Sequence[int]) -> list[int]:
    """Totals of the teams {0, 2} and {1, 3} (5)."""
    return [totals[0] + totals[2], totals[1] + totals[3]]


def demands_can_be_met(
    used: Sequence[Collection[str]], owed: Sequence[int], places: Mapping[str, int]
) -> bool:
    """Whether all players can still choose the penalties they owe (6.3), by trying everything.

    `used[p]` are the penalties player p may not choose again, `owed[p]` how many he still has to
    choose, all different; `places` says how often the table may still choose each.
    """
    names = list(places)
    reachable = {tuple(places[name] for name in names)}
    for player in SEATS:
        open_names = [i for i, name in enumerate(names) if name not in used[player]]
        reachable = {
            tuple(left - (i in picked) for i, left in enumerate(state))
            for state in reachable
            for picked in combinations(open_names, owed[player])
            if all(state[i] > 0 for i in picked)
        }
    return bool(reachable)


class Choice:
    """The choice of one deal."""

    def __init__(self, match: NaiveMatch) -> None:
        self.match = match
        match.phase = "CHOOSE"
        match.actor = match.dealer if match.rules.dealer_chooses else match.next_seat(match.dealer)
        if match.rules.cards_before_choice is not None:
            match.arrived = match.rules.cards_before_choice

    def legal(self) -> set[str]:
        """The contracts for which the chooser has quota left, and the table too."""
        assert self.match.actor is not None
        rules = self.match.rules
        mine = self.match.chosen[self.match.actor]
        choices = set()
        if mine.count(rules.trump_contract) < rules.num_trumps:
            choices |= {f"contract:{rules.trump_contract}:{trump}" for trump in SUITS}
        if sum(name != rules.trump_contract for name in mine) < rules.num_penalties:
            choices |= {
                f"contract:{name}"
                for name in rules.penalties
                if not (rules.unique and name in mine) and self._table_allows(name)
            }
        return choices

    def _table_allows(self, penalty: str) -> bool:
        """The table-wide cap, and nobody left without a choice later."""
        rules = self.match.rules
        if rules.table_cap is None:
            return True
        assert self.match.actor is not None
        after = [list(names) for names in self.match.chosen]
        after[self.match.actor].append(penalty)
        places = {
            name: rules.table_cap - sum(names.count(name) for names in after)
            for name in rules.penalties
        }
        if places[penalty] < 0:
            return False
        owed = [
            rules.num_penalties - sum(name in rules.penalties for name in names) for names in after
        ]
        if not rules.unique:
            # Any open place is good for anybody, so it is enough that there are as many.
            return sum(owed) <= sum(places.values())
        return demands_can_be_met(after, owed, places)

    def push(self, name: str) -> None:
        """Takes the choice and starts the play: the chooser leads."""
        match = self.match
        assert match.actor is not None
        _, contract, *trump = name.split(":")
        match.declarer = match.actor
        match.chosen[match.actor].append(contract)
        match.announce(match.rules.contracts[contract], trump[0] if trump else None)
        match.start_play(match.actor)

    def settle(self) -> None:
        """Nobody pays anybody."""
