"""``king``: plays, records, trains, evaluates and measures; see ``COMMANDS``.

The only file that knows everything. Each command imports what it needs when it runs: listing
variants, reading rules and refusing bad input load neither numba nor torch.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from agents.ids import RELEASED
from king_env.rules.catalogue import Variant, load_variant, variant_names
from train.folders import free_folder, only_one

if TYPE_CHECKING:
    from king_env.policy import Policy
    from train.config import TrainConfig
    from train.evaluation.leaderboard import Board, Cell

USAGE = 2
INTERRUPTED = 130

Options = Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="NAME=VALUE")]
Number = Annotated[int | None, tyro.conf.arg(metavar="N")]
Text = Annotated[str | None, tyro.conf.arg(metavar="NAME")]
File = Annotated[Path, tyro.conf.arg(metavar="FILE")]
Folder = Annotated[Path | None, tyro.conf.arg(metavar="PATH")]
AgentText = Annotated[str, tyro.conf.arg(metavar="AGENT")]
VariantText = Annotated[str, tyro.conf.arg(metavar="VARIANT")]


class InputError(ValueError):
    """Bad input that only the command line can have."""


@dataclass(kw_only=True)
class WithVariant:
    """Options of every command that plays."""

    variant: VariantText = "international"
    """A shipped variant, see `king variants`, or the path of a variant file."""

    option: Options = ()
    """An option of the variant, see `king rules VARIANT`; repeatable."""

    def load(self) -> Variant:
        """Returns the variant with its options."""
        return load_variant(self.variant, read_options(self.option))


# ---------------------------------------------------------------- what is there


@dataclass
class Variants:
    """List the variants that can be played."""

    def run(self) -> None:
        """Prints a line for each shipped variant."""
        width = max(len(name) for name in variant_names())
        for name in variant_names():
            print(f"{name:<{width}}  {load_variant(name).spec.summary}")


@dataclass
class Rules:
    """Print the rules of a variant and its options."""

    variant: tyro.conf.Positional[VariantText]
    """A shipped variant, or the path of a variant file."""

    option: Options = ()
    """An option of the variant; repeatable."""

    def run(self) -> None:
        """Prints the rule sheet."""
        variant = load_variant(self.variant, read_options(self.option))
        from king_env.rules.sheet import rule_sheet

        print(rule_sheet(variant))


# ---------------------------------------------------------------- games


@dataclass(kw_only=True)
class Play(WithVariant):
    """Play at the terminal against agents.

    Answer with the number or the name of an action. `quit` ends the game.
    """

    seat: Annotated[int, tyro.conf.arg(metavar="N")] = 0
    """Your seat, 0 to 3."""

    against: AgentText = "rule"
    """The agent in the other seats."""

    deals: Number = None
    """Play this many single deals instead of a match."""

    seed: Number = None
    """Seed of the deals; a new one each time if left out."""

    def run(self) -> None:
        """Plays until the end or `quit`."""
        variant = self.load()
        if not 0 <= self.seat < 4:
            raise InputError(f"seat: found {self.seat}; allowed: 0 to 3")
        check_count("deals", self.deals)
        seed = int.from_bytes(os.urandom(4), "big") if self.seed is None else self.seed
        check_seed(seed)
        agent = make_agents([self.against], seed)[0]
        from train.table import play_at_terminal

        play_at_terminal(variant, agent, self.seat, seed, self.deals)


@dataclass(kw_only=True)
class Record(WithVariant):
    """Let agents play and write the games down, one JSON object a line."""

    agents: Annotated[tuple[str, ...], tyro.conf.arg(metavar="AGENT [AGENT AGENT AGENT]")] = (
        "rule",
    )
    """One agent for all seats, or four."""

    matches: Number = None
    """Number of matches."""

    deals: Number = None
    """Number of single deals instead of matches."""

    seed: Annotated[int, tyro.conf.arg(metavar="N")] = 0
    """Seed of the deals and of what agents draw."""

    out: File
    """The file to write."""

    def run(self) -> None:
        """Plays and writes."""
        variant = self.load()
        check_count("matches", self.matches)
        check_count("deals", self.deals)
        if (self.matches is None) == (self.deals is None):
            raise InputError("give one of --matches N and --deals N")
        check_seed(self.seed)
        if len(self.agents) not in (1, 4):
            raise InputError(f"agents: found {len(self.agents)} names; allowed: one, or four")
        check_out(self.out)
        agents = make_agents(self.agents, self.seed)
        from king_env.records import write_records
        from train.table import record_games

        count = self.matches or self.deals or 0
        whole_match = self.matches is not None
        names = list(self.agents) * (4 // len(self.agents))
        with progress_bar("playing", count) as tell:
            records = record_games(variant, agents, names, count, whole_match, self.seed, tell)
            written = write_records(self.out, records)
        print(f"{written:,} {'matches' if whole_match else 'deals'} written to {self.out}")


@dataclass
class Replay:
    """Print recorded games, or check that the rules give the recorded scores."""

    file: tyro.conf.Positional[File]
    """A file of records."""

    check: bool = False
    """Only check: every action must be legal and every score the recorded one."""

    match: Number = None
    """Only this record of the file, counted from 1."""

    def run(self) -> None:
        """Replays."""
        check_count("match", self.match)
        with self.file.open("rb"):
            pass  # a missing file is reported before anything is loaded
        from king_env.records import RecordError, read_records, replay
        from train.table import game_text

        count = deals = actions = 0
        for number, record in enumerate(read_records(self.file), 1):
            if self.match not in (None, number):
                continue
            try:
                game = replay(record, check=self.check)
            except RecordError as error:
                raise RecordError(f"{self.file}, record {number}: {error}") from None
            count += 1
            deals += len(game.deals)
            actions += sum(len(deal.actions) for deal in game.deals)
            if not self.check:
                print(game_text(game, number, record.get("agents")))
        if not count:
            what = "no records" if self.match is None else f"no record {self.match}"
            raise InputError(f"{self.file}: {what}")
        if self.check:
            print(f"{count:,} records, {deals:,} deals, {actions:,} actions: every score agrees")


@dataclass
class Dataset:
    """Turn recorded games into arrays for imitation and offline learning.

    One row a decision: observation, mask, action and the points that followed; see
    `king_env.dataset`, whose `load` reads the file.
    """

    file: tyro.conf.Positional[File]
    """A file of records; they may be of different variants."""

    out: File
    """The .npz file to write."""

    skip_forced: bool = False
    """Leave out decisions without alternative."""

    def run(self) -> None:
        """Reads, replays and writes."""
        with self.file.open("rb"):
            pass  # a missing file is reported before anything is loaded
        check_out(self.out)
        if self.out.exists() and self.out.samefile(self.file):
            raise InputError(f"{self.out}: is the file of records")
        from king_env.dataset import make_dataset

        with progress_bar("replaying", None) as tell:
            records, decisions = make_dataset(
                self.file, self.out, skip_forced=self.skip_forced, progress=tell
            )
        print(f"{decisions:,} decisions of {records:,} records written to {self.out}")


# ---------------------------------------------------------------- agents


@dataclass(kw_only=True)
class Train:
    """Train an agent by self-play.

    The run folder receives the resolved config, metrics, learning curve and checkpoints; as an
    agent's name it stands for the run's newest checkpoint.
    """

    config: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="CONFIG")] = None
    """A config file, or the name of one that is shipped, such as `international`. With --resume
    it may be left out."""

    minutes: Annotated[float | None, tyro.conf.arg(metavar="M")] = None
    """Train for about this time instead of the config's number of decisions."""

    variant: Annotated[
        tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="VARIANT")
    ] = ()
    """A variant to learn instead of the config's variants and options; repeatable."""

    option: Options = ()
    """An option of the variants, over those of the config; repeatable."""

    seed: Number = None
    """Seed of the run instead of the config's."""

    out: Folder = None
    """The run folder; a new `runs/CONFIG-SEED-N` if left out."""

    resume: Folder = None
    """Go on with this run folder."""

    init: Folder = None
    """A checkpoint, a run folder or a network that ships, `net`, whose weights to start from."""

    workers: Number = None
    """Processes that learn together, instead of the config's number."""

    ray: Annotated[tuple[()] | tuple[str] | None, tyro.conf.arg(metavar="[ADDRESS]")] = None
    """Play on a Ray cluster, learn in one process here. ADDRESS is HOST:PORT, `auto` (the cluster
    that this machine is in), or `local`: Ray is started on this machine."""

    actors: Number = None
    """Processes that play, with --ray; one a core of the cluster if left out."""

    device: Annotated[str, tyro.conf.arg(metavar="DEVICE")] = "cpu"
    """Where networks learn: `cpu`, `cuda` or `cuda:N`. Games are played on the CPU."""

    tensorboard: bool = False
    """Write TensorBoard event files into the run folder."""

    quiet: bool = False
    """Print no progress."""

    def run(self) -> None:
        """Trains."""
        if self.minutes is not None and not 0 < self.minutes < 1e6:
            raise InputError(f"minutes: found {self.minutes}; allowed: more than 0")
        if self.seed is not None and not 0 <= self.seed < 2**63:
            raise InputError(f"seed: found {self.seed}; allowed: 0 to 2**63 - 1")
        check_count("workers", self.workers)
        check_count("actors", self.actors)
        if self.ray is None and self.actors is not None:
            raise InputError("--actors goes with --ray only")
        if self.ray is not None and self.workers is not None:
            raise InputError("--workers and --ray exclude each other: one process learns")
        address = None if self.ray is None else check_address("".join(self.ray) or "local")
        from train.config import check_config, find_config, load_config

        given = None if self.config is None else load_config(self.config)
        if self.resume is not None:
            for name in (
                *("minutes", "variant", "option", "seed", "out", "init", "workers"),
                "tensorboard",
            ):
                if getattr(self, name) not in (None, (), False):
                    raise InputError(
                        f"--{name} and --resume exclude each other: the run goes on as it is"
                    )
            if not self.resume.is_dir():
                raise InputError(f"{self.resume}: no such run folder")
            config = load_config(self.resume / "config.toml")
            if given is not None and not is_same_run(given, config):
                raise InputError(
                    f"{self.config}: differs from the config of {self.resume}, which stands: "
                    "leave it out"
                )
            out = self.resume
        elif given is None or self.config is None:
            raise InputError("give a CONFIG, or --resume and a run folder")
        else:
            config = given
            if self.workers is not None:
                config = dataclasses.replace(config, workers=self.workers)
            options = {} if self.variant else config.options
            options = {**options, **read_options(self.option)}
            variants = self.variant or config.variants
            config = dataclasses.replace(config, variants=variants, options=options)
            if self.tensorboard:
                output = dataclasses.replace(config.output, tensorboard=True)
                config = dataclasses.replace(config, output=output)
            check_config(config, "command")
            seed = config.seed if self.seed is None else self.seed
            out = self.out or free_folder(Path("runs"), f"{find_config(self.config).stem}-{seed}")
        init = starting_point(self.init)
        from train.loop import run_training

        folder = run_training(
            config,
            out,
            minutes=self.minutes,
            seed=self.seed,
            resume=self.resume,
            init=init,
            evaluate=evaluation_during_training(config),
            progress=not self.quiet,
            ray=address,
            actors=self.actors,
            device=self.device,
        )
        print(f"run folder: {folder}")
        chosen = "" if config.variants[0] == "international" else f" --variant {config.variants[0]}"
        chosen += "".join(f" --option {name}={value}" for name, value in config.options.items())
        print(f"next: king evaluate {folder} --against rule --deals 2000{chosen}")


