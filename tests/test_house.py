"""What holds for the repository as a whole: layers, pins, and nothing of one machine in a file."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]

# A package may import itself and what stands before it.
LAYERS = ("king_env", "agents", "train")

# Each file of pins, and the extras it is for.
PINS = {
    "constraints.txt": ("train", "tensorboard", "dev", "ray", "bench"),
    "constraints-frameworks.txt": ("frameworks", "test"),
    "constraints-rllib.txt": ("rllib", "test"),
    "constraints-agilerl.txt": ("agilerl", "test"),
}

# What builds of torch with CUDA bring along, by the beginnings of their names.
CUDA = ("cuda-", "nvidia-", "triton")

# Written so that no pattern finds itself.
FOREIGN = {
    "machine path": r"(^|[^\w.~-])/(work|root|home|opt|tmp)/[A-Za-z.]",
    "registry host": r"https?://[^ )]*(pypi|npm|debian)",
    "registry option": r"(extra-)?index-" + "url",
}


def _repository_files() -> list[Path]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listing = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    paths = (ROOT / name for name in listing.stdout.split("\0") if name)
    return [path for path in paths if path.is_file()]


def _imported_packages(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes(), str(path))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return {name.partition(".")[0] for name in names}


def _constraints(file: str = "constraints.txt") -> dict[str, Requirement]:
    lines = (ROOT / file).read_text().splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(pin.name): pin for pin in pins}


def _project_requirements(*extras: str) -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = list(project["dependencies"])
    for extra in extras:
        lines += project["optional-dependencies"][extra]
    return [Requirement(line) for line in lines]


def test_files_hold_nothing_of_one_machine() -> None:
    found = []
    for path in _repository_files():
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue  # a picture or weights
        for number, line in enumerate(lines, start=1):
            for what, pattern in FOREIGN.items():
                if re.search(pattern, line):
                    found.append(f"{path.relative_to(ROOT)}:{number}: {what}: {line.strip()[:80]}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("package", LAYERS)
def test_imports_point_one_way(package: str) -> None:
    later = set(LAYERS[LAYERS.index(package) + 1 :])
    found = [
        f"{path.relative_to(ROOT)} imports {', '.join(sorted(wrong))}"
        for path in sorted((ROOT / package).rglob("*.py"))
        if (wrong := _imported_packages(path) & later)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("file", PINS)
def test_constraints_are_exact_and_within_the_ranges(file: str) -> None:
    pins = _constraints(file)
    for pin in pins.values():
        assert re.fullmatch(r"==[^=*,]+", str(pin.specifier)), f"not an exact pin: {pin}"
    for requirement in _project_requirements(*PINS[file]):
        version = str(pins[canonicalize_name(requirement.name)].specifier).removeprefix("==")
        assert requirement.specifier.contains(version), f"{requirement} refuses {version}"


def test_constraints_pin_everything_that_is_installed() -> None:
    """In the environment of a framework too: ``make test-rllib`` and its like say which pins.

    The libraries of CUDA that some builds of torch bring are pinned by torch itself.
    """
    file = os.environ.get("KING_PINS", "constraints.txt")
    pins = _constraints(file)
    todo = _project_requirements(*PINS[file])
    seen: set[str] = set()
    while todo:
        requirement = todo.pop()
        name = canonicalize_name(requirement.name)
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        if name in seen:
            continue
        try:
            requires = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # only some of the extras are installed here
        seen.add(name)
        todo += [one for line in requires if not (one := Requirement(line)).name.startswith(CUDA)]
    assert "numba" in seen
    assert seen <= pins.keys(), f"not in {file}: {sorted(seen - pins.keys())}"
