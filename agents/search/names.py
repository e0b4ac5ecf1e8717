"""Settings of the search agents, read from their names.

They stand apart from the kernels, so that a wrong name is told at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from agents.ids import NET, POLICY_IDS

MAX_WORLDS: Final = 10_000
MAX_ENDGAME: Final = 7
MAX_ITERATIONS: Final = 1_000_000

UNLIMITED: Final = 1 << 30
"""Depth of play-outs that a policy plays to the end."""

MAX_DEPTH: Final = 1000

NETWORK: Final = "network"
"""Name of the policy that is a network."""


class SettingError(ValueError):
    """A number or a value that a search does not take; the message says what it takes."""


@dataclass(frozen=True)
class PimcSettings:
    """Settings of flat Monte-Carlo.

    Attributes:
        name: the agent's name.
        worlds: worlds of a decision.
        policy: name of the policy that plays worlds out; a network where it is NETWORK.
        depth: decisions of a play-out that are the policy's, before ``rule`` takes over.
        trust: worlds that the scores of two cards, see ``race``, count as.
        caution: standard errors by which an action must lead the policy's own choice.
        weigh: worlds in PLAY are drawn in proportion to the likelihood of the play seen.
        early: decisions before PLAY are searched too; if not they are the policy's own.
        endgame: cards in hand from which on worlds are solved with open cards; 0: never.
        solver: ``paranoid`` or ``maxn``.
    """

    name: str
    worlds: int
    policy: str
    depth: int
    trust: float
    caution: float
    weigh: bool
    early: bool
    endgame: int
    solver: str

    @property
    def policy_id(self) -> int:
        """Id of the policy that plays worlds out."""
        return NET if self.policy == NETWORK else POLICY_IDS[self.policy]


@dataclass(frozen=True)
class IsmctsSettings:
    """Settings of information-set tree search.

    Attributes:
        name: the agent's name.
        iterations: worlds of a decision.
        exploration: weight of the confidence term.
        widen: visits of a node below the root from which on its mover looks for better actions
            than the policy's.
        trust: worlds that the scores of two cards, see ``race``, count as.
        caution: standard errors by which an action must lead the policy's own choice.
        weigh: worlds in PLAY are drawn in proportion to the likelihood of the play seen.
        early: decisions before PLAY are searched too; if not they are the policy's own.
        policy: name of the policy that plays worlds out; a network where it is NETWORK.
        depth: decisions of a play-out that are the policy's, before ``rule`` takes over.
    """

    name: str
    iterations: int
    exploration: float
    widen: int
    trust: float
    caution: float
    weigh: bool
    early: bool
    policy: str
    depth: int

    @property
    def policy_id(self) -> int:
        """Id of the policy that plays worlds out."""
        return NET if self.policy == NETWORK else POLICY_IDS[self.policy]


SearchSettings: TypeAlias = PimcSettings | IsmctsSettings

SEARCHES: Final[Mapping[str, tuple[str, ...]]] = {
    "pimc": ("endgame", "solver", "trust", "caution", "weigh", "phases", "policy"),
    "ismcts": ("exploration", "widen", "trust", "caution", "weigh", "phases", "policy"),
}
"""Keys of each search."""

DEFAULTS: Final[Mapping[str, str]] = {
    "trust": "12", "caution": "0.3", "weigh": "0", "phases": "all", "policy": "rule",
    "endgame": "0", "solver": "paranoid", "exploration": "2", "widen": "100",
}  # fmt: skip
"""What a key is where a name does not give it."""

NETWORK_DEFAULTS: Final[Mapping[str, str]] = {
    **DEFAULTS, "trust": "40", "weigh": "1", "phases": "play", "depth": "2"
}  # fmt: skip
"""The same with a network. Its own scores are worth more worlds; and its bids have met bids of many
kinds, where play-outs know one way to bid."""


def search_keys(name: str, *, network: bool) -> tuple[str, ...]:
    """Returns the keys of a search; with a network, which is its policy, ``depth`` is one."""
    keys = SEARCHES[name]
    return (*(key for key in keys if key != "policy"), "depth") if network else keys


def search_settings(
    text: str, name: str, number: str, options: Mapping[str, str], *, network: bool = False
) -> SearchSettings:
    """Returns the settings that the name of a search agent states.

    Args:
        text: the whole name.
        name: what kind of search, a key of ``SEARCHES``.
        number: what stands after the colon, or "".
        options: the ``key=value`` pairs; their keys are known to be those of ``search_keys``.
        network: a network plays the worlds out.

    Raises:
        SettingError: if a value is not allowed.
    """
    given = {**(NETWORK_DEFAULTS if network else DEFAULTS), **options}
    policy, depth = NETWORK, UNLIMITED
    if network:
        depth = _whole(given["depth"], "depth", 0, MAX_DEPTH)
    else:
        policy = _choice(given["policy"], "policy", tuple(POLICY_IDS))
    caution = _number(given["caution"], "caution", 0.0, 10.0)
    weigh = _choice(given["weigh"], "weigh", ("0", "1")) == "1"
    early = _choice(given["phases"], "phases", ("all", "play")) == "all"
    trust = _number(given["trust"], "trust", 0.0, 1000.0)
    if name == "ismcts":
        return IsmctsSettings(
            name=text.strip(),
            iterations=_whole(number or "1000", "number of iterations", 1, MAX_ITERATIONS),
            exploration=_number(given["exploration"], "exploration", 0.0, 100.0),
            widen=_whole(given["widen"], "widen", 1, MAX_ITERATIONS),
            trust=trust,
            caution=caution,
            weigh=weigh,
            early=early,
            policy=policy,
            depth=depth,
        )
    return PimcSettings(
        name=text.strip(),
        worlds=_whole(number or "20", "number of worlds", 1, MAX_WORLDS),
        policy=policy,
        depth=depth,
        trust=trust,
        caution=caution,
        weigh=weigh,
        early=early,
        endgame=_whole(given["endgame"], "endgame", 0, MAX_ENDGAME),
        solver=_choice(given["solver"], "solver", ("paranoid", "maxn")),
    )


def _whole(text: str, what: str, low: int, high: int) -> int:
    if not text.isdecimal() or not low <= int(text) <= high:
        raise SettingError(f"{what}: found {text!r}; allowed: {low}..{high}")
    return int(text)


def _number(text: str, what: str, low: float, high: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise SettingError(f"{what}: found {text!r}; allowed: {low:g} to {high:g}")
    return value


def _choice(text: str, what: str, allowed: tuple[str, ...]) -> str:
    if text not in allowed:
        raise SettingError(f"{what}: found {text!r}; allowed: {', '.join(allowed)}")
    return text