@dataclass(kw_only=True)
class Evaluate(WithVariant):
    """Evaluate an agent on duplicate deals, with 95 % intervals.

    For each deal the candidate sits in every seat against three copies of the baseline with the
    same cards (in a partnership: in both seats of either team).
    """

    candidate: tyro.conf.Positional[AgentText]
    """An agent: a name, a run folder, a checkpoint file, or module:Class."""

    against: AgentText
    """The baseline, likewise."""

    deals: Number = None
    """Number of deals; 1,000 if neither this nor --matches is given."""

    matches: Number = None
    """Number of whole matches instead of deals."""

    start: Literal["decision", "play"] = "decision"
    """Begin deals with the auction or choice, or skip to the play."""

    seed_list: Text = None
    """Deals of the benchmark: development, validation (default) or test."""

    seed: Number = None
    """A seed of your own instead of a seed list."""

    workers: Annotated[int, tyro.conf.arg(metavar="N")] = 1
    """Processes to play in; the results do not depend on it."""

    json: bool = False
    """Print a JSON object."""

    def run(self) -> None:
        """Evaluates and prints."""
        variant = self.load()
        check_count("deals", self.deals)
        check_count("matches", self.matches)
        if self.deals is not None and self.matches is not None:
            raise InputError("give one of --deals N and --matches N")
        if self.matches is not None and self.start == "play":
            raise InputError("--start play goes with --deals only; a match starts at its decisions")
        if self.seed is not None:
            check_seed(self.seed)
            if self.seed_list is not None:
                raise InputError("give one of --seed and --seed-list")
        if self.seed_list is not None:
            from train.evaluation.seeds import benchmark_seed

            benchmark_seed(self.seed_list)
        check_count("workers", self.workers)
        candidate: str | Policy
        against: str | Policy
        candidate, against = make_agents([self.candidate, self.against], 0)
        if self.workers > 1:  # a process makes its own
            candidate, against = self.candidate, self.against
        from train.evaluation.duplicate import evaluate
        from train.evaluation.report import to_json, to_text

        with progress_bar("evaluating", None) as tell:
            result = evaluate(
                candidate,
                against,
                variant,
                deals=self.deals,
                matches=self.matches,
                start=self.start,
                seed_list=self.seed_list,
                seed=self.seed,
                names=(self.candidate, self.against),
                workers=self.workers,
                progress=tell,
            )
        if self.json:
            print(json.dumps(to_json(result)))
        else:
            print_rich(to_text(result))


