"""A variant of King as frozen, validated data.

A variant is made of contracts (units, lead, void and trump rules), a schedule of deals and the
phases in which contracts are chosen. Named options change places of this data; nothing here or
in the engine asks which variant it is.

Source: the names of options and rules are those of the rule books; each variant file cites its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from king_env.schema import item

LEAD_RULES: Final = ("free", "no_hearts", "until_broken", "king_only")
VOID_RULES: Final = ("free", "must_trump", "force_king", "force_penalty")
TRUMP_RULES: Final = ("none", "declared", "last_card")
RANK_ORDERS: Final = ("normal", "reversed")
DECISIONS: Final = ("none", "auction", "choose", "order")
LEADERS: Final = ("dealer", "next", "declarer")
UNITS: Final = ("heart", "queen", "man", "king_of_hearts")
"""Units that lie on cards; tricks, last tricks and the constant are counted apart."""

LADDER: Final = (1, 2, 3, -1, 4, 5, 6, -2, 7, 8)
"""Calls of the auction by rung: plus N as N, minus N as -N."""

MAX_CONTRACTS: Final = 24
MAX_DEALS: Final = 64
MAX_GROUPS: Final = 2
NUM_SLOTS: Final = 32

_POINTS: Any = {"low": -2000, "high": 2000}


@dataclass(frozen=True, kw_only=True)
class ContractSpec:
    """What a deal counts and what may be played in it."""

    id: str = item("name of the contract in records, such as no_tricks")
    title: str = item("name of the contract for people", "")
    record: str = item("name in records, where several contracts share one; else the id", "")
    trick: int = item("points for each trick", 0, **_POINTS)
    heart: int = item("points for each heart", 0, **_POINTS)
    queen: int = item("points for each queen", 0, **_POINTS)
    man: int = item("points for each man (king or jack, see men)", 0, **_POINTS)
    king_of_hearts: int = item("points for the king of hearts", 0, **_POINTS)
    last: int = item("points for each of the last two tricks", 0, **_POINTS)
    constant: int = item("points for everybody with the last action of the deal", 0, **_POINTS)
    men: str = item("ranks that count as men", "KJ", choices=("KJ", "K", "J"))
    lead: str = item("what may be led", "free", choices=LEAD_RULES)
    void: str = item("what a player void in the led suit must play", "free", choices=VOID_RULES)
    duck: bool = item("a penalty card below the best card of the led suit must be played", False)
    overtrump: bool = item("with must_trump: higher trumps must be played", False)
    follow_king: bool = item("the king of hearts must be played when another leads hearts", False)
    trump: str = item("where the trump suit comes from; last_card: the declarer's last card dealt, "
                      "shown to all", "none", choices=TRUMP_RULES)  # fmt: skip
    ranks: str = item("rank order of the deal", "normal", choices=RANK_ORDERS)
    group: str = item("quota group of the contract, where players choose", "")
    per_player: int = item("times one player may choose it, 0 = no limit", 0, low=0, high=16)
    per_table: int = item("times it may be chosen in a match, 0 = no limit", 0, low=0, high=64)
    slot: int = item("action slot of the contract; a trump contract has four from here", -1,
                     low=-1, high=NUM_SLOTS - 1)  # fmt: skip

    @property
    def record_name(self) -> str:
        """Name of the contract in records."""
        return self.record or self.id


@dataclass(frozen=True, kw_only=True)
class DealSpec:
    """One line of the schedule: how a deal, or several in a row, are set up."""

    contract: str = item("the contract, where it is fixed", "")
    decision: str = item("how the contract is found", "none", choices=DECISIONS)
    times: int = item("deals in a row that are set up like this; 0 = the line is left out", 1,
                      low=0, high=MAX_DEALS)  # fmt: skip
    leader: str = item("who leads first", "dealer", choices=LEADERS)
    chooser: str = item("who chooses, orders or sells that right", "dealer",
                         choices=("dealer", "next"))  # fmt: skip
    first_cards: int = item("cards dealt before the decision, 0 = all", 0, low=0, high=12)


@dataclass(frozen=True, kw_only=True)
class GroupSpec:
    """A group of contracts that share a quota."""

    id: str = item("name of the group")
    per_player: int = item("choices each player makes from the group", low=1, high=16)


@dataclass(frozen=True, kw_only=True)
class ChoiceSpec:
    """Free choice under quotas."""

    verb: str = item(
        "first part of the action names, such as contract in contract:kupa", "contract"
    )
    phase: str = item("name of the phase", "CHOOSE", choices=("CHOOSE", "ORDER"))
    group: tuple[GroupSpec, ...] = item("the quota groups")


@dataclass(frozen=True, kw_only=True)
class AuctionSpec:
    """The auction for the right to declare, with its settlements."""

    plus: str = item("contract of a plus deal")
    minus: str = item("contract of a minus deal")
    plus_unit: int = item("points that one plus of a call is worth", 25, low=1, high=500)
    minus_unit: int = item("points that one minus of a call is worth", 75, low=1, high=500)
    max_plus: int = item("highest plus call; a minus counts three", 8, low=1, high=8)
    allow_no_trump: bool = item("no trump may be declared", True)
    match: str = item("what an earlier bidder may match", "same_call",
                      choices=("same_call", "same_value", "off"))  # fmt: skip
    plus8_binding: str = item("when the top plus sells without a decision", "always",
                              choices=("always", "ultimatum_only"))  # fmt: skip
    bid_binds_deal: bool = item("a plus call means a plus deal, a minus call a minus deal", True)
    max_requests: int = item("negotiations the auctioneer may ask for", 1, low=0, high=3)
    ultimatum: bool = item("the auctioneer may put an ultimatum", True)
    ultimatum_timing: str = item("when an ultimatum may be put", "closing",
                                 choices=("closing", "both"))  # fmt: skip
    ultimatum_demands: str = item("what an ultimatum may demand", "any_higher",
                                  choices=("any_higher", "eight_only"))  # fmt: skip
    ultimatum_respondents: str = item("who answers an ultimatum", "all",
                                      choices=("all", "active", "holder"))  # fmt: skip
    ultimatum_fallback: str = item("what follows when all reject", "negative",
                                   choices=("negative", "free"))  # fmt: skip
    plus_settlement: str = item("what the buyer pays after a plus call", "transfer",
                                choices=("transfer", "transfer_capped"))  # fmt: skip
    minus_settlement: str = item("what the buyer pays after a minus call", "absorb_capped",
                                 choices=("absorb_capped", "fixed_transfer"))  # fmt: skip
    failed_criterion: str = item("what makes an auction fail", "offer_count",
                                 choices=("offer_count", "best_value", "never"))  # fmt: skip
    failed_threshold: int = item("the auction failed below this", 3, low=1, high=8)
    unplayed: tuple[int, ...] = item("tricks counted for the auctioneer and for each other seat",
                                     (4, 3), low=0, high=13)  # fmt: skip
    share: tuple[int, ...] = item("weights of trump, no trump and minus deals when decisions are "
                                  "skipped (start='play')", (2, 1, 1), low=0, high=100)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class OrderSpec:
    """Ordering a deal, often on its first cards, which another may buy for tricks.

    A contract that is not named cannot be ordered.
    """

    suits: str = item("contract of an ordered trump suit", "")
    no_trump: str = item("contract of the order NT", "")
    last: str = item("contract of the order LAST, which takes its trump from the last card", "")
    misere: str = item("contract of the order MISERE", "")
    write: int = item("tricks that WRITE2 writes to everybody, without play; 0 = not on offer", 0,
                      low=0, high=13)  # fmt: skip
    unit: int = item("points of one trick written or paid", 1, low=1, high=500)
    buying: str = item("when the others may bid tricks for the right to order", "off",
                       choices=("off", "after_order", "before_order"))  # fmt: skip
    max_bid: int = item("most tricks that may be bid", 8, low=1, high=8)
    seller_may_refuse: bool = item("the orderer may refuse the best bid", True)
    payment: str = item("what the buyer pays: his bid, or at most the tricks he took", "full",
                        choices=("full", "tricks_taken"))  # fmt: skip
    share: tuple[int, ...] = item("weights of suit, NT, LAST and MISERE when decisions are skipped "
                                  "(start='play')", (4, 1, 1, 1), low=0, high=100)  # fmt: skip

    def contracts(self) -> dict[str, str]:
        """Returns the contract of each order that is played, by the name of the order."""
        suits = dict.fromkeys("SHDC", self.suits)
        orders = suits | {"NT": self.no_trump, "LAST": self.last, "MISERE": self.misere}
        return {order: contract for order, contract in orders.items() if contract}


@dataclass(frozen=True, kw_only=True)
class PhasesSpec:
    """The phases in which a contract is found."""

    auction: AuctionSpec | None = item("the auction", None)
    choose: ChoiceSpec | None = item("free choice", None)
    order: OrderSpec | None = item("ordering and buying", None)


@dataclass(frozen=True, kw_only=True)
class OptionSpec:
    """A named switch of a variant: its values and what each changes in the data."""

    name: str = item("name of the option, such as a.must_trump")
    doc: str = item("one sentence: what it decides")
    values: tuple[int | str | bool, ...] = item("allowed values")
    default: int | str | bool = item("value when nothing is said")
    set: tuple[str, ...] = item("places that receive the value itself", ())
    patch: dict[str, dict[str, Any]] = item("for a value: places and what they become", {})
    requires: dict[str, dict[str, Any]] = item("for a value: values other options must have", {})
    when: dict[str, tuple[Any, ...]] = item("other options and values it needs to have an effect",
                                            {})  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class VariantSpec:
    """A whole variant, options applied."""

    id: str = item("name of the variant")
    title: str = item("name for people")
    summary: str = item("one line for lists")
    source: str = item("where its rules come from")
    pack: int = item("cards in the pack", 52, choices=(52, 32))
    direction: str = item("direction of dealing and play", "clockwise",
                          choices=("clockwise", "counterclockwise"))  # fmt: skip
    first_dealer: int | str = item("who deals first", "lot", choices=("lot", 0, 1, 2, 3))
    early_end: str = item("whether a deal ends when its units are taken", "never",
                          choices=("never", "auto"))  # fmt: skip
    partnership: bool = item("seats 0 and 2 play seats 1 and 3; results go by team", False)
    contract: tuple[ContractSpec, ...] = item("the contracts")
    schedule: tuple[DealSpec, ...] = item("the deals of a match, in order")
    phases: PhasesSpec = item("how contracts are found", PhasesSpec())
    option: tuple[OptionSpec, ...] = item("the switches of the variant", ())
    parent: str = item("the variant this one differs from", "")

    @property
    def hand_size(self) -> int:
        """Cards in a hand, and tricks in a deal."""
        return self.pack // 4

    @property
    def step(self) -> int:
        """+1 for clockwise, -1 for counter-clockwise (seats mod 4)."""
        return 1 if self.direction == "clockwise" else -1

    @property
    def deals(self) -> tuple[DealSpec, ...]:
        """The schedule with one entry for each deal."""
        return tuple(deal for deal in self.schedule for _ in range(deal.times))

    def contract_index(self, contract: str) -> int:
        """Returns the index of a contract id."""
        return [entry.id for entry in self.contract].index(contract)

    def slot_names(self) -> dict[int, str]:
        """Returns the action name of every contract slot in use."""
        names: dict[int, str] = {}
        if self.phases.choose is None:
            return names
        for contract in self.contract:
            if contract.slot < 0:
                continue
            name = f"{self.phases.choose.verb}:{contract.id}"
            if contract.trump == "declared":
                names |= {contract.slot + suit: f"{name}:{'SHDC'[suit]}" for suit in range(4)}
            else:
                names[contract.slot] = name
        return names
