"""The wheel, used as a stranger would: an empty environment, far from the checkout, no torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {"king_env", "agents", "train"}
EVALUATION_KEYS = {
    "benchmark",
    "candidate",
    "against",
    "variant",
    "start",
    "deals",
    "margin",
    "low",
    "high",
    "by_contract",
    "declared",
}

pytestmark = pytest.mark.slow


def _run(
    *command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None, code: int = 0
) -> str:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == code, f"{command}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    (path,) = folder.glob("king_env-*.whl")
    return path


@pytest.fixture(scope="module")
def scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment that holds the wheel without extras."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    _run(sys.executable, "-m", "venv", folder)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    constraints = ROOT / "constraints.txt"
    _run(programs / "python", "-m", "pip", "install", "--quiet", "-c", constraints, wheel)
    return programs


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("elsewhere")


@pytest.fixture(scope="module")
def clean_env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """This process's environment without what would lead back to the checkout or its cache."""
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "KING_", "NUMBA_"))
    }
    return env | {"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}


def test_wheel_holds_packages_and_their_data(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    folders = {name.partition("/")[0] for name in names}
    assert {name for name in folders if not name.endswith(".dist-info")} == PACKAGES
    assert {f"{package}/py.typed" for package in PACKAGES} <= names
    variants = ROOT / "king_env" / "rules" / "variants"
    assert (variants / "international.toml").is_file()
    expected = {f"king_env/rules/variants/{path.name}" for path in variants.glob("*.toml")}
    expected |= {
        f"train/configs/{path.relative_to(ROOT / 'configs').as_posix()}"
        for path in (ROOT / "configs").rglob("*.toml")
    }
    assert "train/configs/international.toml" in expected
    data = (ROOT / "agents" / "pretrained").glob("*.*")
    expected |= {f"agents/pretrained/{path.name}" for path in data}
    assert "agents/pretrained/__init__.py" in expected
    assert expected <= names, f"missing: {sorted(expected - names)}"


def test_wheel_needs_no_torch(scripts: Path, elsewhere: Path, clean_env: dict[str, str]) -> None:
    lines = (
        "import importlib.util, pathlib, agents, king_env, train",
        "assert importlib.util.find_spec('torch') is None",
        "print(pathlib.Path(king_env.__file__).resolve())",
    )
    where = _run(scripts / "python", "-c", "\n".join(lines), cwd=elsewhere, env=clean_env)
    assert not Path(where.strip()).is_relative_to(ROOT)


def test_king_variants(scripts: Path, elsewhere: Path, clean_env: dict[str, str]) -> None:
    text = _run(scripts / "king", "variants", cwd=elsewhere, env=clean_env)
    assert "international" in text
    assert "turkish_short" in text


def test_king_evaluate(scripts: Path, elsewhere: Path, clean_env: dict[str, str]) -> None:
    command = "evaluate rule --against random --deals 8 --start play --json".split()
    report = json.loads(_run(scripts / "king", *command, cwd=elsewhere, env=clean_env))
    assert report.keys() >= EVALUATION_KEYS
    assert (report["against"], report["start"], report["deals"]) == ("random", "play", 8)
    assert report["low"] <= report["margin"] <= report["high"]
    for stratum in report["by_contract"].values():
        assert stratum.keys() >= {"margin", "low", "high", "deals"}
    assert sum(stratum["deals"] for stratum in report["by_contract"].values()) == 8