@dataclass(kw_only=True)
class Leaderboard(WithVariant):
    """Play every agent against every other for a given time, with 95 % intervals.

    One against three and three against one on duplicate deals (pairs in partnerships); agents
    faster than 0.1 ms a move play whole matches too. The folder receives the tables as
    leaderboard.md, .json and .png, and state.json, from which the same command goes on: what was
    played before counts, a longer budget adds to it, further agents join.
    """

    agents: Annotated[tuple[str, ...], tyro.conf.arg(metavar="AGENT AGENT ...")] = (
        "random",
        "greedy",
        "rule",
        "ismcts:1000",
        "pimc:20",
        "pimc:80",
        "net",
        "net+pimc:20",
    )
    """Two agents or more: names, run folders, checkpoint files, module:Class or exec:COMMAND."""

    budget: Annotated[str, tyro.conf.arg(metavar="TIME")] = "10m"
    """Playing time in all, earlier sittings included: 90s, 30m, 2h."""

    seed_list: Text = None
    """Deals of the benchmark: development, validation (default) or test."""

    out: Folder = None
    """The folder; `runs/leaderboard-VARIANT-SEEDLIST` if left out."""

    json: bool = False
    """Print a JSON object instead of tables."""

    quiet: bool = False
    """Print no progress."""

    def run(self) -> int:
        """Plays, writes and prints; Ctrl-C ends the play only."""
        variant = self.load()
        from train.evaluation.budget import parse_budget
        from train.evaluation.seeds import DEFAULT_SEED_LIST, benchmark_seed

        seed_list = self.seed_list or DEFAULT_SEED_LIST
        seed = benchmark_seed(seed_list)
        budget_s = parse_budget(self.budget)
        twice = sorted({name for name in self.agents if self.agents.count(name) > 1})
        if twice:
            raise InputError(f"agents: {', '.join(twice)}: given twice")
        if len(self.agents) < 2:
            raise InputError(f"agents: found {len(self.agents)}; allowed: two and more")
        players = dict(zip(self.agents, make_agents(self.agents, 0), strict=True))
        from train.evaluation.identity import agent_identity
        from train.evaluation.leaderboard import AgentTable, Board, Scheduler, Setting
        from train.evaluation.standings import standings, to_json, to_text, write

        folder = self.out or Path("runs") / f"leaderboard-{variant.name}-{seed_list}"
        folder.mkdir(parents=True, exist_ok=True)
        setting = Setting(variant, seed_list)
        with only_one(folder):
            board = Board.load(folder, setting, {name: agent_identity(name) for name in players})
            table = AgentTable(variant, players, seed)
            with BoardProgress(not self.quiet) as progress:
                scheduler = Scheduler(board, table, budget_s, folder, progress)
                finished = scheduler.run()
            result = standings(board, table.quantities)
            write(result, folder)
        if self.json:
            print(json.dumps(to_json(result)))
        else:
            print_rich(to_text(result))
            print(f"written to {folder}")
        return 0 if finished else INTERRUPTED


