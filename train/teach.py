"""Teaching: play-outs say what the actions of the learner's own decisions were worth.

At a share of the learner's decisions every action is played out by the rule-based agent, from the
same sampled worlds, or from the deal as it is, of which nothing but the labels is kept. PPO hears
of one action in one deal; this hears of all actions.

The loss is the policy's expected lead, ``-sum_a pi(a|s) lead(s, a)``. It is linear in the leads, so
their noise averages out over decisions; a target distribution made of noisy leads would be flat.

Source: Anthony, Tian, Barber 2017, "Thinking fast and slow with deep learning and tree search"
(expert iteration); Sutton, McAllester, Singh, Mansour 1999, "Policy gradient methods for
reinforcement learning with function approximation", theorem 1 (the sum over actions).

Axes: M decisions of a step of the rollout, L labelled decisions of it, D decisions of a rollout,
N decisions of a minibatch, A actions.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import torch

from agents.kernels import RULE
from agents.neural import features
from agents.neural.network import ActorCritic, legal_tensor, masked_log_softmax, tensor_of
from agents.search.labels import value_actions
from agents.search.names import UNLIMITED
from king_env.engine import sample
from king_env.engine.actions import NUM_ACTIONS
from king_env.engine.layout import Games, Tables, allocate
from train.config import TeachConfig
from train.labels import LabelStore
from train.metrics import Sums
from train.ppo import step
from train.rollout import DECIDE
from train.workers import Channel

MAX_GRAD_NORM: Final = 1.0


class Teacher:
    """Labels decisions by search.

    Args:
        config: how.
    """

    def __init__(self, config: TeachConfig) -> None:
        self.config = config
        self._worlds = allocate(2)
        self._actions = np.zeros(NUM_ACTIONS, dtype=np.int64)
        self._values = np.zeros((NUM_ACTIONS, max(1, config.worlds)), dtype=np.float64)
        self._room = np.zeros(NUM_ACTIONS, dtype=np.float32)

    def picks(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """Returns which of `[M]` decisions are labelled, by their random keys."""
        low_bits = (keys & np.uint64(0xFFFF)).astype(np.int64)
        return np.flatnonzero(low_bits < self.config.share * 0x10000)

    def leads(
        self,
        games: Games,
        tables: Tables,
        rows: npt.NDArray[np.int64],
        orders: npt.NDArray[np.uint8],
        keys: npt.NDArray[np.uint64],
    ) -> npt.NDArray[np.float32]:
        """Returns by how many point scales each action leads the rule-based agent's, `[L, A]`.

        Args:
            games: the games.
            tables: rule tables.
            rows: `[L]` int64, games whose seats to act decide; what they may know is
                all that sampled worlds are made of.
            orders: `[L]` uint8, orders of suits; actions are in canonical suits.
            keys: `[L]` uint64, random keys of the decisions.
        """
        starts = allocate(len(rows))
        if self.config.worlds:
            sample.hide_actors(games, tables, rows, starts)
        else:
            starts[:] = games[rows]
        leads = np.empty((len(rows), NUM_ACTIONS), dtype=np.float32)
        value_actions(
            starts, tables, RULE, None, UNLIMITED, self.config.worlds, keys,
            self._worlds, self._actions, self._values, leads,
        )  # fmt: skip
        features.relabel_values(games, tables, rows, orders, self._room, leads)
        scale = tables.point_scale[games.variant[rows]].astype(np.float32)
        return leads / scale[:, None]  # type: ignore[no-any-return]


def teach_update(
    network: ActorCritic,
    optimizer: torch.optim.Optimizer,
    store: LabelStore,
    config: TeachConfig,
    channel: Channel,
    rng: np.random.Generator,
    sums: Sums,
) -> None:
    """Learns from labels: first from those added last, then from any that are kept.

    Args:
        network: learns in place.
        optimizer: its optimizer, learning rate set.
        store: this process's labels.
        config: settings.
        channel: the other processes.
        rng: which and in what order; differs between processes.
        sums: metrics, added to.
    """
    device = network.device
    newest = store.newest
    count = channel.total(np.array([float(len(newest))]))[0]
    num_steps = max(1, round(count / config.minibatch))
    share = channel.size * num_steps / max(1.0, count)
    for epoch in range(config.epochs):
        drawn = store.draw(len(newest), rng) if epoch else newest
        for pick in np.array_split(rng.permutation(len(drawn)), num_steps):
            labels = drawn.rows(pick)
            logits_NA, _ = network(labels.words, labels.numbers, labels.points.astype(np.float32))
            early_N1 = tensor_of(labels.kind == DECIDE, device)[:, None]
            logits_NA = torch.where(early_N1, logits_NA, logits_NA / config.temperature)
            log_prob_NA = masked_log_softmax(logits_NA, legal_tensor(labels.mask, device))
            leads_NA = tensor_of(labels.leads.astype(np.float32), device)
            lead_N = (log_prob_NA.clamp_min(-80).exp() * leads_NA).sum(1)
            weight_N = torch.where(early_N1[:, 0], config.weight_before_play, 1.0)
            loss = -config.coef * share * (weight_N * lead_N).sum()
            step(network, optimizer, loss, channel, MAX_GRAD_NORM)
            if epoch == 0:  # before most of them were learned from: an honest figure
                chosen_N = log_prob_NA.detach().argmax(1)
                groups = {"kind": labels.kind, "stratum": labels.stratum}
                sums.add("lead", leads_NA.gather(1, chosen_N[:, None])[:, 0], groups)
