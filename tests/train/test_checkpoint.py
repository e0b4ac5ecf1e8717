from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from agents.neural.network import ActorCritic
from agents.neural.policy import load_policy
from agents.neural.weights import CheckpointError, load_weights
from agents.registry import make_agent
from king_env.engine import observe
from king_env.engine.actions import NUM_ACTIONS
from king_env.engine.layout import allocate
from king_env.envs.batch import BatchEnv
from king_env.game import Game
from king_env.policy import BatchPolicy, decision_keys
from king_env.rules.catalogue import mean_deal_size
from train.checkpoint import (
    Progress,
    RunError,
    load_training,
    prune_checkpoints,
    replace_file,
    save_checkpoint,
)
from train.config import DrawConfig
from train.rollout import Decisions

from .helpers import columns_of, sampled, small_network, tiny, variants_of


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    network = small_network(variants_of("international"), rule_prior=0.5)
    optimizer = torch.optim.Adam(network.parameters())
    words = np.random.default_rng(0).integers(0, 2**63, (8, 21)).astype(np.uint64)
    numbers = np.ones((8, 59), dtype=np.int16)
    points = np.zeros((8, NUM_ACTIONS), dtype=np.float32)
    logits, values = network(words, numbers, points)
    (logits.sum() + values.sum()).backward()
    optimizer.step()
    progress = Progress(iteration=12, decisions=345)
    save_checkpoint(folder, network, optimizer, progress, tiny(), variants_of("international"))
    return folder


def dense_input(network: ActorCritic, made: Decisions) -> torch.Tensor:
    """Returns `[D, C]` float32, what environments show of a rollout's positions."""
    bits = observe.unpack_bits(made.words, observe.NUM_BITS)
    return torch.from_numpy(observe.features(bits, made.numbers)[:, network.columns])


def test_a_checkpoint_gives_the_same_network(run: Path) -> None:
    variants = variants_of("international")
    weights = load_weights(run)
    network = small_network(variants, rule_prior=0.5)
    optimizer = torch.optim.Adam(network.parameters())
    load_training(run / "checkpoints/0012.safetensors", network, optimizer)
    for name, tensor in network.tensors().items():
        assert np.array_equal(tensor, weights.tensors[name])
    assert len(optimizer.state) == 8
    assert weights.meta["progress"]["decisions"] == 345
    policy = load_policy(run)
    made = sampled(network, variants, 20)
    with torch.no_grad():
        logits, values = network(made.words, made.numbers, made.points)
        logits -= 0.5 * torch.from_numpy(made.points)
        dense = dense_input(network, made) @ network.first_weight
    first = np.maximum(dense.numpy() + weights.tensors["first.bias"], 0)
    assert np.allclose(
        np.maximum(first @ weights.tensors["second.weight"] + weights.tensors["second.bias"], 0)
        @ weights.tensors["policy.weight"]
        + weights.tensors["policy.bias"],
        logits.numpy(),
        atol=1e-4,
    )
    own_logits, own_values = policy.forward(made.words, made.numbers)
    assert np.allclose(own_logits, logits.numpy(), atol=1e-4)
    assert np.allclose(own_values, values.numpy(), atol=1e-4)


def test_the_sparse_gradient_is_the_dense_one() -> None:
    variants = variants_of("international")
    network = small_network(variants)
    made = sampled(network, variants, 10)
    logits, values = network(made.words, made.numbers, made.points)
    torch.autograd.backward([logits.square().sum() + values.sum()])
    sparse = [p.grad.clone() for p in network.parameters() if p.grad is not None]
    network.zero_grad()
    hidden = dense_input(network, made) @ network.first_weight
    hidden = torch.relu(hidden + network.first_bias)
    hidden = torch.relu(hidden @ network.second_weight + network.second_bias)
    logits = hidden @ network.policy_weight + network.policy_bias
    values = hidden @ network.value_weight + network.value_bias
    torch.autograd.backward([logits.square().sum() + values.sum()])
    dense = [p.grad for p in network.parameters() if p.grad is not None]
    assert len(sparse) == len(dense) == 8
    for one, other in zip(sparse, dense, strict=True):
        assert torch.allclose(one, other, rtol=1e-3, atol=1e-4)