@dataclass(kw_only=True)
class Exploit(WithVariant):
    """Train an approximate best response to an agent and measure what it gains.

    One seat (in a partnership: a team) learns by PPO against copies of the agent that do not
    change; its gain on fresh duplicate deals is a lower bound of what a best response gains. The
    agent is random, greedy, rule, a network, or another that decides in many games at once.
    """

    agent: tyro.conf.Positional[AgentText]
    """The agent to exploit: a name, a run folder, a checkpoint file, or module:Class."""

    decisions: Number = None
    """Budget: decisions to learn from after the start; 2,000,000 if neither this nor --minutes."""

    minutes: Annotated[float | None, tyro.conf.arg(metavar="M")] = None
    """Budget in time instead, the start included."""

    init: Folder = None
    """A checkpoint, a run folder or a network that ships, `net`, to start from instead of a clone
    of the rule-based agent."""

    seed: Annotated[int, tyro.conf.arg(metavar="N")] = 1
    """Seed of the training."""

    deals: Annotated[int, tyro.conf.arg(metavar="N")] = 20_000
    """Deals on which the gain is measured."""

    seed_list: Text = None
    """Where they come from: development, validation (default) or test."""

    config: Annotated[str, tyro.conf.arg(metavar="CONFIG")] = "international"
    """A config whose network, clone and learner are used; see `king train`."""

    workers: Number = None
    """Processes that learn together, instead of the config's number."""

    out: Folder = None
    """The run folder; a new `runs/exploit-N` if left out."""

    json: bool = False
    """Print a JSON object."""

    quiet: bool = False
    """Print no progress."""

    def run(self) -> None:
        """Trains, measures and prints."""
        self.load()
        check_count("decisions", self.decisions)
        check_count("deals", self.deals)
        check_count("workers", self.workers)
        if self.decisions is not None and self.minutes is not None:
            raise InputError("give one of --decisions N and --minutes M")
        if self.minutes is not None and not 0 < self.minutes < 1e6:
            raise InputError(f"minutes: found {self.minutes}; allowed: more than 0")
        if not 0 <= self.seed < 2**63:
            raise InputError(f"seed: found {self.seed}; allowed: 0 to 2**63 - 1")
        init = starting_point(self.init)
        from train.evaluation.seeds import DEFAULT_SEED_LIST, benchmark_seed

        seed_list = self.seed_list or DEFAULT_SEED_LIST
        benchmark_seed(seed_list)
        from train.config import load_config

        base = dataclasses.replace(load_config(self.config), seed=self.seed)
        make_agents([self.agent], 0)  # a wrong name is told at once
        if self.workers is not None:
            base = dataclasses.replace(base, workers=self.workers)
        from train import exploit

        config = exploit.response_config(
            base,
            self.agent,
            self.variant,
            read_options(self.option),
            self.decisions or exploit.DECISIONS,
        )
        run, seconds = exploit.train_response(
            config,
            self.out or free_folder(Path("runs"), "exploit"),
            minutes=self.minutes,
            init=init,
            progress=not self.quiet,
        )
        with progress_bar("measuring the gain", None) as tell:
            outcome = exploit.measure_response(
                config,
                run,
                seconds,
                init=self.init,
                deals=self.deals,
                seed_list=seed_list,
                tell=tell,
            )
        if self.json:
            print(json.dumps(exploit.as_data(outcome)))
            return
        from train.evaluation.report import to_text

        print_rich(to_text(outcome.gain))
        for line in exploit.exploit_lines(outcome):
            print(line)
        print(f"run folder: {outcome.run}")


