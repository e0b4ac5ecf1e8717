"""Each variant as data: pack, direction, contracts, and what happens in which deal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tests.naive.cards import RANKS, SHORT_RANKS, Contract
from tests.naive.options import SYSTEMS, complete_options

Options = Mapping[str, object]

RUSSIAN_NAMES = ("tricks", "hearts", "boys", "girls", "king", "last2", "all")


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


@dataclass(frozen=True)
class Variant:
    """A match.

    `deals` says of each deal either the contract that is fixed in advance or how one is found:
    `auction` (2.4), `order` (3.3), `order_full_hand` (3.4), `order_any` (4), `choice` (5, 6.3).
    `dealer_leads`: in deals whose contract is fixed; else the seat after the dealer does.
    In a `choice` each player chooses `num_penalties` of `penalties`, different ones if `unique`,
    and `num_trumps` times `trump_contract`; the table at most `table_cap` times the same penalty.
    """

    ranks: str
    direction: int
    deals: tuple[str, ...]
    contracts: Mapping[str, Contract]
    dealer_leads: bool = True
    penalties: tuple[str, ...] = ()
    num_penalties: int = 0
    unique: bool = True
    trump_contract: str = ""
    num_trumps: int = 0
    table_cap: int | None = None
    dealer_chooses: bool = False
    cards_before_choice: int | None = None

    @property
    def num_deals(self) -> int:
        """Number of deals in the match."""
        return len(self.deals)


def _by_name(*contracts: Contract) -> dict[str, Contract]:
    return {contract.name: contract for contract in contracts}


# ---------------------------------------------------------------------------------------------
# A (2)


def table_of(options: Options) -> Table:
    """The figures for the pack and the table chosen."""
    return TABLES[int(str(options["a.pack"])), str(options["a.table32"])]


def _international(options: Options) -> Variant:
    table = table_of(options)
    force = options["a.no_king_force"]
    contracts = _by_name(
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
        deals=(*tuple(contracts)[:6], *["auction"] * 4),
        contracts=contracts,
        dealer_leads=options["a.lead_negative"] == "dealer",
    )


# ---------------------------------------------------------------------------------------------
# B and C (3, 4)


def _russian_contracts(options: Options) -> dict[str, Contract]:
    """The seven penalty contracts of 3.2 and their positive twins of 3.6."""
    boys = {"KJ2": {"man": 2}, "K4": {"any_king": 4}, "J4": {"jack": 4}}[str(options["b.boys"])]
    units = {
        "tricks": {"trick": 2},
        "hearts": {"heart": 2},
        "boys": boys,
        "girls": {"queen": 4},
        "king": {"king": 16},
        "last2": {"last2": 8},
    }
    units["all"] = {name: points for six in list(units.values()) for name, points in six.items()}
    contracts: dict[str, Contract] = {}
    for name in RUSSIAN_NAMES:
        king_is_forced = (name == "king" and options["b.king_force"]) or (
            name == "all" and options["b.eralash_force_king"]
        )
        negative = Contract(
            f"no_{name}",
            {unit: -points for unit, points in units[name].items()},
            lead="no_hearts" if name in ("hearts", "king", "all") else "free",
            void="force_king" if king_is_forced else "free",
        )
        positive = replace(negative, name=f"take_{name}", units=units[name])
        if options["b.positive_restrictions"] in ("lead_only", "none"):
            positive = replace(positive, void="free")
        if options["b.positive_restrictions"] == "none":
            positive = replace(positive, lead="free")
        contracts |= _by_name(negative, positive)
    return contracts


def _russian(options: Options) -> Variant:
    contracts = _russian_contracts(options)
    ordered = Contract(
        "ordered", {"trick": 3}, void="must_trump" if options["b.must_trump"] else "free"
    )
    contracts["ordered"] = ordered
    contracts["misere"] = replace(ordered, reversed_ranks=True)  # an ordered deal to everybody
    if options["b.stage2"] == "v1":
        stage_2 = ["order"] * 8
    elif options["b.stage2"] == "v2":
        order = "order_full_hand" if options["b.v2.order"] == "full_hand" else "order"
        stage_2 = [order] * 4 + ["take_all"]
    else:
        stage_2 = [f"take_{name}" for name in RUSSIAN_NAMES]
    return Variant(
        ranks=SHORT_RANKS,
        direction=+1,
        deals=(*[f"no_{name}" for name in RUSSIAN_NAMES], *stage_2),
        contracts=contracts,
        dealer_leads=False,
    )


def _russian_ordered(options: Options) -> Variant:
    contracts = _russian_contracts(options)
    return Variant(
        ranks=SHORT_RANKS,
        direction=+1,
        deals=("order_any",) * (4 * len(contracts)),
        contracts=contracts,
        dealer_leads=False,
    )


# ---------------------------------------------------------------------------------------------
# D and E (5, 6)


def _choice_contracts(
    options: Options, letter: str, points: Mapping[str, int]
) -> dict[str, Contract]:
    """Six penalties and koz, which systems D and E share but for the points."""
    hearts_lead = {"until_broken": "until_broken", "free": "free", "never": "no_hearts"}[
        str(options[f"{letter}.hearts_lead"])
    ]
    force = options[f"{letter}.force_penalty"]
    void = "free" if force == "none" else "force_penalty"
    duck = force == "discard_and_duck"
    return _by_name(
        Contract("kupa", {"heart": points["kupa"]}, lead=hearts_lead, void=void, duck=duck),
        Contract("el", {"trick": points["el"]}, void=void, duck=duck),
        Contract("erkek", {"man": points["erkek"]}, void=void, duck=duck),
        Contract("kiz", {"queen": points["kiz"]}, void=void, duck=duck),
        Contract("rifki", {"king": points["rifki"]}, lead=hearts_lead, void=void, duck=duck),
        Contract("soniki", {"last2": points["soniki"]}, void=void, duck=duck),
        Contract(
            "koz",
            {"trick": points["koz"]},
            void="must_trump",
            must_overtrump=bool(options[f"{letter}.must_overtrump"]),
        ),
    )


def _turkish(options: Options) -> Variant:
    contracts = _choice_contracts(
        options,
        "d",
        {
            "kupa": -25,
            "el": -25,
            "erkek": -40,
            "kiz": -80,
            "rifki": -320,
            "soniki": -160,
            "koz": 40,
        },
    )
    full = options["d.match"] == "full"
    return Variant(
        ranks=RANKS,
        direction=+1,
        deals=("choice",) * (40 if full else 20),
        contracts=contracts,
        penalties=tuple(name for name in contracts if name != "koz"),
        num_penalties=6 if full else 3,
        trump_contract="koz",
        num_trumps=4 if full else 2,
        table_cap=2 if options["d.global_cap"] == 2 else None,
    )


def _rifki(options: Options) -> Variant:
    contracts = _choice_contracts(
        options,
        "e",
        {
            "kupa": -30,
            "el": -50,
            "erkek": -60,
            "kiz": -100,
            "rifki": -320,
            "soniki": -180,
            "koz": 50,
        },
    )
    return Variant(
        ranks=RANKS,
        direction=-1,
        deals=("choice",) * 20,
        contracts=contracts,
        penalties=tuple(name for name in contracts if name != "koz"),
        num_penalties=3,
        unique=bool(options["e.per_player_unique"]),
        trump_contract="koz",
        num_trumps=2,
        table_cap=2,
        dealer_chooses=True,
    )


# ---------------------------------------------------------------------------------------------
# The tests' own


def _tiny_three(options: Options) -> Variant:
    return Variant(
        ranks=SHORT_RANKS,
        direction=+1,
        deals=("choice",) * 8,
        contracts=_by_name(
            Contract("low", {"trick": -2}, reversed_ranks=True),
            Contract("girls", {"queen": -4}, void="force_penalty", duck=True, reversed_ranks=True),
            Contract("suit", {"trick": 3}, void="must_trump", must_overtrump=True),
        ),
        penalties=("low", "girls"),
        num_penalties=1,
        trump_contract="suit",
        num_trumps=1,
        cards_before_choice=3,
    )


def _tiny_counter(options: Options) -> Variant:
    return Variant(
        ranks=SHORT_RANKS,
        direction=-1,
        deals=("choice",) * 12,
        contracts=_by_name(
            Contract("hearts", {"heart": -3}, lead="until_broken"),
            Contract("king", {"king": -16}, lead="king_only", void="force_king"),
            Contract("tricks", {"trick": -2}),
            Contract("koz", {"trick": 2}, void="must_trump"),
        ),
        penalties=("hearts", "king", "tricks"),
        num_penalties=2,
        trump_contract="koz",
        num_trumps=1,
        table_cap=3,
        dealer_chooses=True,
    )


def variant_of(name: str, options: Options) -> Variant:
    """The variant of that name; `options` are complete."""
    make = {
        "A": _international,
        "B": _russian,
        "C": _russian_ordered,
        "D": _turkish,
        "E": _rifki,
        "tiny_three": _tiny_three,
        "tiny_counter": _tiny_counter,
    }[SYSTEMS[name]]
    return make(options)


def is_short(name: str, options: Options) -> bool:
    """Whether the variant is played with 32 cards under these options."""
    return variant_of(name, complete_options(name, options)).ranks == SHORT_RANKS
