"""Compilation: nothing is compiled twice, users' settings stay, plain Python gives the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from king_env.rules.catalogue import load_variant
from tests.playing import VARIANTS
from tests.rules.factories import TEST_VARIANTS

ROOT = Path(__file__).resolve().parents[2]


def run(script: str, *arguments: str, **environment: str) -> dict[str, Any]:
    """Runs a script in a fresh process; returns the JSON of its last line."""
    result = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert result.returncode == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    found["stderr"] = result.stderr
    return found


# Plays through the doors of the engine, then tells what numba did.
USE_KERNELS = """
import json, sys
import numpy as np
from numba.core import event
with event.install_recorder("numba:compile") as compiled:
    from king_env.engine import jit, sample
    from king_env.envs.batch import BatchEnv
    from king_env.envs.aec import raw_env
    from king_env.game import Game
    env = BatchEnv("international", 4, obs="dense")
    state = env.reset()
    env.step(state.mask.argmax(axis=1))
    game = Game("turkish_short", seed=1)
    game.push(game.legal_actions[0])
    game.view(0).sample_worlds(2, np.random.default_rng(0))
    single = raw_env()
    single.reset(seed=1)
    single.state()
hits, misses, kernels = 0, 0, set()
for name, module in list(sys.modules.items()):
    if name.startswith("king_env."):
        for value in vars(module).values():
            if hasattr(value, "stats") and type(getattr(value, "_cache", None)) is jit._Cache:
                if id(value) not in kernels:
                    kernels.add(id(value))
                    hits += sum(value.stats.cache_hits.values())
                    misses += sum(value.stats.cache_misses.values())
print(json.dumps({"hits": hits, "misses": misses, "kernels": len(kernels),
                  "compiled": len(compiled.buffer), "folder": str(jit.CACHE_DIR)}))
"""


def check_second_process(**environment: str) -> dict[str, Any]:
    first = run(USE_KERNELS, **environment)
    second = run(USE_KERNELS, **environment)
    assert first["folder"] == second["folder"]
    assert second["kernels"] > 10 and second["hits"] > 8
    assert second["misses"] == 0, second
    assert second["compiled"] == 0, second
    assert "compiling" not in second["stderr"]
    return first


def test_a_second_process_compiles_nothing() -> None:
    check_second_process()


@pytest.mark.slow
def test_a_second_process_compiles_nothing_from_an_empty_cache(tmp_path: Path) -> None:
    first = check_second_process(KING_CACHE_DIR=str(tmp_path))
    assert first["misses"] > 8 and str(tmp_path) in first["folder"]
    assert first["stderr"].count("compiling") == 1


def test_the_users_numba_settings_stay(tmp_path: Path) -> None:
    script = """
import json, os
import numba
before = {name: repr(value) for name, value in vars(numba.config).items() if name.isupper()}
environment = dict(os.environ)
import king_env.envs.batch
king_env.envs.batch.BatchEnv(num_envs=1).reset()
after = {name: repr(value) for name, value in vars(numba.config).items() if name.isupper()}
changed = [name for name in before if before[name] != after.get(name)]
changed += [name for name in environment if environment[name] != os.environ.get(name)]

from numba.core.caching import FunctionCache
locators = [locator.__name__ for locator in FunctionCache._impl_class._locator_classes]
print(json.dumps({"changed": changed, "locators": locators,
                  "folder": str(numba.config.CACHE_DIR)}))
"""
    found = run(script, NUMBA_CACHE_DIR=str(tmp_path))
    assert found["changed"] == []
    assert found["folder"] == str(tmp_path)
    assert not [name for name in found["locators"] if name == "_Locator"]
    assert list(tmp_path.iterdir()) == []  # ours lie elsewhere


def test_the_cache_knows_all_sources_of_kernels() -> None:
    """A kernel reads constants of these packages: an edit must give a new folder."""
    script = """
import json, sys
from pathlib import Path
import king_env
from king_env.engine import jit
print(json.dumps({"sources": [str(path) for path in jit._sources()],
                  "package": str(Path(king_env.__file__).parent)}))