@dataclass
class Bench:
    """Measure speed on this machine."""

    group: tyro.conf.Positional[Literal["engine", "env", "act", "search", "train", "ray"]] = (
        "engine"
    )
    """`engine`: kernels; `env`: environments as frameworks use them; `act`: one decision of each
    agent; `search`: agents that search, and sampled worlds; `train`: a training run; `ray`: an
    iteration of training with actors, and a model of more machines."""

    peers: bool = False
    """Measure other game libraries in the same run, those that are installed."""

    json: bool = False
    """Print a JSON object."""

    def run(self) -> None:
        """Measures and prints."""
        from train.bench import measure, to_text

        with progress_bar("measuring", None) as tell:
            result = measure(self.group, progress=tell, peers=self.peers)
        if self.json:
            print(json.dumps(result))
        else:
            print_rich(to_text(result))


COMMANDS: dict[str, Any] = {
    "variants": Variants,
    "rules": Rules,
    "play": Play,
    "record": Record,
    "replay": Replay,
    "dataset": Dataset,
    "train": Train,
    "evaluate": Evaluate,
    "leaderboard": Leaderboard,
    "exploit": Exploit,
    "bench": Bench,
}


# ---------------------------------------------------------------- helpers


def read_options(pairs: Sequence[str]) -> dict[str, object]:
    """Returns ``NAME=VALUE`` texts as a dict."""
    options: dict[str, object] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name or not value:
            raise InputError(f"option {pair!r}: expected NAME=VALUE")
        if name in options:
            raise InputError(f"option {name!r}: given twice")
        options[name] = value
    return options


