"""A training run, assembled: clone the rule-based agent, then PPO in self-play.

The future of a run depends on its config, its budget, the weights, the optimizer and the counts in
``Progress``, and on nothing else: a run that goes on after a stop ends as if it had not stopped.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from agents.neural.network import CPU, ActorCritic
from agents.neural.weights import (
    LATEST,
    CheckpointError,
    Weights,
    find_checkpoint,
    load_weights,
)
from king_env.rules.catalogue import Variant, load_variant
from train import checkpoint as saving
from train.advantage import gae
from train.board import Board, check_installed
from train.checkpoint import Progress, RunError, first_line
from train.clone import clone_update, passes_gate
from train.cluster import Cluster, Setup, cluster, find_ray
from train.config import TrainConfig, check_config, load_config, to_toml
from train.critic import Critic, critic_update
from train.ema import move_towards
from train.folders import only_one
from train.labels import LabelStore, labels_of
from train.matches import deals_of
from train.metrics import MetricsFile, Sums, plot_contracts, plot_curve
from train.player import Player, cut, join
from train.pool import Pool, snapshots_due
from train.ppo import ppo_update
from train.progress import Reporter
from train.rollout import (
    DECISIONS_PER_DEAL,
    PARTS,
    Decisions,
    Strata,
    columns_in_use,
    derived_seed,
    make_opponent,
)
from train.teach import teach_update
from train.workers import Channel, ProcessGone, workers

Evaluate: TypeAlias = Callable[[Path], Mapping[str, float]]
"""Takes a checkpoint and returns figures by name, such as ``rule``, ``rule/low``, ``rule/high``."""

BUDGET: Final = "budget.json"
"""File of a run folder with the decisions to learn from."""
CLONE_CHUNK: Final = 65_536
"""Decisions of an iteration of cloning."""
MEASURED: Final = 3
"""Iterations at the start of a phase that run at the schedules' start; all but the first of them
measure the speed."""
DECISIONS_PER_PART: Final = 5_000
"""Decisions of a part, where a run with actors has no parts in its config."""
CLONE_TIME: Final = 0.45
"""Part of the time that cloning may take where the budget is given in minutes."""


@dataclasses.dataclass(frozen=True)
class Budget:
    """Decisions to learn from.

    Attributes:
        clone: of the rule-based agent.
        most: of the rule-based agent while the gate is not passed.
        total: own ones.
    """

    clone: int
    most: int
    total: int


def run_training(
    config: TrainConfig,
    out: Path,
    *,
    minutes: float | None = None,
    seed: int | None = None,
    resume: Path | None = None,
    init: Path | None = None,
    evaluate: Evaluate | None = None,
    progress: bool = True,
    ray: str | None = None,
    actors: int | None = None,
    device: str = "cpu",
) -> Path:
    """Trains and returns the run folder.

    Args:
        config: the run; with ``resume`` the run folder's own config stands instead.
        out: the run folder to make; with ``resume`` it is not used.
        minutes: turn the budget into what can be learned in about this time on this machine. It
            is done once, from the speed of the first iterations, and written to ``budget.json``.
        seed: replaces the config's seed.
        resume: a run folder to go on with from its newest checkpoint.
        init: a checkpoint or run folder whose weights to start from; cloning is left out.
        evaluate: called now and then with a checkpoint; its figures are logged.
        progress: show how it goes.
        ray: address of a Ray cluster whose actors play, see ``train.cluster``; one process learns.
            The run ends as it would without, of the same config.
        actors: their number; None: one a core of the cluster, as far as there are parts.
        device: where the networks lie: ``cpu``, ``cuda`` or ``cuda:N``. Games are played on the
            CPU, and actors decide there too. A run can go on elsewhere than it began; it ends with
            the same bits only where all of it was on the CPU.

    Ctrl-C saves a checkpoint and returns.

    Raises:
        RunError: if the run cannot start or go on.
        CheckpointError: if ``resume`` or ``init`` names no usable checkpoint.
        ConfigError: if the config contradicts itself.
    """
    if ray is not None:
        find_ray(ray)
    elif actors is not None:
        raise RunError("actors: only with ray")
    chosen_device = find_device(device)
    if resume is not None:
        for name, value in (("minutes", minutes), ("seed", seed), ("init", init)):
            if value is not None:
                raise RunError(f"{name}: not with resume; the run's own budget and seed stand")
        run = resume
        if not (run / LATEST).is_file():
            raise CheckpointError(
                f"checkpoint {run}: no run to go on with; expected {LATEST}; a run that was "
                "stopped before it wrote one starts anew"
            )
        config = load_config(run / "config.toml")
    else:
        run = out
        if seed is not None:
            config = dataclasses.replace(config, seed=seed)
        if ray is not None:
            config = _for_actors(config)
        make_opponent(config.tables.against)
        if config.output.tensorboard:
            check_installed()
    check_config(config, "config")
    if config.workers * config.shards > PARTS:
        raise RunError(
            f"workers times shards: found {config.workers} times {config.shards}; "
            f"allowed: up to {PARTS}"
        )
    if ray is not None and config.workers > 1:
        raise RunError(
            f"{run}: {config.workers} processes learn, and with ray only one can; go on without, "
            f"or start a new run with --init {run}"
        )
    if actors is not None and actors > config.shards:
        raise RunError(
            f"actors: found {actors}; allowed: 1 to {config.shards}, the shards of the config"
        )
    variants = [load_variant(name, config.options) for name in config.variants]
    games = _games(config, variants, config.tables.rule_share)
    cut(0, games, config.shards, False, length=_length(config, variants), size=config.workers)
    started = load_weights(init) if init is not None else None
    if started is not None:
        config = dataclasses.replace(
            config,
            network=dataclasses.replace(
                config.network,
                width=started.width,
                canonical_suits=started.canonical,
                rule_prior=started.rule_prior,
            ),
        )
    if resume is not None:
        weights = load_weights(run)
        _check_rules(run, weights, variants)
        columns = weights.columns
    else:
        columns = columns_in_use(variants, config.draw, config.network.canonical_suits)
        if started is not None:
            columns = np.union1d(columns, started.columns)
        _prepare_folder(run)  # all that can be refused before anything is made has been
    try:
        with ExitStack() as stack:
            stack.enter_context(only_one(run))
            if resume is not None:
                saving.clean_up(run)
            else:  # one that was stopped before its first checkpoint has learned nothing
                saving.remove([run / BUDGET])
            reporter = Reporter(run, progress)
            _compile(config, run, columns, chosen_device)
            learner_args = (config, run, columns, init, resume is not None, chosen_device)
            channel = stack.enter_context(workers(config.workers, _follow, learner_args))
            stack.enter_context(reporter)
            players = None
            if ray is not None:
                opponent = make_opponent(config.tables.against, config.tables.whole_team)
                setup = Setup(config, variants, opponent, columns)
                players = stack.enter_context(cluster(ray, actors, setup, reporter.say))
            if resume is None:
                saving.replace_file(run / "config.toml", to_toml(config).encode())
            learner = _Learner(channel, *learner_args, players)
            _Leader(learner, minutes, evaluate, reporter).run()
    except (ProcessGone, torch.OutOfMemoryError) as error:
        further = f"go on with --resume {run}" if (run / LATEST).is_file() else "start anew"
        raise RunError(f"{first_line(error)}; {further}") from None
    return run


def find_device(name: str) -> torch.device:
    """Returns a device on which networks can learn: ``cpu``, or one that torch finds and can use.

    Raises:
        RunError: if there is none of that name.
    """
    if name == "cpu":
        return CPU
    version = torch.__version__
    numbered = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    allowed = ["cpu", *(["cuda"] if numbered else []), *numbered]
    if name not in allowed:
        raise RunError(f"device: found {name!r}; torch {version} finds here: {', '.join(allowed)}")
    try:
        torch.ones(1, device=name).add_(1).cpu()
    except RuntimeError as error:
        reason = first_line(error)
        raise RunError(f"device {name!r}: torch {version} cannot use it: {reason}") from None
    return torch.device(name)


def _for_actors(config: TrainConfig) -> TrainConfig:
    """Returns a config as a run with actors has it: one process learns, there are parts to play."""
    shards = config.shards
    if shards == 1:
        shards = max(1, min(PARTS, config.ppo.decisions_per_iteration // DECISIONS_PER_PART))
    return dataclasses.replace(config, workers=1, shards=shards)


def _games(
    config: TrainConfig, variants: Sequence[Variant], rule_share: float
) -> tuple[int, int, int]:
    """Returns the deals of an iteration: with four learners, with one, with one among snapshots.

    Where the learner takes both seats of a team, half as many of the latter give as much.
    """
    deals = config.ppo.decisions_per_iteration / DECISIONS_PER_DEAL
    snapshot_share = config.tables.snapshot_share
    teams = sum(variant.spec.partnership for variant in variants) / len(variants)
    tables = 4 * deals / (1 + teams * config.tables.whole_team)
    return (
        round(deals * (1 - rule_share - snapshot_share)),
        round(tables * rule_share),
        round(tables * snapshot_share),
    )


def _length(config: TrainConfig, variants: Sequence[Variant]) -> float:
    """Returns the mean number of deals of a game."""
    return float(deals_of(variants).mean()) if config.draw.mode == "match" else 1.0


def _check_rules(run: Path, weights: Weights, variants: Sequence[Variant]) -> None:
    """Refuses to go on with a run whose variants are no longer what they were."""
    known = dict(zip(weights.meta["variants"], weights.meta["variant_data"], strict=True))
    for variant in variants:
        if known.get(variant.name) != json.loads(json.dumps(variant.data)):
            raise RunError(
                f"{run}: variant {variant.name}: its rules are not those that the run began with; "
                f"give it those again, or start a new run with --init {run}"
            )


def _is_finished(run: Path) -> bool:
    """Tells whether a run folder holds a run that has learned all it was to learn."""
    if not (run / BUDGET).is_file():
        return False
    budget, done = saving.read_json(run / BUDGET), saving.read_json(run / LATEST)
    return "ppo" not in budget["open"] and done["decisions"] >= budget["total"]


def _prepare_folder(run: Path) -> None:
    """Makes a run folder; refuses one that holds a run."""
    if (run / LATEST).exists():
        raise RunError(f"run folder: {run}: holds a run; go on with --resume or choose another")
    try:
        (run / saving.FOLDER).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise saving.run_error(run, error) from None


def _compile(
    config: TrainConfig, run: Path, columns: npt.NDArray[np.int64], device: torch.device
) -> None:
    """Compiles all kernels of a run by a tiny one, before processes start and time is measured."""
    small = dataclasses.replace(
        config,
        clone=dataclasses.replace(config.clone, decisions=256, most=256),
        ppo=dataclasses.replace(config.ppo, decisions_per_iteration=256, minibatch=256),
        teach=dataclasses.replace(config.teach, keep=1),  # nothing is written
    )
    learner = _Learner(Channel(), small, run, columns, None, False, device)
    for phase in ("clone", "ppo"):
        learner.progress.phase = phase
        learner.iterate(Budget(256, 256, 256))


def _follow(
    channel: Channel,
    config: TrainConfig,
    run: Path,
    columns: npt.NDArray[np.int64],
    init: Path | None,
    resumed: bool,
    device: torch.device,
) -> None:
    """What worker processes run."""
    try:
        learner = _Learner(channel, config, run, columns, init, resumed, device)
    except ValueError as error:  # the leader hears only that this process has gone
        print(f"king: learning process {channel.rank}: {error}", file=sys.stderr)
        return
    try:
        while learner.iterate(None) is not None:
            pass
    except RunError:
        pass  # the leader tells
    except torch.OutOfMemoryError as error:
        print(f"king: learning process {channel.rank}: {first_line(error)}", file=sys.stderr)


class _Learner:
    """What every process does: play its share of the deals, learn, keep count."""

    def __init__(
        self,
        channel: Channel,
        config: TrainConfig,
        run: Path,
        columns: npt.NDArray[np.int64],
        init: Path | None,
        resumed: bool,
        device: torch.device,
        cluster: Cluster | None = None,
    ) -> None:
        self.channel = channel
        self.config = config
        self.run = run
        self.variants: list[Variant] = [
            load_variant(name, config.options) for name in config.variants
        ]
        self.strata = Strata(self.variants)
        self.network = ActorCritic(
            columns,
            config.network.width,
            derived_seed(config.seed, 4) % 2**63,
            config.network.rule_prior,
        ).to(device)
        opponent = make_opponent(config.tables.against, config.tables.whole_team)
        self.player = Player(config, self.variants, opponent, self.network)
        self.cluster = cluster
        self.optimizer = torch.optim.Adam(
            self.network.parameters(), lr=config.ppo.lr, eps=1e-5, fused=True
        )
        self.pool = Pool(run, config.tables.pool_size)
        self.labels = LabelStore(run, channel.rank, config.teach.keep)
        self.average = copy.deepcopy(self.network) if config.ppo.ema else None
        self.magnet = copy.deepcopy(self.network) if config.ppo.magnet else None
        self.critic: Critic | None = None
        if config.network.privileged:
            self.critic = Critic(
                columns, config.network.width, derived_seed(config.seed, 6) % 2**63
            ).to(device)
            self.critic_optimizer = torch.optim.Adam(
                self.critic.parameters(), lr=config.ppo.lr, eps=1e-5, fused=True
            )
        self.progress = Progress()
        if resumed:
            file = find_checkpoint(run)
            tensors = saving.load_training(file, self.network, self.optimizer)
            self.progress = Progress(**load_weights(file).meta["progress"])
            self.pool.load(self.progress.pool)
            if config.teach.share and self.progress.phase == "ppo" and not _is_finished(run):
                self.labels.load(self.progress.phase_start, self.progress.iteration)
            self._load_further(tensors, file)
        elif init is not None:
            self.network.load(load_weights(init))
            self.progress.phase = "ppo"
            self._anchor()
        elif config.clone.decisions == 0:
            self.progress.phase = "ppo"
            self._anchor()

    def _anchor(self) -> None:
        """Lets the average and the magnet begin with the weights as they are."""
        for copied in (self.average, self.magnet):
            if copied is not None:
                copied.load_state_dict(self.network.state_dict())

    def released(self) -> dict[str, npt.NDArray[np.float32]]:
        """Returns the weights that play."""
        if self.average is not None and self.progress.phase == "ppo":
            return self.average.tensors()
        return self.network.tensors()

    def further(self) -> dict[str, npt.NDArray[Any]]:
        """Returns what resuming needs besides the network and its optimizer."""
        parts: dict[str, npt.NDArray[Any]] = {}
        for name, copied in (("average", self.average), ("magnet", self.magnet)):
            if copied is not None:
                parts |= {f"{name}.{key}": array for key, array in copied.tensors().items()}
        if self.critic is not None:
            parts |= saving.learner_tensors(self.critic, self.critic_optimizer, "critic.")
        return parts

    def _load_further(self, tensors: Mapping[str, npt.NDArray[Any]], file: Path) -> None:
        """Takes over what ``further`` gave.

        Raises:
            CheckpointError: if something is missing or does not fit.
        """
        for name, copied in (("average", self.average), ("magnet", self.magnet)):
            if copied is not None:
                saving.load_parameters(tensors, file, copied, f"{name}.")
        if self.critic is not None:
            saving.load_learner(tensors, file, self.critic, self.critic_optimizer, "critic.")

    def iterate(self, budget: Budget | None) -> dict[str, Any] | None:
        """Makes an iteration as the leader has it and returns its metrics; None: the end.

        Args:
            budget: the leader's; None in the other processes and at the end.
        """
        plan = np.full(3, -1.0)
        if budget is not None:
            plan[:] = (budget.clone, budget.most, budget.total)
        plan = self.channel.from_leader(plan)
        if plan[2] < 0:
            return None
        budget = Budget(*(int(number) for number in plan))
        return self._clone(budget) if self.progress.phase == "clone" else self._ppo(budget)

    def _fraction(self, done: int, total: int) -> float:
        """Returns how far a phase's schedules are, 0..1; 0 while the speed is measured."""
        if self.progress.iteration - self.progress.phase_start < MEASURED:
            return 0.0
        return min(1.0, done / max(1, total))

    def _set_rate(self, rate: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        if self.critic is not None:
            for group in self.critic_optimizer.param_groups:
                group["lr"] = rate

    def _start_ppo(self) -> None:
        self.progress.phase = "ppo"
        self.progress.phase_start = self.progress.iteration
        self.optimizer.state.clear()  # the moments of another loss say nothing here
        with torch.no_grad():
            self.network.policy_weight.mul_(self.config.clone.sharpen)
            self.network.policy_bias.mul_(self.config.clone.sharpen)
        self._anchor()

    def _take_snapshot(self, fraction: float) -> None:
        """Takes the learner into the opponent pool when that is due."""
        due = snapshots_due(fraction)
        if self.config.tables.snapshot_share == 0 or due <= self.progress.snapshots:
            return
        self.progress.snapshots = due
        meta = saving.network_meta(self.network, self.progress, self.config, self.variants)
        weights = Weights(
            self.network.columns,
            self.config.network.canonical_suits,
            self.network.rule_prior,
            self.network.tensors(),
            meta,
        )
        self.pool.add(self.progress.iteration, weights)
        self.progress.pool = list(self.pool.members)

    def _play(
        self, num_self: int, num_rule: int, num_snapshot: int = 0, cloning: bool = False
    ) -> Decisions:
        """Plays this process's share of the deals of an iteration, or of the matches they make."""
        parts = cut(
            self.progress.iteration,
            (num_self, num_rule, num_snapshot),
            self.config.shards,
            cloning,
            tuple(self.pool.members),
            _length(self.config, self.variants),
            self.channel.rank,
            self.channel.size,
        )
        if self.cluster is not None:
            return join(self.cluster.play(self.network.tensors(), parts, self.pool.members))
        return join([self.player.play(part, self.pool.agents) for part in parts])

    def _clone(self, budget: Budget) -> dict[str, Any]:
        """Learns from a chunk of the rule-based agent's decisions; at the gate it measures."""
        config = self.config.clone
        gate = self.progress.cloned >= budget.clone
        fraction = 1.0 if gate else self._fraction(self.progress.cloned, budget.clone)
        falling = 0.5 * (1 + math.cos(math.pi * fraction))
        rate = config.lr_end + (config.lr - config.lr_end) * falling
        self._set_rate(rate)
        chunk = min(CLONE_CHUNK, max(256, budget.clone))
        batch = self._play(math.ceil(chunk / DECISIONS_PER_DEAL), 0, cloning=True)
        returns = gae(batch.reward, batch.value, batch.following, 1.0)
        sums = Sums(self.strata.names)
        measured: dict[str, Any] = {}
        if gate:
            clone_update(self.network, None, batch, returns, config, self.channel, sums)
            measured = sums.means(self.channel)
            if passes_gate(measured, config) or self.progress.cloned >= budget.most:
                self.progress.iteration += 1
                self._start_ppo()
                return {"phase": "gate", "passed": passes_gate(measured, config), **measured}
            sums = Sums(self.strata.names)
        clone_update(self.network, self.optimizer, batch, returns, config, self.channel, sums)
        self._teach_critic(batch, returns, config.batch, 1, sums)
        learned = int(self.channel.total(np.array([float(len(batch))]))[0])
        self.progress.cloned += learned
        self.progress.iteration += 1
        return {
            "phase": "clone",
            "learned": learned,
            "learning_rate": rate,
            **sums.means(self.channel),
        }

    def _ppo(self, budget: Budget) -> dict[str, Any]:
        """Plays with the policy and learns from it."""
        config = self.config.ppo
        fraction = self._fraction(self.progress.decisions, budget.total)
        rate = config.lr + (config.lr_end - config.lr) * fraction
        entropy_coef = config.entropy + (config.entropy_end - config.entropy) * fraction
        self._set_rate(rate)
        tables = self.config.tables
        mixed = fraction < tables.rule_until or tables.rule_until == 1
        rule_share = tables.rule_share if mixed else 0.0
        self._take_snapshot(fraction)
        batch = self._play(*_games(self.config, self.variants, rule_share))
        if self.critic is not None:
            values = self.critic.values(batch.words, batch.numbers, batch.hidden)
            batch = dataclasses.replace(batch, value=values)
        advantage = gae(batch.reward, batch.value, batch.following, config.gae_lambda)
        sums = Sums(self.strata.names)
        magnet_coef = config.magnet * (1 - fraction)
        rng = np.random.default_rng(
            [self.config.seed, self.progress.iteration, self.channel.rank, 5]
        )
        ppo_update(
            self.network,
            self.optimizer,
            batch,
            advantage,
            config,
            entropy_coef,
            self.channel,
            rng,
            sums,
            self.magnet,
            magnet_coef,
        )
        teach = self.config.teach
        if teach.share:
            self._keep_labels(batch)
            teach_update(self.network, self.optimizer, self.labels, teach, self.channel, rng, sums)
        returns = advantage + batch.value
        self._teach_critic(batch, returns, config.minibatch, config.epochs, sums)
        if self.average is not None:
            move_towards(self.average, self.network, config.ema)
        learned = int(self.channel.total(np.array([float(len(batch))]))[0])
        self.progress.decisions += learned
        self.progress.iteration += 1
        return {
            "phase": "ppo",
            "learned": learned,
            "learning_rate": rate,
            "entropy_coef": entropy_coef,
            **({} if self.magnet is None else {"magnet_coef": magnet_coef}),
            **sums.means(self.channel),
            **self._explained(batch, advantage),
            **self._margins(batch),
        }

    def _keep_labels(self, batch: Decisions) -> None:
        """Keeps the labels of a rollout.

        Raises:
            RunError: in all processes, if one of them cannot write its own.
        """
        error = None
        try:
            self.labels.add(self.progress.iteration, labels_of(batch))
        except RunError as own:
            error = own
        if self.channel.total(np.array([float(error is not None)]))[0]:
            raise error or RunError(f"run folder: {self.run}: another process cannot write to it")

    def _teach_critic(
        self,
        batch: Decisions,
        returns: npt.NDArray[np.float32],
        minibatch: int,
        epochs: int,
        sums: Sums,
    ) -> None:
        """Has the critic, where there is one, learn the returns of a rollout."""
        if self.critic is None:
            return
        key = [self.config.seed, self.progress.iteration, self.channel.rank, 6]
        critic_update(
            self.critic,
            self.critic_optimizer,
            (batch.words, batch.numbers, batch.hidden),
            returns,
            minibatch=minibatch,
            epochs=epochs,
            max_grad_norm=self.config.ppo.max_grad_norm,
            channel=self.channel,
            rng=np.random.default_rng(key),
            sums=sums,
        )

    def _explained(self, batch: Decisions, advantage: npt.NDArray[np.float32]) -> dict[str, float]:
        """Returns how much of the variance of the returns the value explains."""
        returns = (advantage + batch.value).astype(np.float64)
        errors = advantage.astype(np.float64)
        n, r, rr, e, ee = self.channel.total(
            np.array(
                [len(batch), returns.sum(), (returns**2).sum(), errors.sum(), (errors**2).sum()]
            )
        )
        variance = max(1e-12, rr / n - (r / n) ** 2)
        return {"explained_variance": float(1 - (ee / n - (e / n) ** 2) / variance)}

    def _margins(self, batch: Decisions) -> dict[str, float]:
        """Returns the margins at mixed tables, in total and by stratum."""
        shape = batch.results.shape
        results, pool = self.channel.total(batch.results.reshape(-1)).reshape(shape)
        out = {}
        for name, table in (("margin", results), ("pool_margin", pool)):
            points, squares, count = table.sum(0)
            if count < 2:
                continue
            variance = (squares - points**2 / count) / (count - 1)
            out[name] = float(points / count)
            out[f"{name}_se"] = math.sqrt(max(0.0, variance) / count)
        rows = dict(zip(self.strata.names, results, strict=True))
        rows |= {name: results[group].sum(0) for name, group in self.strata.groups.items()}
        for name, row in rows.items():
            if row[2] > 0:
                out[f"margin/{name}"] = float(row[0] / row[2])
        firsts, seats = self.channel.total(batch.firsts)
        if seats:
            out["first_places"] = float(firsts / seats)
        return out


class _Leader:
    """What process 0 does besides: the budget, files, evaluations, the screen."""

    def __init__(
        self,
        learner: _Learner,
        minutes: float | None,
        evaluate: Evaluate | None,
        reporter: Reporter,
    ) -> None:
        self.learner = learner
        self.config = learner.config
        self.run_folder = learner.run
        self.minutes = minutes
        self.evaluate = evaluate
        self.reporter = reporter
        self.start = time.monotonic()
        self.saved_at = self.start
        self.evaluation_s = 0.0
        self.stopping = False
        self.metrics = MetricsFile(self.run_folder / "metrics.jsonl", learner.progress.iteration)
        self.kept = {f"{number:04d}" for number in self.metrics.evaluated}
        clone = self.config.clone
        self.budget = Budget(clone.decisions, clone.most, self.config.total_decisions)
        self.open: set[str] = {"clone", "ppo"} if minutes is not None else set()
        self._read_budget()
        self.board = None
        if self.config.output.tensorboard:
            done = learner.progress.cloned + learner.progress.decisions
            self.board = Board(self.run_folder, done)
        self.measured = np.zeros(2)  # decisions and seconds

    # -------------------------------------------------- the budget

    def _read_budget(self) -> None:
        """Takes over the budget that the run folder holds."""
        file = self.run_folder / BUDGET
        if not file.is_file():
            self._write_budget()
            return
        data = saving.read_json(file)
        self.budget = Budget(data["clone"], data["most"], data["total"])
        self.minutes = data["minutes"]
        self.open = set(data["open"])

    def _write_budget(self) -> None:
        saving.write_json(
            self.run_folder / BUDGET,
            {**vars(self.budget), "minutes": self.minutes, "open": sorted(self.open)},
        )

    def _measure(self, phase: str, learned: int, seconds: float) -> None:
        """Turns minutes into decisions once the first iterations of a phase are done."""
        progress = self.learner.progress
        if phase not in self.open or self.minutes is None:
            return
        done = progress.iteration - progress.phase_start
        if done > 1:
            self.measured += (learned, seconds)
        if done < MEASURED:
            return
        speed = self.measured[0] / self.measured[1]
        if phase == "clone":
            cap = int(speed * self.minutes * 60 * CLONE_TIME)
            clone = min(self.budget.clone, cap)
            most = max(clone, min(self.budget.most, int(1.2 * cap)))
            self.budget = dataclasses.replace(self.budget, clone=clone, most=most)
        else:
            left = self.minutes * 60 - (time.monotonic() - self.start)
            each = 1 / speed
            if self.evaluate is not None and self.config.output.eval_every_decisions:
                each += self.evaluation_s / self.config.output.eval_every_decisions
            total = progress.decisions + max(0, int(left / each))
            self.budget = dataclasses.replace(self.budget, total=total)
        self._close(phase)

    def _close(self, phase: str) -> None:
        """Settles the budget of a phase for good."""
        self.measured[:] = 0
        if phase in self.open:
            self.open.discard(phase)
            self._write_budget()

    # -------------------------------------------------- the run

    def run(self) -> None:
        """Runs to the end of the budget, or until Ctrl-C."""
        with self._interruptible():
            progress = self.learner.progress
            if not (self.run_folder / LATEST).exists():
                self._save()  # from here on the run can be gone on with
            last_evaluated = progress.decisions
            while not self.stopping and not self._finished():
                before = time.monotonic()
                phase = progress.phase
                metrics = self.learner.iterate(self.budget)
                assert metrics is not None
                seconds = time.monotonic() - before
                self._check_finite(metrics)
                learned = metrics.pop("learned", 0)
                self._measure(phase, learned, seconds)
                if phase != progress.phase:
                    self._close(phase)
                entry = {
                    "iteration": progress.iteration,
                    "cloned": progress.cloned,
                    "decisions": progress.decisions,
                    "seconds": round(time.monotonic() - self.start, 2),
                    "decisions_per_s": round(learned / seconds, 1),
                    **metrics,
                }
                self._log(entry)
                self.reporter.show(entry, dataclasses.asdict(self.budget), "ppo" in self.open)
                every = self.config.output.eval_every_decisions
                if (
                    self.evaluate is not None
                    and every
                    and progress.phase == "ppo"
                    and (phase == "clone" or progress.decisions - last_evaluated >= every)
                    and not self._finished()
                ):
                    last_evaluated = progress.decisions
                    self._evaluate()
                elif time.monotonic() - self.saved_at >= self.config.output.checkpoint_every_s:
                    self._save()
            self.learner.iterate(None)
            if self._finished() and self.evaluate is not None:
                self._evaluate()
            else:
                self._save()
            if self._finished():
                self.learner.labels.clear()
            self._plot()
            if self.board is not None:
                self.board.close()
            self.reporter.end(self._finished())

    def _finished(self) -> bool:
        progress = self.learner.progress
        if progress.phase == "clone" or "ppo" in self.open:
            return False
        return progress.decisions >= self.budget.total

    def _check_finite(self, metrics: Mapping[str, Any]) -> None:
        """Stops the run when a loss or a weight is no number; the last checkpoint stays."""
        values = [v for name, v in metrics.items() if name.endswith("_loss")]
        weights = self.learner.network.tensors().values()
        if not all(math.isfinite(v) for v in values) or not all(
            np.isfinite(tensor).all() for tensor in weights
        ):
            raise RunError(
                f"iteration {self.learner.progress.iteration}: the loss or a weight is not a "
                f"finite number; the last good checkpoint in {self.run_folder} stands; "
                "try a lower learning rate"
            )

    def _save(self) -> Path:
        learner = self.learner
        learner.pool.save()
        file = saving.save_checkpoint(
            self.run_folder,
            learner.network,
            learner.optimizer,
            learner.progress,
            self.config,
            learner.variants,
            learner.released(),
            learner.further(),
        )
        saving.prune_checkpoints(self.run_folder, self.kept)
        learner.pool.prune(saving.snapshots_named(self.run_folder))
        learner.labels.prune(saving.oldest_resumable(self.run_folder))
        self.saved_at = time.monotonic()
        return file

    def _evaluate(self) -> None:
        """Saves a checkpoint, has it evaluated and logs the figures."""
        assert self.evaluate is not None
        file = self._save()
        self.kept.add(file.stem)
        before = time.monotonic()
        figures = {f"eval/{name}": float(value) for name, value in self.evaluate(file).items()}
        self.evaluation_s = time.monotonic() - before
        progress = self.learner.progress
        entry = {
            "phase": "evaluation",
            "iteration": progress.iteration,
            "cloned": progress.cloned,
            "decisions": progress.decisions,
            "seconds": round(time.monotonic() - self.start, 2),
            **figures,
        }
        self._log(entry)
        self.reporter.evaluation(entry)
        self._plot()
        self.saved_at = time.monotonic()

    def _log(self, entry: Mapping[str, Any]) -> None:
        """Writes a line of metrics."""
        self.metrics.write(entry)
        if self.board is not None:
            self.board.write(entry)

    def _plot(self) -> None:
        """Draws the curves anew."""
        plot_curve(self.run_folder)
        plot_contracts(self.run_folder)

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Lets Ctrl-C end the run at the next iteration; a second one ends it at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def stop(number: int, frame: Any) -> None:
            if self.stopping:
                raise KeyboardInterrupt
            self.stopping = True
            self.reporter.say("stopping: saving a checkpoint after this iteration")

        old = signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, old)