def test_another_device_sees_the_same_inputs() -> None:
    variants = variants_of("international", "rifki")
    network = small_network(variants)
    made = sampled(network, variants, 10)
    seen = network.first_layer.inputs(made.words, made.numbers)
    assert seen.dtype == torch.float32
    assert torch.allclose(seen, dense_input(network, made), rtol=1e-6, atol=0)


def test_a_new_network_on_the_rule_agents_opinion_plays_as_that_agent(tmp_path: Path) -> None:
    variants = variants_of("international", "rifki", "russian_auction", "turkish_short")
    network = ActorCritic(columns_of(variants, DrawConfig(), True), 32, rule_prior=1.0)
    optimizer = torch.optim.Adam(network.parameters())
    save_checkpoint(tmp_path, network, optimizer, Progress(), tiny(), variants)
    policy, rule = load_policy(tmp_path), make_agent("rule")
    assert isinstance(rule, BatchPolicy)
    env = BatchEnv(variants, 80, seed=4)
    step = env.reset()
    alike = []
    for _ in range(60):
        keys = np.zeros(len(step.rows), dtype=np.uint64)
        games = env.games[step.rows].view(np.recarray)
        expected = rule.act_batch(games, env.tables, keys)
        found = policy.act_batch(games, env.tables, keys)
        alike += list(found == expected)
        step = env.step(expected)
    assert np.mean(alike) > 0.97  # the rest are cards that it holds to be equally good


@pytest.mark.parametrize("sample", [False, True])
def test_one_position_and_a_batch_choose_alike(run: Path, sample: bool) -> None:
    policy = load_policy(run, sample=sample)
    env = BatchEnv("international", 50, seed=3)
    step = env.reset()
    for _ in range(25):
        keys = np.empty(len(step.rows), dtype=np.uint64)
        decision_keys(env.games, step.rows, np.uint64(1), keys)  # type: ignore[arg-type]
        games = env.games[step.rows].view(np.recarray)
        batch = policy.act_batch(games, env.tables, keys)
        single = [
            policy.act_game(env.games, env.tables, int(row), int(seat), key)
            for row, seat, key in zip(step.rows, step.seat, keys, strict=True)
        ]
        assert np.mean(batch == np.array(single)) > 0.99  # sums in another order may tip a tie
        step = env.step(batch)


