"""What makes two agents of one name the same agent: hashes of files, names and versions."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shlex
from collections.abc import Iterable
from importlib.metadata import entry_points
from pathlib import Path

import agents
import king_env
from agents.ids import POLICY_IDS, RELEASED
from agents.registry import ENTRY_POINT_GROUP, network_search, parse_name
from agents.search.names import SEARCHES
from king_env.rules.catalogue import Variant


def hash_files(files: Iterable[Path]) -> str:
    """Returns 16 hex digits that change with the text of any of the files."""
    digest = hashlib.sha256()
    for file in dict.fromkeys(files):
        digest.update(file.name.encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def engine_identity() -> str:
    """Returns a hash of the sources that decide how games go."""
    root = Path(king_env.__file__).parent
    files = [root / "cards.py", *sorted((root / "engine").glob("*.py"))]
    return hash_files([*files, *sorted((root / "rules").glob("*.py"))])


def variant_identity(variant: Variant) -> str:
    """Returns a hash of a variant's resolved data."""
    text = json.dumps(variant.data, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def agent_identity(name: str) -> str:
    """Returns a text that changes when an agent's name comes to mean another agent.

    For an agent of ours the sources it is made of; for a network the hash of its two files; for
    search with a network both; for a class the file of its module; for a program the files its
    command names; for an entry point the distribution and its version.

    Raises:
        AgentError: if the name cannot be taken apart.
        CheckpointError: if it names no usable checkpoint.
    """
    parsed = parse_name(name)
    if parsed.name in POLICY_IDS:
        return f"kernels {_own_sources('kernels')}"
    if parsed.name in SEARCHES:
        return f"search {_own_sources('kernels', 'search', 'neural')}"
    combined = network_search(parsed)
    if combined is not None:
        network = agent_identity(combined.network)
        return f"search {_own_sources('kernels', 'search', 'neural')}, {network}"
    if parsed.name in RELEASED:
        from agents.pretrained import released_file

        name = str(released_file(parsed.name))
    if parsed.name == "exec":
        words = [Path(word) for word in shlex.split(parsed.argument)]
        return f"files {hash_files(path for path in words if path.is_file())}"
    path = parsed.argument if parsed.name == "checkpoint" else name.strip().split(",")[0]
    if parsed.name == "checkpoint" or Path(path).exists():
        from agents.neural.weights import find_checkpoint

        file = find_checkpoint(path)
        return f"checkpoint {hash_files([file, file.with_suffix('.json')])}"
    for entry in entry_points(group=ENTRY_POINT_GROUP, name=parsed.name):
        if entry.dist is not None and not entry.value.startswith("agents."):
            return f"{entry.value} of {entry.dist.name} {entry.dist.version}"
    try:
        found = importlib.util.find_spec(parsed.name)
    except (ImportError, ValueError):
        found = None
    if found is not None and found.origin and Path(found.origin).is_file():
        return f"module {hash_files([Path(found.origin)])}"
    return f"sources {_own_sources()}"


def _own_sources(*folders: str) -> str:
    """Returns a hash of our agents' sources: of some folders, or of all."""
    root = Path(agents.__file__).parent
    files = [file for folder in folders or ("",) for file in sorted((root / folder).rglob("*.py"))]
    return hash_files([*files, root / "hand_values.py"])
