"""King once more, slow and obvious, written from the rule text to test the engine against.

Covered are system A (`international`), system D (`turkish_short`) with all their options, and two
tiny 32-card games (`tiny_three`, `tiny_counter`) that use what those two leave out: three cards
before the choice, reversed ranks, counter-clockwise play, a table-wide cap.

Cards are text, rank then suit (`AS`, `TD`); seats are 0..3 clockwise; actions are the names of the
record format. Nothing here is shared with the engine and nothing is optimised: sets, lists and
loops that follow the order of the text. Numbers such as "2.4" are sections of the rule text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

SEATS = (0, 1, 2, 3)
SUITS = "SHDC"
RANKS = "AKQJT98765432"  # high to low
SHORT_RANKS = "AKQJT987"
LADDER = ("+1", "+2", "+3", "-1", "+4", "+5", "+6", "-2", "+7", "+8")
EQUAL_VALUE = {"+3": "-1", "-1": "+3", "+6": "-2", "-2": "+6"}
CARD_UNITS = {"heart", "man", "queen", "king"}

# ---------------------------------------------------------------------------------------------
# Options (9): the first value is the default.

_EARLY_END: tuple[object, ...] = ("never", "auto")
_A_OPTIONS: dict[str, tuple[object, ...]] = {
    "early_end": _EARLY_END,
    "a.pack": (52, 32),
    "a.table32": ("literal", "balanced160"),
    "a.lead_negative": ("dealer", "dealer_left"),
    "a.lead_positive": ("dealer", "dealer_left", "declarer"),
    "a.no_king_lead": ("king_only", "no_hearts"),
    "a.no_king_force": ("none", "void", "first_opportunity"),
    "a.allow_no_trump": (True, False),
    "a.must_trump": (False, True),
    "a.must_overtrump": (False, True),
    "a.auction.max_plus": (8, 1, 2, 3, 4, 5, 6, 7),
    "a.auction.match": ("same_call", "same_value", "off"),
    "a.auction.plus8_binding": ("always", "ultimatum_only"),
    "a.auction.bid_binds_deal": (True, False),
    "a.negotiation.max_requests": (1, 0, 2, 3),
    "a.ultimatum.enabled": (True, False),
    "a.ultimatum.timing": ("closing", "both"),
    "a.ultimatum.demands": ("any_higher", "eight_only"),
    "a.ultimatum.respondents": ("all", "active", "holder"),
    "a.ultimatum.fallback": ("negative", "free"),
    "a.plus_settlement": ("transfer", "transfer_capped"),
    "a.minus_settlement": ("absorb_capped", "fixed_transfer"),
    "a.failed.criterion": ("offer_count", "best_value", "never"),
    "a.failed.threshold": (3, 1, 2, 4, 5, 6, 7, 8),
}
_D_OPTIONS: dict[str, tuple[object, ...]] = {
    "early_end": _EARLY_END,
    "d.match": ("short", "full"),
    "d.partnership": (False, True),
    "d.global_cap": ("none", 2),
    "d.hearts_lead": ("until_broken", "free", "never"),
    "d.force_penalty": ("none", "discard", "discard_and_duck"),
    "d.must_overtrump": (False, True),
}
OPTIONS: dict[str, dict[str, tuple[object, ...]]] = {
    "international": _A_OPTIONS,
    "turkish_short": _D_OPTIONS,
    "tiny_three": {"early_end": ("never", "auto")},
    "tiny_counter": {"early_end": ("auto", "never")},
}


def complete_options(variant: str, options: Mapping[str, object]) -> dict[str, object]:
    """The options with defaults filled in.

    Raises:
        ValueError: an unknown variant, name or value, or a combination the rules refuse (11.25).
    """
    if variant not in OPTIONS:
        raise ValueError(f"variant {variant!r}: one of {sorted(OPTIONS)}")
    allowed = OPTIONS[variant]
    complete = {name: values[0] for name, values in allowed.items()}
    for name, value in options.items():
        if name not in allowed:
            raise ValueError(f"option {name!r} is not one of {variant}: {sorted(allowed)}")
        # True == 1 in Python, so the type is compared too.
        if not any(value == v and type(value) is type(v) for v in allowed[name]):
            raise ValueError(f"{name} = {value!r}: allowed are {allowed[name]}")
        complete[name] = value
    if complete.get("a.table32") == "balanced160" and complete["a.pack"] == 52:
        raise ValueError("a.table32 = balanced160 needs a.pack = 32")
    if complete.get("d.global_cap") == 2 and complete["d.match"] == "full":
        raise ValueError("d.global_cap = 2 needs d.match = short")
    return complete


# ---------------------------------------------------------------------------------------------
# Cards and contracts (1.1, 1.3)


def rank(card: str) -> str:
    """The rank letter of a card."""
    return card[0]


def suit(card: str) -> str:
    """The suit letter of a card."""
    return card[1]


@dataclass(frozen=True)
class Contract:
    """What a deal counts and how it is played.

    `units`: points for each unit of 1.3 (`trick heart man queen king last2`).
    `start`: points everybody has before the first trick (the 325 of nulls).
    `lead`: `free no_hearts until_broken king_only`; `void`: `free must_trump force_king
    force_penalty`.
    `king_on_hearts`: the holder of the king of hearts must play it when another leads hearts.
    """

    name: str
    units: Mapping[str, int]
    start: int = 0
    lead: str = "free"
    void: str = "free"
    must_overtrump: bool = False
    duck: bool = False
    king_on_hearts: bool = False
    reversed_ranks: bool = False

    def counts(self, card: str) -> bool:
        """Whether the card is a unit of this contract, "a penalty card of the contract"."""
        return any(name in self.units for name in card_units(card))

    def strength(self, card: str) -> int:
        """A number that is larger for the higher of two cards of a suit in this contract."""
        below_ace = RANKS.index(rank(card))
        return below_ace if self.reversed_ranks else -below_ace


def card_units(card: str) -> list[str]:
    """The units a card is by itself; the king of hearts is three of them."""
    units = []
    if suit(card) == "H":
        units.append("heart")
    if rank(card) in "KJ":
        units.append("man")
    if rank(card) == "Q":
        units.append("queen")
    if card == "KH":
        units.append("king")
    return units


def trick_points(contract: Contract, cards: Sequence[str], number: int, num_tricks: int) -> int:
    """Points for taking these four cards as trick `number` (from 1) of `num_tricks`."""
    units = ["trick"]
    if number >= num_tricks - 1:
        units.append("last2")
    for card in cards:
        units += card_units(card)
    return sum(contract.units.get(unit, 0) for unit in units)


def trick_winner(trick: Sequence[tuple[int, str]], contract: Contract, trump: str | None) -> int:
    """The seat that takes the trick: highest trump if any, else highest card of the led suit."""
    deciding = suit(trick[0][1])
    if any(suit(card) == trump for _, card in trick):
        assert trump is not None
        deciding = trump
    candidates = [(contract.strength(card), seat) for seat, card in trick if suit(card) == deciding]
    return max(candidates)[1]


# ---------------------------------------------------------------------------------------------
# Legal cards (1.2)


def legal_cards(
    hand: Collection[str],
    trick: Sequence[str],
    contract: Contract,
    trump: str | None,
    hearts_broken: bool,
) -> set[str]:
    """The cards of the hand that may be played to the cards already in the trick.

    Each rule names the cards it wants; when the hand has none of them it asks nothing.
    `hearts_broken`: a heart has been played to an earlier trick of the deal.
    """
    hand = set(hand)
    if not trick:
        return _wanted_lead(hand, contract, hearts_broken) or hand
    led = suit(trick[0])
    following = {card for card in hand if suit(card) == led}
    if following:
        return _wanted_following(following, trick, contract) or following
    return _wanted_when_void(hand, trick, contract, trump) or hand


def _wanted_lead(hand: set[str], contract: Contract, hearts_broken: bool) -> set[str]:
    if contract.lead == "king_only":
        return hand - {"KH"}
    if contract.lead == "no_hearts" or (contract.lead == "until_broken" and not hearts_broken):
        return {card for card in hand if suit(card) != "H"}
    return hand


def _wanted_following(following: set[str], trick: Sequence[str], contract: Contract) -> set[str]:
    if contract.king_on_hearts and "KH" in following:
        return {"KH"}
    if contract.duck:
        led = suit(trick[0])
        highest = max(contract.strength(card) for card in trick if suit(card) == led)
        return {
            card
            for card in following
            if contract.counts(card) and contract.strength(card) < highest
        }
    return following


def _wanted_when_void(
    hand: set[str], trick: Sequence[str], contract: Contract, trump: str | None
) -> set[str]:
    if contract.void == "force_king":
        return hand & {"KH"}
    if contract.void == "force_penalty":
        return {card for card in hand if contract.counts(card)}
    if contract.void == "must_trump":
        trumps = {card for card in hand if suit(card) == trump}
        if contract.must_overtrump:
            lying = [contract.strength(card) for card in trick if suit(card) == trump]
            higher = {card for card in trumps if all(contract.strength(card) > s for s in lying)}
            return higher or trumps
        return trumps
    return hand


# ---------------------------------------------------------------------------------------------
# Auction arithmetic and settlement (2.4, 2.5, 2.7)


def worth(call: str) -> int:
    """The value of a call in pluses: plus N is worth N, minus N is worth 3N."""
    number = int(call[1:])
    return number if call[0] == "+" else 3 * number


@dataclass(frozen=True)
class Table:
    """The figures of system A that depend on the pack (2.2, 2.7)."""

    trick: int
    heart: int
    queen: int
    man: int
    king: int
    last2: int
    plus_unit: int
    minus_unit: int
    nulls_start: int
    unplayed: tuple[int, int]
    """Tricks written for the auctioneer and for each other seat when the deal is not played."""


TABLES = {
    (52, "literal"): Table(-20, -20, -50, -30, -160, -90, 25, 75, 325, (4, 3)),
    (32, "literal"): Table(-20, -20, -50, -30, -160, -90, 25, 75, 200, (2, 2)),
    (32, "balanced160"): Table(-20, -20, -40, -20, -160, -80, 30, 90, 240, (2, 2)),
}


def settlement(
    table: Table,
    options: Mapping[str, object],
    call: str,
    nulls: bool,
    buyer: int,
    auctioneer: int,
    tricks: Sequence[int],
) -> int:
    """Points that pass from the buyer to the auctioneer after a sale (2.5, 11.9)."""
    number = int(call[1:])
    if call[0] == "+":
        if not nulls and options["a.plus_settlement"] == "transfer_capped":
            number = min(number, tricks[buyer])
        return table.plus_unit * number
    if nulls and options["a.minus_settlement"] == "absorb_capped":
        number = min(number, tricks[auctioneer])
    return table.minus_unit * number


def team_totals(totals: Sequence[int]) -> list[int]:
    """Totals of the teams {0, 2} and {1, 3} (5)."""
    return [totals[0] + totals[2], totals[1] + totals[3]]


# ---------------------------------------------------------------------------------------------
# The variants as data


@dataclass(frozen=True)
class Variant:
    """A match: pack, direction, the deals fixed in advance, and how the others are chosen.

    With `auction` every deal after `schedule` is one of 2.4. Otherwise each player chooses
    `num_penalties` different ones of `penalties` and `num_trumps` times `trump_contract`.
    """

    ranks: str
    direction: int
    num_deals: int
    contracts: Mapping[str, Contract]
    schedule: tuple[str, ...] = ()
    auction: bool = False
    penalties: tuple[str, ...] = ()
    num_penalties: int = 0
    trump_contract: str = ""
    num_trumps: int = 0
    table_cap: int | None = None
    dealer_chooses: bool = False
    cards_before_choice: int | None = None


def _international(options: Mapping[str, object], table: Table) -> Variant:
    force = options["a.no_king_force"]
    contracts = (
        Contract("no_tricks", {"trick": table.trick}),
        Contract("no_hearts", {"heart": table.heart}, lead="no_hearts"),
        Contract("no_queens", {"queen": table.queen}),
        Contract("no_men", {"man": table.man}),
        Contract(
            "no_king",
            {"king": table.king},
            lead=str(options["a.no_king_lead"]),
            void="free" if force == "none" else "force_king",
            king_on_hearts=force == "first_opportunity",
        ),
        Contract("no_last2", {"last2": table.last2}),
        Contract(
            "positive",
            {"trick": table.plus_unit},
            void="must_trump" if options["a.must_trump"] else "free",
            must_overtrump=bool(options["a.must_overtrump"]),
        ),
        Contract("nulls", {"trick": -table.minus_unit}, start=table.nulls_start),
    )
    return Variant(
        ranks=RANKS if options["a.pack"] == 52 else SHORT_RANKS,
        direction=+1,
        num_deals=10,
        contracts={contract.name: contract for contract in contracts},
        schedule=tuple(contract.name for contract in contracts[:6]),
        auction=True,
    )


def _turkish(options: Mapping[str, object]) -> Variant:
    hearts_lead = {"until_broken": "until_broken", "free": "free", "never": "no_hearts"}[
        str(options["d.hearts_lead"])
    ]
    force = options["d.force_penalty"]
    void = "free" if force == "none" else "force_penalty"
    duck = force == "discard_and_duck"
    penalties = (
        Contract("kupa", {"heart": -25}, lead=hearts_lead, void=void, duck=duck),
        Contract("el", {"trick": -25}, void=void, duck=duck),
        Contract("erkek", {"man": -40}, void=void, duck=duck),
        Contract("kiz", {"queen": -80}, void=void, duck=duck),
        Contract("rifki", {"king": -320}, lead=hearts_lead, void=void, duck=duck),
        Contract("soniki", {"last2": -160}, void=void, duck=duck),
    )
    koz = Contract(
        "koz",
        {"trick": 40},
        void="must_trump",
        must_overtrump=bool(options["d.must_overtrump"]),
    )
    full = options["d.match"] == "full"
    return Variant(
        ranks=RANKS,
        direction=+1,
        num_deals=40 if full else 20,
        contracts={contract.name: contract for contract in (*penalties, koz)},
        penalties=tuple(contract.name for contract in penalties),
        num_penalties=6 if full else 3,
        trump_contract="koz",
        num_trumps=4 if full else 2,
        table_cap=2 if options["d.global_cap"] == 2 else None,
    )


def _tiny_three() -> Variant:
    contracts = (
        Contract("low", {"trick": -2}, reversed_ranks=True),
        Contract("girls", {"queen": -4}, void="force_penalty", duck=True, reversed_ranks=True),
        Contract("suit", {"trick": 3}, void="must_trump", must_overtrump=True),
    )
    return Variant(
        ranks=SHORT_RANKS,
        direction=+1,
        num_deals=8,
        contracts={contract.name: contract for contract in contracts},
        penalties=("low", "girls"),
        num_penalties=1,
        trump_contract="suit",
        num_trumps=1,
        cards_before_choice=3,
    )


def _tiny_counter() -> Variant:
    contracts = (
        Contract("hearts", {"heart": -3}, lead="until_broken"),
        Contract("king", {"king": -16}, lead="king_only", void="force_king"),
        Contract("tricks", {"trick": -2}),
        Contract("koz", {"trick": 2}, void="must_trump"),
    )
    return Variant(
        ranks=SHORT_RANKS,
        direction=-1,
        num_deals=12,
        contracts={contract.name: contract for contract in contracts},
        penalties=("hearts", "king", "tricks"),
        num_penalties=2,
        trump_contract="koz",
        num_trumps=1,
        table_cap=3,
        dealer_chooses=True,
    )


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


# ---------------------------------------------------------------------------------------------
# The match


@dataclass
class Auction:
    """The auction of one deal (2.4): who may still speak, what is offered, by whom."""

    opponents: list[int]
    """p1, p2, p3: the order of speaking and of priority."""
    active: set[int]
    rung: str | None = None
    """The highest rung ever reached: the floor of raises and ultimatums (11.1)."""
    call: str | None = None
    """The holder's call. With `match = same_value` it may be the other call of equal value."""
    holder: int | None = None
    offers: int = 0
    requests_left: int = 0
    requested: str | None = None
    ultimatum: str | None = None
    still_to_answer: list[int] | None = None