"""
    found = run(script)
    package = Path(found["package"])
    sources = {Path(name) for name in found["sources"]}
    needed = {package / "cards.py", *(package / "engine").glob("*.py")}
    needed |= {package / "rules" / "spec.py", package / "rules" / "tables.py"}
    needed |= {path for path in (package / "policy.py",) if "@kernel" in path.read_text()}
    train = package.parent / "train"
    needed |= {path for path in train.rglob("*.py") if "@kernel" in path.read_text()}
    assert needed <= sources, sorted(path.name for path in needed - sources)


# ---------------------------------------------------------------- plain Python

PLAY = """
import hashlib, json, random, sys, warnings
import numpy as np
warnings.simplefilter("error", RuntimeWarning)
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"king_env\\.engine\\.rng")
from king_env.engine import jit
from king_env.game import Game
from king_env.rules.catalogue import load_variant
name, options, num_deals = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
game = Game(load_variant(name, options), seed=5)
rng = random.Random(name)
digest = hashlib.sha256()
while not game.is_over and game.position < num_deals:
    legal = game.legal_actions
    digest.update(repr((game.phase, game.actor, legal, game.points)).encode())
    if rng.random() < 0.04:
        for seat in range(4):
            view = game.view(seat)
            digest.update(view.observation.tobytes())
            worlds = view.sample_worlds(1, np.random.default_rng(seat))
            digest.update(np.ascontiguousarray(worlds.deal.hands).tobytes())
    kinds = {}
    for action in legal:
        kinds.setdefault(game.names.format(action).partition(":")[0], []).append(action)
    pool = legal if game.phase == "PLAY" else kinds[rng.choice(sorted(kinds))][:3]
    game.push(rng.choice(pool))
print(json.dumps({"scores": [log.scores for log in game.deals], "digest": digest.hexdigest(),
                  "disabled": jit.JIT_DISABLED}))
"""
OPTIONS = {
    "international": {"a.must_trump": True, "a.must_overtrump": True, "early_end": "auto",
                      "a.no_king_force": "first_opportunity", "a.auction.match": "same_value"},
    "turkish_short": {"d.global_cap": 2, "d.force_penalty": "discard_and_duck"},
}  # fmt: skip


def plain_equals_compiled(name: str, options: dict[str, Any], num_deals: int) -> None:
    arguments = (name, json.dumps(options), str(num_deals))
    compiled = run(PLAY, *arguments)
    plain = run(PLAY, *arguments, NUMBA_DISABLE_JIT="1")
    assert plain.pop("disabled") and not compiled.pop("disabled")
    plain.pop("stderr")
    compiled.pop("stderr")
    assert plain == compiled
    finished = [scores for scores in plain["scores"] if scores is not None]
    whole = len(load_variant(name, options).spec.deals)
    assert len(finished) == min(num_deals, whole)


def path_of(variant: str) -> str:
    own = TEST_VARIANTS / f"{variant}.toml"
    return str(own) if own.exists() else variant


def test_plain_python_equals_compiled_code_for_a_deal() -> None:
    plain_equals_compiled("turkish_short", {}, 1)


@pytest.mark.slow
@pytest.mark.parametrize("with_options", [False, True])
@pytest.mark.parametrize("variant", VARIANTS)
def test_plain_python_equals_compiled_code(variant: str, with_options: bool) -> None:
    options = OPTIONS.get(variant, {}) if with_options else {}
    if with_options and not options:
        pytest.skip("no options to set")
    plain_equals_compiled(path_of(variant), options, 99)


@pytest.mark.slow
def test_the_batched_environment_in_plain_python() -> None:
    script = """
import hashlib, json, warnings
import numpy as np
warnings.simplefilter("error", RuntimeWarning)
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"king_env\\.engine\\.rng")
from king_env.envs.batch import BatchEnv
digest = hashlib.sha256()
for start in ("decision", "play"):
    env = BatchEnv(["international", "turkish_short"], 4, obs="dense", start=start, seed=2,
                   autoreset="same_step")
    state = env.reset()
    rng = np.random.default_rng(1)
    for _ in range(60):
        for part in (state.rows, state.seat, state.bits, state.numbers, state.mask, state.reward):
            digest.update(np.ascontiguousarray(part).tobytes())
        state = env.step((rng.random(state.mask.shape) * state.mask).argmax(axis=1))
print(json.dumps({"digest": digest.hexdigest()}))
"""
    assert run(script)["digest"] == run(script, NUMBA_DISABLE_JIT="1")["digest"]