def check_count(name: str, value: int | None) -> None:
    """Raises where a number of games is given and is not positive."""
    if value is not None and value < 1:
        raise InputError(f"{name}: found {value}; allowed: 1 and more")


def check_address(address: str) -> str:
    """Returns the address of a Ray cluster; raises where it can be none."""
    host, colon, port = address.rpartition(":")
    if address not in ("auto", "local") and not (host and colon and port.isdecimal()):
        raise InputError(f"ray: found {address!r}; allowed: local, auto, HOST:PORT")
    return address


def starting_point(init: Path | None) -> Path | None:
    """Returns the checkpoint or run folder that the name of a network that ships, or a path, means.

    Raises:
        InputError: if there is none.
    """
    if str(init) in RELEASED:
        from agents.pretrained import released_file

        return released_file(str(init))
    if init is not None and not init.exists():
        raise InputError(
            f"{init}: no such checkpoint or run folder; networks that ship: {', '.join(RELEASED)}"
        )
    return init


def check_seed(seed: int) -> None:
    """Raises where a seed is out of range."""
    if not 0 <= seed < 2**64:
        raise InputError(f"seed: found {seed}; allowed: 0 to 2**64 - 1")


def check_out(path: Path) -> None:
    """Raises where a file cannot be written."""
    if not path.parent.is_dir():
        raise InputError(f"{path.parent}: no such folder")
    if path.is_dir():
        raise InputError(f"{path}: is a folder; expected the name of a file")


def make_agents(names: Sequence[str], seed: int) -> list[Policy]:
    """Returns the agents of names, one for each different name."""
    from agents.registry import make_agent

    made = {name: make_agent(name, seed=seed) for name in dict.fromkeys(names)}
    return [made[name] for name in names]


def is_same_run(given: TrainConfig, stored: TrainConfig) -> bool:
    """Tells whether a config can be the one of a run, which may have had another seed or size."""
    output = dataclasses.replace(given.output, tensorboard=stored.output.tensorboard)
    as_stored = dataclasses.replace(
        given,
        seed=stored.seed,
        workers=stored.workers,
        shards=stored.shards,
        network=stored.network,
        output=output,
    )
    return as_stored == stored