class NaiveMatch:
    """A whole match of one variant, moved on by action names.

    Attributes:
        phase: `OPEN BID DECIDE NEGOTIATE ULTIMATUM DECLARE CHOOSE PLAY`, `OVER` after the last
            deal. The last action of a deal starts the next one.
        actor: The seat to act; None when the match is over.
        points: Points of the deal in progress, trick by trick; constants and settlements come
            with the last action of a deal, and then the points of the next deal start at 0.
        deal_scores: Points of the finished deals, by seat.
        totals: Sum of the finished deals, by seat.
        deal_index: Number of the deal in progress, from 0; the number of deals when over.
        dealer: Dealer of the deal in progress, when over that of the last deal.
        declarer: Who chose the contract of the deal in progress; None before, and in deals fixed
            by the schedule.
        buyer: Who bought the right to declare in an auction; None if nobody.
        contract: Id of the contract of the deal in progress, None until it is known.
        contracts_played: Ids of the finished deals' contracts, None for unplayed ones.
        chosen: Ids of the contracts each player has chosen so far in the match.
        trump: Suit letter or None.
        hands: The cards each seat holds (before a choice on three cards only those three).
        trick: The cards lying in the trick, as (seat, card).
        tricks: The finished tricks of the deal, likewise.
        tricks_taken: Number of tricks of the deal by seat.
        auction: State of the auction of this deal; None in other deals.
    """

    phase: str
    actor: int | None
    points: list[int]
    declarer: int | None
    buyer: int | None
    contract: str | None
    trump: str | None
    hands: list[set[str]]
    trick: list[tuple[int, str]]
    tricks: list[list[tuple[int, str]]]
    tricks_taken: list[int]
    auction: Auction | None
    # Seat, card, cards that lay in the trick, whether hearts were broken.
    _unread_plays: list[tuple[int, str, list[str], bool]]
    _proved: list[set[str]]

    def __init__(
        self,
        variant: str,
        options: Mapping[str, object],
        first_dealer: int,
        deals: Callable[[int], list[list[str]]],
    ) -> None:
        """Starts the match with the first deal.

        Args:
            variant: `international`, `turkish_short`, `tiny_three` or `tiny_counter`.
            options: Differences from the defaults of section 9 (without `first_dealer`).
            first_dealer: Seat that deals the first deal.
            deals: The four hands of deal k (from 0), each in order of arrival.

        Raises:
            ValueError: an unknown variant or option, or hands that do not make up the pack.
        """
        self.options = complete_options(variant, options)
        self.variant = variant
        if variant == "international":
            self.table = TABLES[int(str(self.options["a.pack"])), str(self.options["a.table32"])]
            self.rules = _international(self.options, self.table)
            top = int(str(self.options["a.auction.max_plus"]))
            self.ladder = [rung for rung in LADDER if worth(rung) <= top]
            self.top_plus = f"+{top}"
        elif variant == "turkish_short":
            self.rules = _turkish(self.options)
        elif variant == "tiny_three":
            self.rules = _tiny_three()
        else:
            self.rules = _tiny_counter()
        self.pack = frozenset(r + s for r in self.rules.ranks for s in SUITS)
        self.num_tricks = len(self.pack) // 4
        self._deals = deals
        self.deal_scores: list[list[int]] = []
        self.totals = [0, 0, 0, 0]
        self.contracts_played: list[str | None] = []
        self.chosen: list[list[str]] = [[], [], [], []]
        self.deal_index = 0
        self.dealer = first_dealer % 4
        self._start_deal()

    # --- Interface -------------------------------------------------------------------------

    def legal(self) -> set[str]:
        """Names of the actions the actor may choose; empty when the match is over."""
        if self.phase == "PLAY":
            assert self.actor is not None
            return self._legal_cards_of(self.hands[self.actor])
        if self.phase == "CHOOSE":
            return self._legal_choices()
        if self.phase == "DECLARE":
            return {f"declare:{what}" for what in self._declarations()}
        if self.phase == "OPEN":
            return {"open"} | {f"ultimatum:{rung}" for rung in self._ultimatums()}
        if self.phase == "BID":
            return self._legal_calls()
        if self.phase == "DECIDE":
            return self._legal_decisions()
        if self.phase == "NEGOTIATE":
            return {"agree", "decline"}
        if self.phase == "ULTIMATUM":
            return {"accept", "reject"}
        return set()

    def push(self, name: str) -> None:
        """Does the action.

        Raises:
            ValueError: the action is not legal now.
        """
        if name not in self.legal():
            raise ValueError(f"{name!r} is not legal for seat {self.actor} in {self.phase}")
        if self.phase == "PLAY":
            self._play(name)
        elif self.phase == "CHOOSE":
            self._choose(name)
        elif self.phase == "DECLARE":
            self._declare(name.removeprefix("declare:"))
        elif self.phase == "BID":
            self._call(name)
        elif self.phase == "NEGOTIATE":
            self._answer_request(name)
        elif self.phase == "ULTIMATUM":
            self._answer_ultimatum(name)
        else:
            self._decide(name)

    def shown_not_held(self) -> list[set[str]]:
        """For each seat the cards which its play in this deal has proved it does not hold.

        A card was played where another would have been demanded, had it been in the hand: so it
        was not. The rules decide between two cards of a hand without looking at the rest of it,
        hence the question for every other card q of the pack: with nothing but these two in hand,
        would the card played have been legal? What is proved stays true, as hands only shrink.
        """
        for seat, card, trick, hearts_broken in self._unread_plays:
            contract = self._contract()
            for other in self.pack - {card}:
                both = {card, other}
                if card not in legal_cards(both, trick, contract, self.trump, hearts_broken):
                    self._proved[seat].add(other)
        self._unread_plays = []
        return [set(cards) for cards in self._proved]

    # --- Deals -----------------------------------------------------------------------------

    def next_seat(self, seat: int) -> int:
        """The seat that plays after this one."""
        return (seat + self.rules.direction) % 4

    def _contract(self) -> Contract:
        assert self.contract is not None
        return self.rules.contracts[self.contract]

    def _start_deal(self) -> None:
        self.points = [0, 0, 0, 0]
        self.declarer = self.buyer = None
        self.contract = self.trump = None
        self.hands = [set(), set(), set(), set()]
        self.trick = []
        self.tricks = []
        self.tricks_taken = [0, 0, 0, 0]
        self.auction = None
        self._unread_plays = []
        self._proved = [set(), set(), set(), set()]
        if self.deal_index == self.rules.num_deals:
            self.phase, self.actor = "OVER", None
            return
        if self.deal_index > 0:
            self.dealer = self.next_seat(self.dealer)
        self.dealt = [list(hand) for hand in self._deals(self.deal_index)]
        together = [card for hand in self.dealt for card in hand]
        if sorted(together) != sorted(self.pack) or {len(h) for h in self.dealt} != {
            self.num_tricks
        }:
            raise ValueError(f"the hands of deal {self.deal_index} do not make up the pack")
        self.hands = [set(hand[: self.rules.cards_before_choice]) for hand in self.dealt]

        if self.deal_index < len(self.rules.schedule):
            self.contract = self.rules.schedule[self.deal_index]
            left = self.options["a.lead_negative"] == "dealer_left"
            self._start_play(self.next_seat(self.dealer) if left else self.dealer)
        elif self.rules.auction:
            self._start_auction()
        else:
            self.phase = "CHOOSE"
            self.actor = self.dealer if self.rules.dealer_chooses else self.next_seat(self.dealer)

    def _finish_deal(self) -> None:
        if self.contract is not None:
            for seat in SEATS:
                self.points[seat] += self._contract().start
        if self.buyer is not None:
            assert self.auction is not None and self.auction.call is not None
            paid = settlement(
                self.table,
                self.options,
                self.auction.call,
                self.contract == "nulls",
                self.buyer,
                self.dealer,
                self.tricks_taken,
            )
            self.points[self.buyer] -= paid
            self.points[self.dealer] += paid
        self.deal_scores.append(self.points)
        self.contracts_played.append(self.contract)
        for seat in SEATS:
            self.totals[seat] += self.points[seat]
        self.deal_index += 1
        self._start_deal()

    # --- Play (1.2, 1.4) -------------------------------------------------------------------

    def _start_play(self, leader: int) -> None:
        self.phase, self.actor = "PLAY", leader

    def _hearts_broken(self) -> bool:
        return any(suit(card) == "H" for trick in self.tricks for _, card in trick)

    def _legal_cards_of(self, hand: Collection[str]) -> set[str]:
        lying = [card for _, card in self.trick]
        return legal_cards(hand, lying, self._contract(), self.trump, self._hearts_broken())

    def _play(self, card: str) -> None:
        seat = self.actor
        assert seat is not None
        lying = [c for _, c in self.trick]
        self._unread_plays.append((seat, card, lying, self._hearts_broken()))
        self.hands[seat].remove(card)
        self.trick.append((seat, card))
        if len(self.trick) < 4:
            self.actor = self.next_seat(seat)
            return
        winner = trick_winner(self.trick, self._contract(), self.trump)
        self.tricks.append(self.trick)
        self.tricks_taken[winner] += 1
        self.points[winner] += trick_points(
            self._contract(), [c for _, c in self.trick], len(self.tricks), self.num_tricks
        )
        self.trick = []
        self.actor = winner
        if len(self.tricks) == self.num_tricks or self._exhausted():
            self._finish_deal()

    def _exhausted(self) -> bool:
        """With `early_end = auto`: only card units count, and all of them have been taken."""
        contract = self._contract()
        if self.options["early_end"] == "never" or not set(contract.units) <= CARD_UNITS:
            return False
        taken = {card for trick in self.tricks for _, card in trick}
        return all(card in taken for card in self.pack if contract.counts(card))

    # --- Free choice (5, 6.3) --------------------------------------------------------------

    def _legal_choices(self) -> set[str]:
        assert self.actor is not None
        rules = self.rules
        mine = self.chosen[self.actor]
        choices = set()
        if mine.count(rules.trump_contract) < rules.num_trumps:
            choices |= {f"contract:{rules.trump_contract}:{trump}" for trump in SUITS}
        if sum(name != rules.trump_contract for name in mine) < rules.num_penalties:
            choices |= {
                f"contract:{name}"
                for name in rules.penalties
                if name not in mine and self._table_allows(name)
            }
        return choices

    def _table_allows(self, penalty: str) -> bool:
        """The table-wide cap, and nobody left without a choice later."""
        if self.rules.table_cap is None:
            return True
        assert self.actor is not None
        after = [list(names) for names in self.chosen]
        after[self.actor].append(penalty)
        places = {
            name: self.rules.table_cap - sum(names.count(name) for names in after)
            for name in self.rules.penalties
        }
        if places[penalty] < 0:
            return False
        owed = [
            self.rules.num_penalties - sum(name in self.rules.penalties for name in names)
            for names in after
        ]
        return demands_can_be_met(after, owed, places)

    def _choose(self, name: str) -> None:
        assert self.actor is not None
        _, self.contract, *trump = name.split(":")
        self.trump = trump[0] if trump else None
        self.declarer = self.actor
        self.chosen[self.actor].append(self.contract)
        self.hands = [set(hand) for hand in self.dealt]
        self._start_play(self.actor)

    # --- Auction (2.4) ---------------------------------------------------------------------

    def _auction(self) -> Auction:
        assert self.auction is not None
        return self.auction

    def _start_auction(self) -> None:
        opponents = [(self.dealer + step) % 4 for step in (1, 2, 3)]
        self.auction = Auction(
            opponents=opponents,
            active=set(opponents),
            requests_left=int(str(self.options["a.negotiation.max_requests"])),
        )
        if self.options["a.ultimatum.timing"] == "both" and self._ultimatums():
            self.phase, self.actor = "OPEN", self.dealer
        else:
            self._start_bidding()

    def _start_bidding(self) -> None:
        self.phase, self.actor = "BID", self._auction().opponents[0]

    def _above(self, rung: str | None) -> list[str]:
        return self.ladder if rung is None else self.ladder[self.ladder.index(rung) + 1 :]

    def _legal_calls(self) -> set[str]:
        auction = self._auction()
        calls = {"pass"} | {f"bid:{rung}" for rung in self._above(auction.rung)}
        match = self.options["a.auction.match"]
        if match != "off" and auction.holder is not None and self.actor is not None:
            order = auction.opponents
            if order.index(self.actor) < order.index(auction.holder):
                calls.add("match")
                if match == "same_value" and auction.call in EQUAL_VALUE:
                    calls.add(f"match:{EQUAL_VALUE[auction.call]}")
        return calls

    def _call(self, name: str) -> None:
        auction = self._auction()
        assert self.actor is not None
        kind, _, call = name.partition(":")
        if kind == "pass":
            auction.active.remove(self.actor)
        else:
            auction.offers += 1
            auction.holder = self.actor
            if call:
                auction.call = call
            if kind == "bid":
                auction.rung = call
        still_to_speak = auction.active - {auction.holder}
        if still_to_speak:
            at = auction.opponents.index(self.actor)
            order = auction.opponents[at + 1 :] + auction.opponents[: at + 1]
            self.actor = next(seat for seat in order if seat in still_to_speak)
        else:
            self._sell_if_binding_else_decide()

    def _sell_if_binding_else_decide(self) -> None:
        auction = self._auction()
        binding = self.options["a.auction.plus8_binding"] == "always"
        if auction.holder is not None and auction.call == self.top_plus and binding:
            self._sell(auction.holder, auction.call)
        else:
            self.phase, self.actor = "DECIDE", self.dealer

    def _legal_decisions(self) -> set[str]:
        auction = self._auction()
        decisions = {"refuse"} | {f"ultimatum:{rung}" for rung in self._ultimatums()}
        if auction.call is not None:
            decisions.add("accept")
            if auction.requests_left > 0:
                decisions |= {
                    f"negotiate:{rung}" for rung in self.ladder if worth(rung) > worth(auction.call)
                }
        if self._auction_failed():
            decisions.add("take_unplayed")
        return decisions

    def _auction_failed(self) -> bool:
        """Whether the auctioneer may take the deal unplayed (2.6)."""
        auction = self._auction()
        threshold = int(str(self.options["a.failed.threshold"]))
        if self.options["a.failed.criterion"] == "offer_count":
            return auction.offers < threshold
        if self.options["a.failed.criterion"] == "best_value":
            best = 0 if auction.rung is None else worth(auction.rung)
            return best < threshold
        return False

    def _respondents(self) -> list[int]:
        """Who would be asked to answer an ultimatum put now, in order."""
        auction = self._auction()
        if self.options["a.ultimatum.respondents"] == "all":
            return list(auction.opponents)
        if self.options["a.ultimatum.respondents"] == "active":
            return [seat for seat in auction.opponents if seat in auction.active]
        return [] if auction.holder is None else [auction.holder]

    def _ultimatums(self) -> list[str]:
        """The rungs an ultimatum may demand now."""
        if not self.options["a.ultimatum.enabled"] or not self._respondents():
            return []
        rungs = self._above(self._auction().rung)
        if self.options["a.ultimatum.demands"] == "eight_only":
            return [rung for rung in rungs if rung == self.top_plus]
        return rungs

    def _decide(self, name: str) -> None:
        auction = self._auction()
        kind, _, rung = name.partition(":")
        if kind == "open":
            self._start_bidding()
        elif kind == "accept":
            assert auction.holder is not None and auction.call is not None
            self._sell(auction.holder, auction.call)
        elif kind == "refuse":
            self._let_declare(self.dealer)
        elif kind == "negotiate":
            auction.requests_left -= 1
            auction.requested = rung
            self.phase, self.actor = "NEGOTIATE", auction.holder
        elif kind == "ultimatum":
            auction.ultimatum = rung
            auction.still_to_answer = self._respondents()
            self.phase, self.actor = "ULTIMATUM", auction.still_to_answer[0]
        else:
            mine, others = self.table.unplayed
            for seat in SEATS:
                tricks = mine if seat == self.dealer else others
                self.points[seat] += self.table.plus_unit * tricks
            self._finish_deal()

    def _answer_request(self, name: str) -> None:
        auction = self._auction()
        if name == "agree":
            auction.rung = auction.call = auction.requested
            self._sell_if_binding_else_decide()
        else:
            self.phase, self.actor = "DECIDE", self.dealer

    def _answer_ultimatum(self, name: str) -> None:
        auction = self._auction()
        assert auction.still_to_answer is not None and auction.ultimatum is not None
        seat = auction.still_to_answer.pop(0)
        if name == "accept":
            self._sell(seat, auction.ultimatum)
        elif auction.still_to_answer:
            self.actor = auction.still_to_answer[0]
        elif self.options["a.ultimatum.fallback"] == "free":
            self._let_declare(self.dealer)
        else:
            self.declarer = self.dealer
            self._declare("NEG")

    def _sell(self, buyer: int, call: str) -> None:
        self.buyer = buyer
        self._auction().call = call
        if call[0] == "-" and self.options["a.auction.bid_binds_deal"]:
            self.declarer = buyer
            self._declare("NEG")
        else:
            self._let_declare(buyer)

    def _let_declare(self, seat: int) -> None:
        self.declarer = seat
        self.phase, self.actor = "DECLARE", seat

    def _declarations(self) -> list[str]:
        what = list(SUITS)
        if self.options["a.allow_no_trump"]:
            what.append("NT")
        # A plus call that binds the deal leaves only positive deals to the buyer.
        if self.buyer is None or not self.options["a.auction.bid_binds_deal"]:
            what.append("NEG")
        return what

    def _declare(self, what: str) -> None:
        self.contract = "nulls" if what == "NEG" else "positive"
        self.trump = what if what in SUITS else None
        leader = {
            "dealer": self.dealer,
            "dealer_left": self.next_seat(self.dealer),
            "declarer": self.declarer,
        }[str(self.options["a.lead_positive"])]
        assert leader is not None
        self._start_play(leader)
