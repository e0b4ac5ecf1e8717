"""Settings of the search agents, read from their names; apart from the kernels, so that a wrong
name is told at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agents.ids import POLICY_IDS

MAX_WORLDS: Final = 10_000
MAX_ENDGAME: Final = 7
MAX_ITERATIONS: Final = 1_000_000


class SettingError(ValueError):
    """A number or a value that a search does not take; the message says what it takes."""


@dataclass(frozen=True)
class PimcSettings:
    """Settings of flat Monte-Carlo.

    Attributes:
        name: the agent's name.
        worlds: worlds of a decision.
        policy: name of the policy that plays worlds out.
    """

    name: str
    worlds: int = 20
    policy: str = "rule"
    prior: float = 0.0
    caution: float = 0.0

    @property
    def policy_id(self) -> int:
        """Id of the policy that plays worlds out."""
        return POLICY_IDS[self.policy]


SEARCHES: Final[Mapping[str, tuple[str, ...]]] = {"pimc": ("policy", "prior", "caution")}
"""Keys of each search."""


def pimc_settings(name: str, number: str, options: Mapping[str, str]) -> PimcSettings:
    """Returns the settings that a name states.

    Raises:
        SettingError: if a value is not allowed.
    """
    return PimcSettings(
        name=name,
        worlds=_whole(number or "20", "number of worlds", 1, MAX_WORLDS),
        policy=_choice(options.get("policy", "rule"), "policy", tuple(POLICY_IDS)),
        prior=float(options.get("prior", "0")),
        caution=float(options.get("caution", "0")),
    )


def search_settings(
    text: str, name: str, number: str, options: Mapping[str, str]
) -> PimcSettings:
    """Returns the settings that the name of a search agent states.

    Args:
        text: the whole name.
        name: what kind of search, a key of ``SEARCHES``.
        number: what stands after the colon, or "".
        options: the ``key=value`` pairs; their keys are known to be allowed.

    Raises:
        SettingError: if a value is not allowed.
    """
    return pimc_settings(text.strip(), number, options)


def _whole(text: str, what: str, low: int, high: int) -> int:
    if not text.isdecimal() or not low <= int(text) <= high:
        raise SettingError(f"{what}: found {text!r}; allowed: {low}..{high}")
    return int(text)


def _choice(text: str, what: str, allowed: tuple[str, ...]) -> str:
    if text not in allowed:
        raise SettingError(f"{what}: found {text!r}; allowed: {', '.join(allowed)}")
    return text