def print_rich(content: Any) -> None:
    """Prints a table; a pipe gets as much width as the table needs."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, 120)
    console.print(content, highlight=False)


class BoardProgress:
    """Shows on stderr how a leaderboard goes on: a live line, or one now and then."""

    def __init__(self, enabled: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        self.console = Console(stderr=True, quiet=not enabled, highlight=False)
        self.live = enabled and self.console.is_terminal
        self.bar = Progress(
            BarColumn(bar_width=20),
            TaskProgressColumn(),
            TextColumn("{task.description}", markup=False),
            console=self.console,
            transient=True,
            disable=not self.live,
        )
        self.task = self.bar.add_task("measuring speed", total=None)
        self.last_line = time.monotonic()

    def __enter__(self) -> BoardProgress:
        self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.stop()

    def __call__(self, board: Board, cell: Cell, left_s: float) -> None:
        """Shows the cell that comes next."""
        cells = board.cells()
        played = sum(board.units(entry) > 0 for entry in cells)
        minutes, seconds = divmod(max(0, round(left_s)), 60)
        text = (
            f"{played} of {len(cells)} cells, {board.num_deals:,} deals, {minutes}:{seconds:02d} "
            f"left; {cell.candidate} against {cell.against}, {cell.kind}"
        )
        total = board.spent_s + left_s
        self.bar.update(self.task, description=text, total=total, completed=board.spent_s)
        if not self.live and time.monotonic() - self.last_line >= 15:
            self.last_line = time.monotonic()
            self.console.print(text, markup=False, soft_wrap=True)


@contextmanager
def progress_bar(what: str, total: int | None) -> Iterator[Any]:
    """Yields a function (done, all) that moves a bar on stderr, where that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(
        console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()
    ) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done, everything: bar.update(task, completed=done, total=everything)


def evaluation_during_training(
    config: TrainConfig,
) -> Callable[[Path], Mapping[str, float]]:
    """Returns the function by which training evaluates a checkpoint: development deals only."""

    def run(checkpoint: Path) -> Mapping[str, float]:
        from agents.neural.policy import load_policy
        from train.evaluation.duplicate import evaluate

        candidate = load_policy(checkpoint)
        figures: dict[str, float] = {}
        for name in dict.fromkeys(config.variants):
            variant = load_variant(name, config.options)
            prefix = f"{variant.name}/" if len(config.variants) > 1 else ""
            for baseline in ("random", "greedy", "rule"):
                result = evaluate(candidate, baseline, variant, deals=200, seed_list="development")
                figures[prefix + baseline] = result.margin.mean
        return figures

    return run


# ---------------------------------------------------------------- the program


def one_line(error: BaseException) -> str:
    """Returns an error as one line: what, where, what is allowed."""
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    else:
        text = str(error) or type(error).__name__
    return f"king: {' '.join(text.split())}"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs ``king`` and returns its exit code: 0, 2 for bad input, 130 after Ctrl-C."""
    try:
        command = tyro.extras.subcommand_cli_from_dict(
            COMMANDS,
            prog="king",
            description="Environments, agents and training for the card-game family King.",
            args=argv,
            config=(tyro.conf.OmitArgPrefixes, tyro.conf.FlagCreatePairsOff),
        )
        code = command.run()
        sys.stdout.flush()
    except SystemExit as stop:  # the parser has said why
        return stop.code if isinstance(stop.code, int) else USAGE
    except KeyboardInterrupt:
        print("king: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "matplotlib", "openskill", "safetensors"):
            raise
        print(f"king: this needs {error.name}: install king-env[train]", file=sys.stderr)
        return USAGE
    except (ValueError, OSError) as error:
        if os.environ.get("KING_TRACEBACK"):
            raise
        print(one_line(error), file=sys.stderr)
        return USAGE
    return code or 0


if __name__ == "__main__":
    sys.exit(main())