def test_probabilities_are_what_it_draws_with_and_what_the_network_says(run: Path) -> None:
    policy = load_policy(run, sample=True)
    game = Game("international", seed=6, start="play", episode="deal")
    for card in range(20):
        assert game.actor is not None
        view = game.view(game.actor)
        found = policy.probabilities(view)
        assert found.shape == (NUM_ACTIONS,) and found.sum() == pytest.approx(1.0)
        assert set(np.flatnonzero(found)) <= set(view.legal_actions)
        if card == 0:  # the draws' frequencies
            keys = np.arange(4000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            views = allocate(4000)
            views[:] = view.record
            drawn = policy.act_batch(views, view.tables, keys)
            shares = np.bincount(drawn, minlength=NUM_ACTIONS) / 4000
            assert np.abs(shares - found).max() < 0.04 and found.max() < 0.95
        game.push(load_policy(run).act(view, np.random.default_rng(0)))
        assert found[game.deals[0].actions[-1][1]] == found.max()


def test_a_value_is_the_networks_in_points(run: Path) -> None:
    policy = load_policy(run)
    game = Game("international", seed=6)
    view = game.view(0)
    words, numbers, _, _ = policy.look(view.record, view.tables, np.zeros(1, dtype=np.int64))
    _, values = policy.forward(words, numbers)
    scale = mean_deal_size(game.variant.spec)
    assert policy.value(view) == pytest.approx(float(values[0]) * scale) != 0


def test_playing_needs_no_torch(run: Path) -> None:
    code = (
        "import sys, numpy as np\n"
        "from agents.neural.policy import load_policy\n"
        "from king_env.envs.batch import BatchEnv\n"
        f"policy = load_policy({str(run)!r})\n"
        "env = BatchEnv('international', 4)\n"
        "env.reset()\n"
        "action = policy.act_game(env.games, env.tables, 0, int(env.games.deal.actor[0]),"
        " np.uint64(1))\n"
        "env.step(np.array([action] + [int(policy.act_game(env.games, env.tables, i,"
        " int(env.games.deal.actor[i]), np.uint64(1))) for i in (1, 2, 3)]))\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


def _edit(**changes: Any) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        file = folder / "checkpoints/0012.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))

    return edit


def _tensors(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        file = folder / "checkpoints/0012.safetensors"
        tensors = load_file(file)
        change(tensors)
        save_file(tensors, file)

    return edit


def _write(name: str, data: bytes) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        (folder / name).write_bytes(data)

    return edit


def _delete(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


@pytest.mark.parametrize(
    ("damage", "parts"),
    [
        (_edit(observation_version=99), ["observation_version", "found 99", "allowed:"]),
        (_edit(num_actions=7), ["num_actions", "found 7", "allowed:"]),
        (_edit(kind="other"), ["kind", "'other'"]),
        (_edit(columns=[5, 4]), ["columns", "ascending"]),
        (_edit(columns=["a"]), ["columns"]),
        (_edit(columns=[0, 1, 2]), ["first.weight", "allowed: float32 [3, 32]"]),
        (_edit(canonical_suits=1), ["canonical_suits", "allowed: true, false"]),
        (_edit(rule_prior="much"), ["rule_prior", "found 'much'", "allowed: 0 to 100"]),
        (_write("checkpoints/0012.json", b"{"), ["0012.json", "not valid JSON"]),
        (_write("checkpoints/0012.json", b"[]"), ["expected a JSON object"]),
        (_write("checkpoints/0012.safetensors", b"x" * 40), ["0012.safetensors", "not a whole"]),
        (_delete("checkpoints/0012.json"), ["0012.json", "cannot be read"]),
        (_delete("checkpoints/0012.safetensors"), ["there is no such file"]),
        (_write("latest.json", b"{}"), ["latest.json", "'checkpoint' is missing"]),
        (_tensors(lambda t: t.pop("value.bias")), ["found the tensors", "value.bias"]),
        (
            _tensors(lambda t: t.update({"policy.bias": np.zeros(3, dtype=np.float32)})),
            ["policy.bias", "found float32 [3]"],
        ),
        (
            _tensors(lambda t: t.update({"policy.bias": t["policy.bias"] * np.nan})),
            ["policy.bias", "not finite"],
        ),
    ],
)
def test_broken_and_foreign_checkpoints_say_so_in_one_line(
    run: Path, tmp_path: Path, damage: Callable[[Path], None], parts: list[str]
) -> None:
    import shutil

    folder = tmp_path / "copy"
    shutil.copytree(run, folder)
    damage(folder)
    with pytest.raises(CheckpointError) as caught:
        load_policy(folder)
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert part in message, message


def test_what_is_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no such file or folder"):
        load_policy(tmp_path / "nothing")
    with pytest.raises(CheckpointError, match="holds no checkpoint"):
        load_policy(tmp_path)
    (tmp_path / "a.txt").write_text("a")
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        load_policy(tmp_path / "a.txt")


def test_every_form_of_path_finds_the_checkpoint(run: Path) -> None:
    for path in (
        run,
        run / "checkpoints",
        run / "latest.json",
        run / "checkpoints/0012.json",
        run / "checkpoints/0012.safetensors",
    ):
        assert load_policy(path).weights.meta["decisions"] == 345


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "file"
    replace_file(file, b"old")
    with pytest.raises(RunError, match=r"cannot be written: .*"):
        replace_file(file / "below", b"new")
    assert file.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_old_checkpoints_are_deleted_but_those_kept(tmp_path: Path) -> None:
    network = small_network(variants_of("international"))
    optimizer = torch.optim.Adam(network.parameters())
    for iteration in (1, 2, 3, 4):
        save_checkpoint(
            tmp_path,
            network,
            optimizer,
            Progress(iteration=iteration),
            tiny(),
            variants_of("international"),
        )
    prune_checkpoints(tmp_path, {"0001"})
    left = {path.name for path in (tmp_path / "checkpoints").iterdir()}
    whole = {f"{n:04d}{suffix}" for n in (3, 4)
             for suffix in (".json", ".safetensors", ".training.safetensors")}  # fmt: skip
    assert left == whole | {"0001.json", "0001.safetensors"}
