"""Agents by name: ``NAME[:N][,key=value...]``, paths of networks, classes and programs.

A checkpoint, a run folder, ``NETWORK+pimc:W``, ``module:Class``, or
``exec:COMMAND[,limit=SECONDS]``.

Other distributions add names through the entry-point group ``king_env.agents``: an entry point
called ``NAME`` loads a class or function that makes the agent. It is called with ``seed`` if it
takes one, with ``number`` (the N) and with the ``key=value`` pairs, whose values are text.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Final, cast

from agents.ids import POLICY_IDS, RELEASED
from agents.search.names import SEARCHES, SettingError, search_keys, search_settings
from king_env.schema import suggest

if TYPE_CHECKING:  # what makes an agent is imported when one is made: a wrong name is told at once
    from agents.neural.policy import NeuralPolicy
    from king_env.policy import Policy

ENTRY_POINT_GROUP: Final = "king_env.agents"

NETWORKS: Final = f"{', '.join(RELEASED)}, checkpoint:PATH, a run folder, a checkpoint file"
"""What a network may be called."""

FORMS: Final = (
    "checkpoint:PATH, a run folder, a checkpoint file, NETWORK+pimc:W, module:Class, exec:COMMAND"
)

_WITH_SEARCH: Final = re.compile(rf"(.+)\+({'|'.join(SEARCHES)})(?::(.*))?")
_MODULE_CLASS: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


class AgentError(ValueError):
    """A name that makes no agent."""


@dataclass(frozen=True)
class AgentName:
    """A name taken apart.

    Attributes:
        text: the whole name as given.
        name: what stands before ``:`` and ``,``; for a path or a class, all of that.
        argument: what stands after the first ``:``, or "".
        options: the ``key=value`` pairs.
    """

    text: str
    name: str
    argument: str
    options: dict[str, str]


def parse_name(text: str) -> AgentName:
    """Takes a name apart.

    Raises:
        AgentError: if a part after a comma is not ``key=value``, or a key comes twice.
    """
    head, *rest = text.strip().split(",")
    options: dict[str, str] = {}
    for part in rest:
        key, equals, value = part.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise AgentError(f"agent {text!r}: {part!r} is not of the form key=value")
        if key.strip() in options:
            raise AgentError(f"agent {text!r}: key {key.strip()!r} is given twice")
        options[key.strip()] = value.strip()
    name, _, argument = head.partition(":")
    if not name:
        raise AgentError(f"agent {text!r}: no name; {suggest('', agent_names())}, {FORMS}")
    return AgentName(text, name, argument, options)


def _foreign_entry_points() -> dict[str, EntryPoint]:
    """Returns the entry points of other distributions by name."""
    found = entry_points(group=ENTRY_POINT_GROUP)
    return {entry.name: entry for entry in found if not entry.value.startswith("agents.")}


def agent_names() -> list[str]:
    """Returns the names that need no path: ours, then those of other distributions."""
    own = [*POLICY_IDS, *SEARCHES, *RELEASED]
    return [*own, *sorted(set(_foreign_entry_points()) - set(own))]


@dataclass(frozen=True)
class NetworkSearch:
    """``NETWORK+SEARCH:N`` taken apart.

    Attributes:
        network: name of the network.
        search: name of the search.
        number: what stands after the search's colon, or "".
    """

    network: str
    search: str
    number: str


def network_search(parsed: AgentName) -> NetworkSearch | None:
    """Takes ``NETWORK+SEARCH:N`` apart; None where a name is not of that form."""
    head = parsed.text.strip().split(",")[0]
    found = _WITH_SEARCH.fullmatch(head)
    if found is None or parsed.name == "exec" or os.path.exists(network_path(head) or head):
        return None
    return NetworkSearch(found[1], found[2], found[3] or "")


def network_path(head: str) -> str | None:
    """Returns the path of ``checkpoint:PATH``, or None."""
    prefix, colon, path = head.partition(":")
    return path if prefix == "checkpoint" and colon else None


def policy_id(name: str) -> int | None:
    """Returns the id of a compiled policy, or None where the agent is not a compiled one."""
    return POLICY_IDS.get(name)


def make_agent(name: str, *, seed: int = 0) -> Policy:
    """Returns the agent called ``name``.

    Args:
        name: ``random``, ``greedy``, ``rule``, ``rule@1`` (frozen); ``pimc:W`` (W worlds),
            ``ismcts:N`` (N iterations), both with keys of their own; ``net``, ``net@1``, the
            network that ships; ``checkpoint:PATH``, a run folder or a checkpoint file (with
            ``,sample=1`` a network draws from its distribution); ``NETWORK+pimc:W``, search that
            starts from such a network; ``module:Class``;
            ``exec:COMMAND``, a program that speaks the lines of ``agents.process`` (with
            ``,limit=SECONDS`` for a decision, ``,start=SECONDS``, ``,observation=1``; no commas in
            the command); or a name of another distribution.
        seed: for agents that draw by themselves.

    Raises:
        AgentError: if there is no such agent, naming what is allowed.
    """
    parsed = parse_name(name)
    if parsed.name in POLICY_IDS:
        _refuse_argument(parsed)
        _check_keys(parsed, ())
        from agents.base import CompiledAgent

        return CompiledAgent(parsed.name, POLICY_IDS[parsed.name], seed)
    if parsed.name in SEARCHES:
        return _make_search(parsed)
    combined = network_search(parsed)
    if combined is not None:
        return _make_network_search(parsed, combined)
    if parsed.name in RELEASED:
        _refuse_argument(parsed)
    if parsed.name in (*RELEASED, "checkpoint"):
        return _make_network(parsed, name.strip().split(",")[0])
    if parsed.name == "exec":
        return _start_process(parsed)
    foreign = _foreign_entry_points()
    if parsed.name in foreign:
        return _make_foreign(parsed, foreign[parsed.name], seed)
    head = name.strip().split(",")[0]
    if os.path.exists(head):
        return _make_network(parsed, head)
    if _MODULE_CLASS.fullmatch(head):
        agent = _make_class(parsed, seed)
        if agent is not None:
            return agent
    _refuse_version(parsed)
    allowed = f"{suggest(parsed.name, agent_names())}, {FORMS}"
    raise AgentError(f"agent {name!r}: no such agent; {allowed}")


def _refuse_argument(parsed: AgentName) -> None:
    if parsed.argument or ":" in parsed.text.split(",")[0]:
        raise AgentError(
            f"agent {parsed.text!r}: {parsed.name} takes nothing after a colon; "
            f"allowed: {parsed.name}"
        )


def _refuse_version(parsed: AgentName) -> None:
    """Refuses a version that one of our agents does not have: ``rule@2``."""
    base, at, version = parsed.name.partition("@")
    if at and base in (*POLICY_IDS, *SEARCHES, *RELEASED):
        allowed = [name for name in agent_names() if name.partition("@")[0] == base]
        raise AgentError(
            f"agent {parsed.text!r}: {base} has no version {version!r}; "
            f"allowed: {', '.join(allowed)}"
        )


def _check_keys(parsed: AgentName, allowed: tuple[str, ...]) -> None:
    for key in parsed.options:
        if key not in allowed:
            options = suggest(key, allowed) if allowed else "it has none"
            raise AgentError(f"agent {parsed.text!r}: unknown key {key!r}; {options}")


def _make_search(parsed: AgentName) -> Policy:
    """Returns a search agent; its module is imported only once the name has been found good."""
    _check_keys(parsed, SEARCHES[parsed.name])
    try:
        settings = search_settings(parsed.text, parsed.name, parsed.argument, parsed.options)
    except SettingError as error:
        raise AgentError(f"agent {parsed.text!r}: {error}") from None
    from agents.search.policies import make_search

    return make_search(settings)


def _make_network_search(parsed: AgentName, combined: NetworkSearch) -> Policy:
    """Returns a search that starts from a network."""
    _check_keys(parsed, search_keys(combined.search, network=True))
    try:
        settings = search_settings(
            parsed.text, combined.search, combined.number, parsed.options, network=True
        )
    except SettingError as error:
        raise AgentError(f"agent {parsed.text!r}: {error}") from None
    network = _load_network(parsed, combined.network, sample=False)
    from agents.search.policies import make_search

    return make_search(settings, network.net)


def _make_network(parsed: AgentName, head: str) -> Policy:
    """Returns a network that plays by itself."""
    _check_keys(parsed, ("sample",))
    sample = parsed.options.get("sample", "0")
    if sample not in ("0", "1"):
        raise AgentError(f"agent {parsed.text!r}: sample: found {sample!r}; allowed: 0, 1")
    return _load_network(parsed, head, sample=sample == "1")


def _load_network(parsed: AgentName, head: str, *, sample: bool) -> NeuralPolicy:
    """Returns the network called ``head``; what loads it is imported only here."""
    try:
        if head in RELEASED:
            from agents.pretrained import load_released

            return load_released(head, sample=sample)
        path = network_path(head)
        if path == "":
            raise AgentError(f"agent {parsed.text!r}: expected checkpoint:PATH, found no path")
        if path is None and not os.path.exists(head):
            raise AgentError(f"agent {parsed.text!r}: {head!r} is no network; allowed: {NETWORKS}")
        path = path or head
        if not os.path.exists(path):
            raise AgentError(
                f"agent {parsed.text!r}: {path}: no such file or folder; expected a run folder or "
                "a checkpoint file"
            )
        from agents.neural.policy import load_policy

        return load_policy(path, sample=sample)
    except ModuleNotFoundError as error:
        raise AgentError(
            f"agent {parsed.text!r}: networks cannot be loaded here: {error}"
        ) from error


def _start_process(parsed: AgentName) -> Policy:
    """Returns an agent in a process of its own, which starts when it is first asked."""
    _check_keys(parsed, ("limit", "start", "observation"))
    seconds: dict[str, float] = {}
    for key in ("limit", "start"):
        if key in parsed.options:
            try:
                seconds[f"{key}_s"] = float(parsed.options[key])
            except ValueError:
                seconds[f"{key}_s"] = 0.0
            if not 0 < seconds[f"{key}_s"] <= 3600:
                raise AgentError(
                    f"agent {parsed.text!r}: {key}: found {parsed.options[key]!r}; "
                    "allowed: seconds, more than 0 and up to 3600"
                )
    observation = parsed.options.get("observation", "0")
    if observation not in ("0", "1"):
        raise AgentError(
            f"agent {parsed.text!r}: observation: found {observation!r}; allowed: 0, 1"
        )
    from agents.process import ProcessAgent

    try:
        return ProcessAgent(
            parsed.argument, name=parsed.text, observation=observation == "1", **seconds
        )
    except ValueError as error:
        raise AgentError(f"agent {parsed.text!r}: {error}") from None


def _make_foreign(parsed: AgentName, entry: EntryPoint, seed: int) -> Policy:
    try:
        factory = entry.load()
    except Exception as error:  # whatever somebody else's code may raise
        raise AgentError(
            f"agent {parsed.text!r}: entry point {entry.value} cannot be loaded: {_told(error)}"
        ) from error
    given: dict[str, Any] = dict(parsed.options)
    if parsed.argument:
        if not parsed.argument.isdecimal():
            raise AgentError(
                f"agent {parsed.text!r}: found {parsed.argument!r} after the colon; "
                "allowed: a whole number"
            )
        given["number"] = int(parsed.argument)
    return _call(parsed, factory, given, seed)


def _make_class(parsed: AgentName, seed: int) -> Policy | None:
    """Returns an instance of ``module:Class``; None where there is no such module."""
    try:
        module = importlib.import_module(parsed.name)
    except ModuleNotFoundError as error:
        if error.name is not None and parsed.name.split(".")[0] == error.name:
            return None
        raise AgentError(
            f"agent {parsed.text!r}: module {parsed.name!r} cannot be imported: {error}"
        ) from error
    except Exception as error:  # whatever somebody else's code may raise
        raise AgentError(
            f"agent {parsed.text!r}: module {parsed.name!r} cannot be imported: {_told(error)}"
        ) from error
    factory = getattr(module, parsed.argument, None)
    if factory is None:
        public = [key for key in vars(module) if not key.startswith("_")]
        raise AgentError(
            f"agent {parsed.text!r}: module {parsed.name!r} has no {parsed.argument!r}; "
            f"{suggest(parsed.argument, public)}"
        )
    return _call(parsed, factory, dict(parsed.options), seed)


def _told(error: Exception) -> str:
    """Returns the kind of an error and what it says."""
    return f"{type(error).__name__}: {error}"


def _call(parsed: AgentName, factory: Any, given: dict[str, Any], seed: int) -> Policy:
    """Calls a class or function with what it takes of what is given."""
    if not callable(factory):
        raise AgentError(f"agent {parsed.text!r}: expected a class or function, found {factory!r}")
    try:
        signature = inspect.signature(factory)
    except ValueError:  # some built-in functions have none
        signature = inspect.Signature()
    parameters = signature.parameters
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    for key in given:
        if key not in parameters and not takes_any:
            what = "number after the colon" if key == "number" else f"key {key!r}"
            allowed = [p for p in parameters if p != "seed"]
            hint = suggest(key, allowed) if allowed else "it has none"
            raise AgentError(f"agent {parsed.text!r}: unknown {what}; {hint}")
    if "seed" in parameters or takes_any:
        given["seed"] = seed
    try:
        signature.bind(**given)
    except TypeError as error:
        raise AgentError(f"agent {parsed.text!r}: {error}") from None
    try:
        agent = factory(**given)
    except Exception as error:  # whatever somebody else's code may raise
        raise AgentError(f"agent {parsed.text!r}: cannot be made: {_told(error)}") from error
    if not (
        callable(getattr(agent, "act", None)) and isinstance(getattr(agent, "name", None), str)
    ):
        raise AgentError(
            f"agent {parsed.text!r}: {parsed.argument or parsed.name} is no agent; "
            "expected a name and act(view, rng)"
        )
    return cast("Policy", agent)
