"""A training run as data: one whole TOML file, read strictly into frozen dataclasses.

Each field carries its sentence; ``to_toml`` writes a config back with the sentences as comments. A
run's budget and all its schedules are numbers of decisions, never of seconds.
"""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path
from typing import Any

from king_env.rules.catalogue import VariantError, load_variant
from king_env.schema import DocumentError, item, read, suggest

_SHARE: Any = {"low": 0.0, "high": 1.0}


class ConfigError(DocumentError):
    """A config that does not exist or is not allowed: file, field, what was found, what may be."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """The network."""

    width: int = item("units in each of the two hidden layers", 256, low=8, high=4096)
    canonical_suits: bool = item("sort the suits before the network sees them", True)
    rule_prior: float = item(
        "what a 64th of the point scale of the rule-based agent's own estimate adds to a logit; "
        "0: the network decides alone",
        1.0,
        low=0.0,
        high=100.0,
    )
    privileged: bool = item(
        "advantages come from a second network that sees all hands and is never released", False
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class DrawConfig:
    """Which deals are drawn."""

    mode: str = item(
        "deal: single deals, each for its own points; match: whole matches, with scores and quotas",
        "deal",
        choices=("deal", "match"),
    )
    rank_weight: float = item(
        "in matches: weight of the final ranks (+1.5, +0.5, -0.5, -1.5) beside the points",
        0.0,
        low=0.0,
        high=1000.0,
    )
    open_share: float = item(
        "share of single deals whose contract the schedule leaves open (auction, choice)",
        0.5,
        **_SHARE,
    )
    skip_share: float = item(
        "share of those that start at the first card, with a drawn contract", 0.5, **_SHARE
    )
    drawn_contracts: tuple[int, ...] = item(
        "weights of trump, no trump and minus deals when an auction is skipped",
        (9, 8, 3),
        low=0,
        high=100,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class CloneConfig:
    """The start: imitation of the rule-based agent, the value head included."""

    decisions: int = item("decisions to imitate, 0 = start from scratch", 260_000, low=0)
    most: int = item("go on up to here while the gate is not passed", 260_000, low=0)
    batch: int = item("decisions of one step", 256, low=16, high=65536)
    lr: float = item("learning rate at the start", 1e-3, low=1e-6, high=0.1)
    lr_end: float = item("learning rate at the end", 1e-4, low=0.0, high=0.1)
    value_coef: float = item("weight of the value loss", 0.5, low=0.0, high=10.0)
    temperature: float = item(
        "64ths of the point scale by which the agent's estimates of two cards differ where one is "
        "to be e times as likely; 0: only its choice counts",
        1.0,
        low=0.0,
        high=100.0,
    )
    sharpen: float = item(
        "factor on the network's own logits when cloning is done; above 1 chance plays less",
        1.0,
        low=0.1,
        high=10.0,
    )
    random_moves: float = item(
        "share of moves played at random on the way, so that rare positions occur", 0.03, **_SHARE
    )
    gate_lead: float = item("near agreement on leads that the gate asks for", 0.90, **_SHARE)
    gate_follow: float = item("near agreement when following suit", 0.95, **_SHARE)
    gate_discard: float = item("near agreement when void in the suit led", 0.95, **_SHARE)
    gate_ruff: float = item("share of the agent's winning ruffs that are found", 0.98, **_SHARE)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TeachConfig:
    """Search teaches the learner beside PPO."""

    share: float = item("share of the learner's decisions that search labels", 0.2, **_SHARE)
    worlds: int = item(
        "worlds in which every action is played out; 0: only the deal as it is",
        16,
        low=0,
        high=1024,
    )
    coef: float = item("weight of the expected lead, in point scales", 12.0, low=0.0, high=100.0)
    weight_before_play: float = item(
        "factor on decisions before the first card, whose leads are several times as large",
        0.25,
        low=0.0,
        high=1.0,
    )
    temperature: float = item(
        "what the logits of cards are divided by in the expected lead, so that cards far behind "
        "are heard of",
        1.0,
        low=0.1,
        high=100.0,
    )
    minibatch: int = item("decisions of one step", 1024, low=16)
    epochs: int = item(
        "passes of an iteration, each over as many labels as it made, the first over those",
        4,
        low=1,
        high=20,
    )
    keep: int = item(
        "iterations whose labels are kept to be learned from again", 1, low=1, high=10_000
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class TableConfig:
    """Who sits at the tables."""

    rule_share: float = item(
        "share of the decisions made at tables with three rule-based players", 0.5, **_SHARE
    )
    rule_until: float = item(
        "part of the budget after which all tables are self-play", 0.6, **_SHARE
    )
    snapshot_share: float = item(
        "share of the decisions made at tables with three copies of an earlier self", 0.0, **_SHARE
    )
    pool_size: int = item("how many earlier selves there are at most", 8, low=1, high=64)
    against: str = item("another agent in the place of the rule-based players", "rule")
    whole_team: bool = item(
        "in partnerships the learner takes both seats of a team at those tables", False
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class PPOConfig:
    """Proximal policy optimisation with masked actions."""

    decisions_per_iteration: int = item("decisions collected before an update", 40_000, low=64)
    minibatch: int = item("decisions of one step", 1024, low=16)
    epochs: int = item("times each decision is learned from", 2, low=1, high=20)
    lr: float = item("learning rate at the start", 1e-3, low=1e-6, high=0.1)
    lr_end: float = item("learning rate at the end", 1e-4, low=0.0, high=0.1)
    clip: float = item("bound on how far the ratio moves from 1", 0.2, low=0.01, high=1.0)
    gae_lambda: float = item("lambda of the advantage estimate", 0.95, **_SHARE)
    entropy: float = item("weight of the entropy bonus at the start", 0.01, low=0.0, high=1.0)
    entropy_end: float = item("weight of the entropy bonus at the end", 0.001, low=0.0, high=1.0)
    value_coef: float = item("weight of the value loss", 0.5, low=0.0, high=10.0)
    max_grad_norm: float = item("bound on the norm of the gradient", 0.5, low=0.01, high=100.0)
    target_kl: float = item("stop the epochs of an update above this divergence", 0.03, low=0.0)
    magnet: float = item(
        "weight of the divergence from the policy that PPO started with; falls to 0 by the end",
        0.0,
        low=0.0,
        high=10.0,
    )
    ema: float = item(
        "decay an iteration of the average of the weights, which is released; 0: the weights are",
        0.0,
        low=0.0,
        high=0.9999,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class OutputConfig:
    """What is written, and when."""

    checkpoint_every_s: float = item("seconds between checkpoints", 25.0, low=0.0, high=60.0)
    eval_every_decisions: int = item(
        "decisions between evaluations on the way, 0 = none", 1_000_000, low=0
    )
    tensorboard: bool = item("write TensorBoard event files too", False)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """A whole run."""

    variants: tuple[str, ...] = item("variants to learn, by name or path", ("international",))
    options: dict[str, Any] = item("options of the variants", {})
    seed: int = item("seed of weights, deals and draws", 1, low=0, high=2**63 - 1)
    workers: int = item("processes that learn together, one thread each", 2, low=1, high=64)
    shards: int = item(
        "parts in which a process plays the deals of an iteration; they are what actors are given",
        1,
        low=1,
        high=64,
    )
    total_decisions: int = item("budget: decisions learned from after cloning", 8_000_000, low=0)
    network: NetworkConfig = item("the network", NetworkConfig())
    draw: DrawConfig = item("which deals are drawn", DrawConfig())
    clone: CloneConfig = item("the start", CloneConfig())
    teach: TeachConfig = item("what search teaches", TeachConfig())
    tables: TableConfig = item("who sits at the tables", TableConfig())
    ppo: PPOConfig = item("the learner", PPOConfig())
    output: OutputConfig = item("what is written", OutputConfig())


def config_names() -> list[str]:
    """Returns the names of the configs that come with the suite."""
    return sorted({path.stem for folder in _folders() for path in folder.glob("*.toml")})


def _folders() -> list[Path]:
    """Returns where configs lie: in the installed package, or in a checkout."""
    package = Path(__file__).resolve().parent
    return [
        folder for folder in (package / "configs", package.parent / "configs") if folder.is_dir()
    ]


def find_config(name_or_path: str | Path) -> Path:
    """Returns the file of a config given by path or by the name of a shipped one.

    Raises:
        ConfigError: if there is none.
    """
    path = Path(name_or_path)
    if path.is_file():
        return path
    # ``configs/demo.toml`` also means the shipped file where there is no such path.
    shipped = path.parent.name in ("", "configs") and path.suffix in ("", ".toml")
    if shipped:
        for folder in _folders():
            if (folder / f"{path.stem}.toml").is_file():
                return folder / f"{path.stem}.toml"
    raise ConfigError(
        [f"config {str(name_or_path)!r}: no such file; {suggest(path.stem, config_names())}"]
    )


def load_config(name_or_path: str | Path) -> TrainConfig:
    """Reads and checks a config.

    Args:
        name_or_path: a TOML file, or the name of a shipped config.

    Raises:
        ConfigError: if it cannot be read or a value is not allowed; one line for each problem.
    """
    path = find_config(name_or_path)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError([f"config {path}: cannot be read: {reason}"]) from None
    except UnicodeDecodeError:
        raise ConfigError([f"config {path}: cannot be read: not a text file"]) from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([f"config {path}: not valid TOML: {error}"]) from None
    problems: list[str] = []
    config = read(TrainConfig, data, f"config {path}", problems)
    if config is None:
        raise ConfigError(problems)
    check_config(config, f"config {path}")
    return config


def check_config(config: TrainConfig, where: str = "config") -> None:
    """Checks what no single field can tell.

    Raises:
        ConfigError: if values contradict each other or a variant does not exist.
    """
    problems: list[str] = []
    if not config.variants:
        problems.append(f"{where}.variants: found none; allowed: one or more")
    for name in config.variants:
        try:
            load_variant(name, config.options)
        except VariantError as error:
            problems += [f"{where}.variants: {problem}" for problem in error.problems]
    drawn = config.draw.drawn_contracts
    if len(drawn) != 3 or sum(drawn) == 0:
        problems.append(
            f"{where}.draw.drawn_contracts: found {list(drawn)}; allowed: three weights, not all 0"
        )
    shares = config.tables.rule_share + config.tables.snapshot_share
    if shares > 1:
        problems.append(
            f"{where}.tables.snapshot_share: found {config.tables.snapshot_share}; "
            f"allowed: up to 1 - rule_share ({1 - config.tables.rule_share:g})"
        )
    if config.draw.rank_weight > 0 and config.draw.mode == "deal":
        problems.append(
            f"{where}.draw.rank_weight: found {config.draw.rank_weight:g}; "
            "allowed: 0 where mode is 'deal'"
        )
    if config.teach.keep > 1 and config.teach.epochs == 1:
        problems.append(
            f"{where}.teach.keep: found {config.teach.keep}; allowed: 1 where epochs is 1: the "
            "labels of earlier iterations are learned from in further passes"
        )
    if config.clone.most < config.clone.decisions:
        problems.append(
            f"{where}.clone.most: found {config.clone.most}; "
            f"allowed: clone.decisions ({config.clone.decisions}) and more"
        )
    if config.ppo.minibatch > config.ppo.decisions_per_iteration:
        problems.append(
            f"{where}.ppo.minibatch: found {config.ppo.minibatch}; "
            f"allowed: up to decisions_per_iteration ({config.ppo.decisions_per_iteration})"
        )
    if problems:
        raise ConfigError(problems)


def to_toml(config: TrainConfig) -> str:
    """Returns a config as a whole TOML file, each field under its sentence."""
    lines: list[str] = []
    tables: list[str] = []
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value) or isinstance(value, dict):
            tables += ["", f"# {_sentence(field)}", f"[{field.name}]"]
            tables += _table_lines(value)
        else:
            lines += [f"# {_sentence(field)}", f"{field.name} = {_toml_value(value)}"]
    return "\n".join(lines + tables) + "\n"


def _table_lines(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [f"{_toml_value(str(key))} = {_toml_value(entry)}" for key, entry in value.items()]
    lines = []
    for field in dataclasses.fields(value):
        lines.append(f"# {_sentence(field)}")
        lines.append(f"{field.name} = {_toml_value(getattr(value, field.name))}")
    return lines


def _sentence(field: dataclasses.Field[Any]) -> str:
    return str(field.metadata["doc"])


def _toml_value(value: Any) -> str:
    """Returns a plain value as TOML text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml_value(entry) for entry in value) + "]"
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def as_data(config: TrainConfig) -> dict[str, Any]:
    """Returns a config as plain data, as checkpoints carry it."""
    return dataclasses.asdict(config)
