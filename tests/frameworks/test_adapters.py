"""What all adapters share: lazy imports, missing packages, observations, weights; the versions."""

from __future__ import annotations

import contextlib
import importlib
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement

import king_env.adapters
from king_env.adapters import EXTRAS, FrameworkMissingError, framework
from king_env.adapters.agent import ScoreAgent, look
from king_env.engine import observe
from king_env.engine.actions import NUM_ACTIONS
from king_env.envs.aec import raw_env
from train.evaluation.duplicate import evaluate

ROOT = Path(king_env.adapters.__file__).parents[2]
ADAPTERS = {
    "agilerl": "agilerl",
    "open_spiel": "pyspiel",
    "rlcard": "rlcard",
    "rllib": "ray.rllib",
    "sb3": "stable_baselines3",
    "skrl": "skrl",
    "tianshou": "tianshou",
    "torchrl": "torchrl",
}
"""The framework of each adapter, by the name it is imported under."""


@pytest.mark.parametrize("name", os.environ.get("KING_FRAMEWORKS", "").split())
def test_the_framework_is_installed(name: str) -> None:
    """Its tests would be skipped otherwise, and nobody would see it."""
    importlib.import_module(name)


@pytest.mark.parametrize("line", os.environ.get("KING_VERSIONS", "").split())
def test_the_version_is_the_one_meant(line: str) -> None:
    wanted = Requirement(line)
    assert wanted.specifier.contains(metadata.version(wanted.name))


def test_every_adapter_is_listed() -> None:
    files = {path.stem for path in (ROOT / "king_env/adapters").glob("*.py")}
    assert files == {*ADAPTERS, "__init__", "agent", "seats"}
    assert {path.stem for path in (ROOT / "train/frameworks").glob("*.py")} == {
        *ADAPTERS,
        "__init__",
        "cleanrl",
        "common",
    }
    assert set(ADAPTERS.values()) <= set(EXTRAS)


@pytest.mark.parametrize("name", ADAPTERS)
def test_a_missing_framework_is_one_line_with_the_command(name: str) -> None:
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module(ADAPTERS[name])
        pytest.skip("it is installed")
    with pytest.raises(FrameworkMissingError) as caught:
        importlib.import_module(f"king_env.adapters.{name}")
    extra = EXTRAS[ADAPTERS[name]]
    expected = f"{ADAPTERS[name]} is not installed: pip install 'king-env[{extra}]'"
    assert str(caught.value) == expected


def test_an_error_within_a_framework_is_its_own() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_part"):
        framework("json.no_such_part")


def test_king_env_imports_no_framework() -> None:
    names = sorted({*ADAPTERS.values(), "torch", "tensordict"})
    code = (
        "import sys, king_env.adapters, king_env.adapters.agent, king_env.adapters.seats\n"
        "from king_env import king_v0\n"
        f"print([name for name in {names} if name in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True, text=True
    )
    assert found.stdout.strip() == "[]"


def test_agents_see_what_the_environment_shows() -> None:
    env = raw_env("russian_ordered", episode="deal")
    rng = np.random.default_rng(1)
    for deal in range(8):
        env.reset(seed=1, options={"match": deal})
        while not env.game.is_over:
            seen = env.observe(env.agent_selection)
            view = env.game.view(env.game.actor or 0)
            observations, masks = look(view.record, view.tables)
            assert np.array_equal(observations[0], seen["observation"])
            assert np.array_equal(masks[0], seen["action_mask"])
            env.step(rng.choice(np.flatnonzero(seen["action_mask"])))


def test_a_score_agent_is_the_same_alone_and_in_batches() -> None:
    weights = np.random.default_rng(1).normal(size=(observe.NUM_FEATURES, NUM_ACTIONS))
    agent = ScoreAgent("scores", lambda seen: seen @ weights)

    class Alone:
        name = "alone"
        act = agent.act

    batched, alone = (evaluate(who, "random", deals=3) for who in (agent, Alone()))
    assert batched.margin == alone.margin


def test_weights_of_a_torch_network_play_without_torch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from train.frameworks.common import MlpAgent, save_layers

    nn = torch.nn
    torch.manual_seed(1)
    seen = torch.randn(7, 5)
    plain = nn.Sequential(nn.Linear(5, 6), nn.ReLU(), nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 3))
    normed = nn.Sequential(nn.BatchNorm1d(5), nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 3))
    normed(3 * torch.randn(50, 5) + 1)
    for network in (plain, normed.eval()):
        save_layers(tmp_path / "w.safetensors", network)
        found = MlpAgent(str(tmp_path / "w.safetensors")).scores(seen.numpy())
        assert np.allclose(found, network(seen).detach().numpy(), atol=1e-5)
