"""One readable game: what is legal, play it, copy it, look at it, write it down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from king_env import cards
from king_env.engine import actions as action_table
from king_env.engine import batch, step
from king_env.engine.actions import ActionId, ActionNames
from king_env.engine.layout import (
    NO_TRUMP,
    NOBODY,
    NUM_SEATS,
    PHASES,
    UNKNOWN,
    Games,
    Tables,
    allocate,
)
from king_env.render import table_text
from king_env.rules.catalogue import Variant, load_variant
from king_env.rules.spec import ContractSpec
from king_env.rules.tables import DECISION_AUCTION, DECISION_NONE, DECISION_ORDER, tables_of
from king_env.view import View, legal_ids

TRUMPS: Final = (*cards.SUITS, "NT")
"""Names of trumps by number: the suits, then no trump."""


class IllegalActionError(ValueError):
    """An action that the rules forbid now; the message names action, seat, phase and rule."""


@dataclass
class DealLog:
    """One deal as it went: what a record holds of it."""

    dealer: int
    dealt: list[list[str]]
    actions: list[tuple[int, ActionId]] = field(default_factory=list)
    contract: str | None = None
    scores: list[int] | None = None
    phases: list[int] = field(default_factory=list)
    """The phase in which each action was made, ``layout.PHASE_*``."""

    def copy(self) -> DealLog:
        """Returns a copy that can go its own way."""
        actions, phases = list(self.actions), list(self.phases)
        return DealLog(self.dealer, self.dealt, actions, self.contract, self.scores, phases)


class Game:
    """A match, or a single deal of one.

    Args:
        variant: a variant's name, a path, or a loaded variant.
        options: options of the variant.
        seed: seed of the deals, 0 .. 2**64 - 1.
        match: number of the match, or of the deal in the suite of deals.
        episode: ``"match"`` or ``"deal"``.
        start: ``"play"`` skips choice and auction (deals only).
        position: place of the deal in the match's schedule, from 0 (deals only); deal i takes place
            i mod K by default. Choices used up earlier are drawn from (seed, match) in either case.
        contract: contract of the deal (deals only): it starts at PLAY, declared by the seat that
            would choose, and nobody pays.
        trump: its trump ``S H D C``, or ``NT`` for none, where the contract is declared with one.

    Raises:
        VariantError: if the variant or an option is not allowed.
        ValueError: if another argument is not allowed.
    """

    def __init__(
        self,
        variant: str | Path | Variant = "international",
        options: Mapping[str, object] | None = None,
        *,
        seed: int = 0,
        match: int = 0,
        episode: str = "match",
        start: str = "decision",
        position: int | None = None,
        contract: str | None = None,
        trump: str | None = None,
    ) -> None:
        if episode not in ("match", "deal"):
            raise ValueError(f"episode: found {episode!r}; allowed: match, deal")
        if start not in ("decision", "play") or (start == "play" and episode == "match"):
            raise ValueError(f"start: found {start!r}; allowed: decision, and play for a deal")
        if not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**64:
            raise ValueError(f"seed: found {seed}; allowed: 0 to 2**64 - 1")
        if not isinstance(match, (int, np.integer)) or not 0 <= match < 2**63:
            raise ValueError(f"match: found {match}; allowed: 0 to 2**63 - 1")
        self.variant = variant if isinstance(variant, Variant) else load_variant(variant, options)
        self.names = ActionNames(self.variant.spec)
        self.tables: Tables = tables_of(self.variant)
        self.games: Games = allocate(1)
        self.seed: int | None = seed
        self.episode = episode
        self.start = start
        self.deals: list[DealLog] = []
        self._actor = NOBODY
        self._contract = UNKNOWN
        if episode == "match":
            if position is not None:
                raise ValueError(f"position: found {position!r}; allowed: for a deal only")
            step.new_match(self.games, self.tables, 0, np.uint64(seed), match)
        else:
            place = self._read_position(match, position)
            step.new_deal(self.games, self.tables, 0, np.uint64(seed), match, place)
        self._used_before = self.games.used[0].copy()
        self._left_before = self.games.left[0].copy()
        self._used_given = False
        self._choice: tuple[int, int] | None = None
        self._totals: list[int] = [0] * NUM_SEATS
        self._status = np.zeros(batch.STATUS_SIZE, dtype=np.int64)
        self._view_arrays()
        self._mask = np.zeros(action_table.NUM_ACTIONS, dtype=np.int8)
        self._skip_decisions()
        self._log()
        if contract is not None:
            self.set_contract(contract, trump)
        elif trump is not None:
            raise ValueError(f"trump: found {trump!r}; allowed: together with a contract only")

    def _read_position(self, match: int, position: int | None) -> int:
        """Returns the place of deal ``match`` in the schedule."""
        num_deals = len(self.variant.spec.deals)
        if position is None:
            return int(match) % num_deals
        whole = isinstance(position, (int, np.integer)) and not isinstance(position, bool)
        if not whole or not 0 <= position < num_deals:
            raise ValueError(f"position: found {position!r}; allowed: 0 to {num_deals - 1}")
        return int(position)

    @classmethod
    def from_batch(cls, variant: Variant, games: Games, index: int) -> Game:
        """Returns a copy of a batch's game, to look at: its log lacks the actions made so far."""
        game = cls(variant)
        game.games[0] = games[index]
        game.games.variant[0] = 0
        game.seed = None
        game.deals = []
        game._log()
        return game

    def _view_arrays(self) -> None:
        """Keeps plain views of the arrays: numba takes them six times faster than recarrays."""
        self.plain_games = self.games.view(np.ndarray)
        self.plain_tables = self.tables.view(np.ndarray)
        self._phases = self.plain_games["deal"]["phase"]

    def __str__(self) -> str:
        """Returns the table as text, all cards open."""
        return table_text(self.variant.spec, self.games[0])

    @property
    def record(self) -> Any:
        """The game record, see ``engine.layout.GAME_DTYPE``."""
        return self.games[0]

    @property
    def phase(self) -> str:
        """The phase, one of ``layout.PHASES``."""
        return PHASES[int(self.games.deal.phase[0])]

    @property
    def actor(self) -> int | None:
        """The seat to act, or None when the game is over."""
        return None if self._actor == NOBODY else self._actor

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended."""
        return self._actor == NOBODY

    @property
    def legal_actions(self) -> list[ActionId]:
        """Ids of the legal actions, ascending; empty when the game is over."""
        return legal_ids(self.games.deal.legal[0])

    def legal_names(self) -> list[str]:
        """Returns the names of the legal actions."""
        return [self.names.format(action) for action in self.legal_actions]

    @property
    def scores(self) -> list[int]:
        """Points of the episode so far, by seat."""
        game = self.games[0]
        return [int(game.totals[seat]) + int(game.deal.points[seat]) for seat in range(NUM_SEATS)]

    @property
    def side_scores(self) -> list[int]:
        """What each seat has played for in the episode so far: its points, or its team's."""
        scores = self.scores
        if not self.variant.spec.partnership:
            return scores
        return [scores[seat] + scores[(seat + 2) % NUM_SEATS] for seat in range(NUM_SEATS)]

    @property
    def points(self) -> list[int]:
        """Points of the deal in progress, by seat."""
        return [int(points) for points in self.games.deal.points[0]]

    @property
    def position(self) -> int:
        """Number of the deal in progress in the match's schedule, from 0."""
        return int(self.games.position[0])

    @property
    def contract(self) -> ContractSpec | None:
        """The contract of the deal in progress, once known."""
        index = int(self.games.deal.contract[0])
        return None if index < 0 else self.variant.spec.contract[index]

    def push(self, action: ActionId | str) -> None:
        """Plays an action, by id or name, for the seat to act.

        Raises:
            IllegalActionError: if it is not legal; nothing has changed.
            ValueError: if there is no action of that name.
        """
        action = self.names.parse(action) if isinstance(action, str) else int(action)
        self.advance(action, 0, self._mask)

    def advance(self, action: ActionId, by_deal: int, mask: npt.NDArray[np.int8]) -> list[int]:
        """Plays an action for the seat to act: what ``push`` and the environment share.

        Args:
            action: action id.
            by_deal: 1: rewards are paid when their deal is finished.
            mask: `[A]` int8, out: legal actions of the next seat to act.

        Returns:
            The status of ``batch.step_single``: four rewards, seat to act, deal over, contract.
        """
        phase: int = self._phases.item(0)
        if not 0 <= action < action_table.NUM_ACTIONS or batch.step_single(
            self.plain_games, self.plain_tables, 0, action, by_deal, self._status, mask
        ):
            raise IllegalActionError(self.why_illegal(action))
        status: list[int] = self._status.tolist()
        log = self.deals[-1]
        log.actions.append((self._actor, action))
        log.phases.append(phase)
        self._actor = status[batch.STATUS_ACTOR]
        if status[batch.STATUS_DEAL_OVER]:
            self._finish_log()
        elif status[batch.STATUS_CONTRACT] != self._contract:
            self._log_contract(status[batch.STATUS_CONTRACT])
        return status

    def check(self, action: ActionId | str) -> None:
        """Raises what ``push`` would raise, and changes nothing."""
        action = self.names.parse(action) if isinstance(action, str) else int(action)
        if action not in self.legal_actions:
            raise IllegalActionError(self.why_illegal(action))

    def clone(self) -> Game:
        """Returns a copy that goes its own way; the continuation is the same."""
        other = object.__new__(Game)
        other.__dict__.update(self.__dict__)
        other.games = allocate(1)
        other.games[0] = self.games[0]
        other.deals = [*self.deals[:-1], self.deals[-1].copy()] if self.deals else []
        other._totals = list(self._totals)
        other._status = self._status.copy()
        other._mask = self._mask.copy()
        other._view_arrays()
        return other

    def __copy__(self) -> Game:
        """Returns a clone."""
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Game:
        """Returns a clone."""
        return self.clone()

    def __getstate__(self) -> dict[str, Any]:
        """Returns what a pickle holds: plain arrays and the variant."""
        state = dict(self.__dict__)
        state["games"] = np.array(self.games)
        for name in ("tables", "plain_games", "plain_tables", "_phases"):
            state.pop(name)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restores a pickled game."""
        self.__dict__.update(state)
        self.tables = tables_of(self.variant)
        self.games = allocate(1)
        self.games[0] = state["games"][0]
        self._view_arrays()

    def view(self, seat: int) -> View:
        """Returns what a seat may know."""
        history = self.deals[-1].actions if self.deals else []
        return View(self.variant, self.games, self.tables, 0, seat, history)

    def set_hands(self, dealt: Sequence[Sequence[str]], dealer: int | None = None) -> None:
        """Deals given hands instead of the seed's, before the first action of a deal.

        Args:
            dealt: four hands of card names, in order of arrival, the whole pack.
            dealer: the dealer of this deal, see ``set_dealer``.

        Raises:
            ValueError: if the hands are not the pack, or the deal has begun; nothing has changed.
        """
        self._check_fresh("hands")
        size = self.variant.spec.hand_size
        if not isinstance(dealt, (list, tuple)) or not all(
            isinstance(hand, (list, tuple)) and all(isinstance(name, str) for name in hand)
            for hand in dealt
        ):
            raise ValueError(
                f"hands (dealt): expected four lists of card names, found {dealt!r:.80}"
            )
        try:
            order = [[cards.parse_card(name) for name in hand] for hand in dealt]
        except ValueError as error:
            raise ValueError(f"hands (dealt): {error}") from None
        sizes = [len(hand) for hand in order]
        if sizes != [size] * NUM_SEATS:
            found = ", ".join(map(str, sizes))
            raise ValueError(
                f"hands (dealt): expected four hands of {size} cards, found sizes {found}"
            )
        pack = cards.pack_mask(self.variant.spec.pack)
        if cards.mask_of(card for hand in order for card in hand) != pack:
            raise ValueError(
                f"hands (dealt): expected the {self.variant.spec.pack} cards of the pack, each once"
            )
        if dealer is not None:
            self.set_dealer(dealer)
        game: Any = self.games[0]
        for seat, hand in enumerate(order):
            game.deal.order[seat, :size] = hand
        self.seed = None
        self._restart()

    def set_dealer(self, dealer: int) -> None:
        """Makes a seat the dealer of this deal, before its first action; other deals follow.

        In a single deal the choices drawn as used up earlier move round the table with the dealer;
        those of ``set_used`` stay.

        Raises:
            ValueError: if there is no such seat, or the deal has begun; nothing has changed.
        """
        self._check_fresh("dealer")
        whole = isinstance(dealer, (int, np.integer)) and not isinstance(dealer, bool)
        if not whole or dealer not in range(NUM_SEATS):
            raise ValueError(f"dealer: found {dealer!r}; allowed: 0 to 3")
        game: Any = self.games[0]
        shift = int(dealer) - int(game.deal.dealer)
        if shift and self._used_given and self._choice is not None:
            raise ValueError("dealer: where used is given, set the dealer before the contract")
        if self.episode == "deal" and not self._used_given:
            self._used_before = np.roll(self._used_before, shift, axis=0)
            self._left_before = np.roll(self._left_before, shift, axis=0)
        game.first_dealer = (int(game.first_dealer) + shift) % NUM_SEATS
        self._restart()

    def set_used(self, used: Sequence[Sequence[int]]) -> None:
        """Sets the choices used up before a single deal: counts by seat and contract.

        Raises:
            ValueError: if the counts are malformed or leave no choice.
        """
        self._check_fresh("used")
        if self._choice is not None:
            raise ValueError("used: set it before the contract")
        try:
            counts = np.array(used, dtype=np.uint8)
        except (ValueError, TypeError, OverflowError):
            counts = np.zeros(0, dtype=np.uint8)
        if counts.shape != self._used_before.shape:
            raise ValueError(f"used: expected counts of shape {self._used_before.shape}")
        table = self.tables[0]
        left = np.zeros_like(self._left_before)
        for seat in range(NUM_SEATS):
            for group, quota in enumerate(table.group_quota):
                made = int(counts[seat][table.group == group].sum())
                if made > quota:
                    raise ValueError(f"used: seat {seat} made {made} choices of {quota}")
                left[seat, group] = quota - made
        self._used_before, self._left_before, self._used_given = counts, left, True
        self._restart()
        if not self.is_over and not self.legal_actions:
            raise ValueError("used: no choice is left")

    def set_contract(self, contract: str, trump: str | None = None) -> None:
        """Starts a single deal at PLAY with a contract, before its first action; nobody pays.

        The seat that would choose or sell the choice declares it. Where the contract is fixed, only
        that one is allowed.

        Args:
            contract: id of a contract that could be declared in this deal.
            trump: ``S H D C``, or ``NT`` for none, where the contract is declared with one.

        Raises:
            ValueError: if it could not be declared, or the deal has begun; nothing has changed.
        """
        self._check_fresh("contract")
        if self.episode == "match":
            raise ValueError(f"contract: found {contract!r}; allowed: for a deal only")
        before = self._choice
        start, self.start, self._choice = self.start, "decision", None
        self._restart()
        try:
            self._choice = self._read_contract(contract, trump)
        except ValueError:
            self._choice = before
            raise
        finally:
            self.start = start
            self._restart()

    @property
    def skipped(self) -> tuple[str, str | None] | None:
        """Contract and trump with which a single deal began at PLAY; None where players decide."""
        game = self.games[0]
        if self.episode == "match" or (self._choice is None and self.start == "decision"):
            return None
        first = int(game.end) - 1
        if self.tables[0].deal_decision[first] == DECISION_NONE:
            return None
        contract = self.variant.spec.contract[int(game.deal.contract)]
        return contract.id, TRUMPS[int(game.deal.trump)] if contract.trump == "declared" else None

    def _check_fresh(self, what: str) -> None:
        """Raises where the deal has begun."""
        if self.deals[-1].actions:
            raise ValueError(f"{what}: can be set before the first action of a deal only")

    def _declarable(self) -> dict[str, list[str]]:
        """Returns the contracts that can be declared in a fresh deal, each with its trumps."""
        table = self.tables[0]
        deal = self.games[0].deal
        decision = int(table.deal_decision[self.position])
        pairs: list[tuple[int, int]] = []
        if decision == DECISION_NONE:
            pairs.append((int(deal.contract), NO_TRUMP))
        elif decision == DECISION_AUCTION:
            suits = range(NO_TRUMP + int(table.allow_no_trump))
            pairs += [(int(table.plus_contract), suit) for suit in suits]
            pairs.append((int(table.minus_contract), NO_TRUMP))
        elif decision == DECISION_ORDER:
            for order, index in enumerate(table.order_contract):
                if index >= 0:
                    pairs.append((int(index), min(order, NO_TRUMP)))
        else:
            slots = [action - action_table.SLOT for action in self.legal_actions]
            pairs += [
                (int(table.slot_contract[slot]), int(table.slot_trump[slot])) for slot in slots
            ]
        found: dict[str, list[str]] = {}
        for index, suit in pairs:
            contract = self.variant.spec.contract[index]
            trumps = found.setdefault(contract.id, [])
            if contract.trump == "declared":
                trumps.append(TRUMPS[suit])
        return found

    def _read_contract(self, contract: object, trump: object) -> tuple[int, int]:
        """Returns contract and trump as numbers; the deal stands at its first decision."""
        allowed = self._declarable()
        if not isinstance(contract, str) or contract not in allowed:
            fixed = self.variant.spec.deals[self.position].decision == "none"
            where = f"deal {self.position} of the schedule"
            what = f"which {where} has" if fixed else f"which may be declared in {where}"
            raise ValueError(f"contract: found {contract!r}; allowed: {', '.join(allowed)}, {what}")
        trumps = allowed[contract]
        if not trumps and trump is not None:
            raise ValueError(f"trump: found {trump!r}; allowed: none, as {contract} has no trump")
        if trumps and trump not in trumps:
            raise ValueError(
                f"trump: found {trump!r}; allowed with {contract}: {', '.join(trumps)}"
            )
        suit = TRUMPS.index(str(trump)) if trumps else NO_TRUMP
        return self.variant.spec.contract_index(contract), suit

    def _restart(self) -> None:
        """Begins the deal again, after a change by hand."""
        game: Any = self.games[0]
        if self.episode == "deal":
            game.used[:] = self._used_before
            game.left[:] = self._left_before
        step.restart_deal(self.games, self.tables, 0)
        self._skip_decisions()
        self.deals.pop()
        self._log()

    def _skip_decisions(self) -> None:
        """Goes on to PLAY where a single deal starts there."""
        if self._choice is not None:
            step.start_play(self.games, self.tables, 0, *self._choice)
        elif self.start == "play" and self.legal_actions:  # empty: no choice is left
            step.start_play(self.games, self.tables, 0, -1, -1)

    def to_record(self, agents: Sequence[str] = ()) -> dict[str, Any]:
        """Returns the game as a record, a dict for ``json``: see ``king_env.records``."""
        from king_env.records import make_record

        return make_record(self, agents)

    def _log(self) -> None:
        """Opens the log of a fresh deal."""
        game = self.games[0]
        size = self.variant.spec.hand_size
        dealt = [
            [cards.CARD_NAMES[card] for card in game.deal.order[seat, :size]]
            for seat in range(NUM_SEATS)
        ]
        self._actor = int(game.deal.actor)
        self.deals.append(DealLog(int(game.deal.dealer), dealt))
        self._log_contract(int(game.deal.contract))

    def _log_contract(self, index: int) -> None:
        """Notes the contract of the deal, or that there is none (any more)."""
        self._contract = index
        known = index != UNKNOWN
        self.deals[-1].contract = self.variant.spec.contract[index].record_name if known else None

    def _finish_log(self) -> None:
        """Closes the log of the deal that has just ended and opens the next."""
        totals = [int(total) for total in self.games.totals[0]]
        log = self.deals[-1]
        log.scores = [now - before for now, before in zip(totals, self._totals, strict=True)]
        self._totals = totals
        if not self.is_over:
            self._log()

    # ------------------------------------------------------------ why an action is refused

    def why_illegal(self, action: ActionId) -> str:
        """Returns one line: action, seat, phase and the rule that forbids it."""
        if not 0 <= action < action_table.NUM_ACTIONS:
            allowed = action_table.NUM_ACTIONS - 1
            return f"action {action}: there is no such id; allowed: 0 to {allowed}"
        name = self.names.format(action)
        if self.actor is None:
            return f"action {name}: the game is over"
        where = f"action {name} of seat {self.actor} in phase {self.phase}"
        return f"{where}: {self._broken_rule(action)}"

    def _broken_rule(self, action: ActionId) -> str:
        """Returns the rule that an illegal action breaks."""
        legal = " ".join(self.legal_names())
        if self.phase != "PLAY":
            return f"the rules allow here: {legal}"
        if action >= cards.NUM_CARDS:
            return "only a card may be played"
        deal = self.games[0].deal
        hand = int(deal.hands[int(deal.actor)])
        if not hand >> action & 1:
            return f"the card is not in the hand {cards.format_hand(hand)}"
        contract = self.variant.spec.contract[int(deal.contract)]
        if int(deal.trick_size) == 0:
            return f"lead rule {contract.lead} of {contract.id}: allowed: {legal}"
        suit = int(deal.trick[0]) // cards.NUM_RANKS
        same = hand & cards.suit_mask(suit)
        if same and not same >> action & 1:
            return f"suit {cards.SUITS[suit]} must be followed: allowed: {legal}"
        if same:
            rule = "follow_king" if contract.follow_king and suit == cards.HEARTS else "duck"
            return f"follow rule {rule} of {contract.id}: allowed: {legal}"
        return f"void rule {contract.void} of {contract.id}: allowed: {legal}"
