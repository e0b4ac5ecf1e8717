"""An agent in a process of its own, in any language: JSON lines over standard input and output.

The suite writes one line, the agent answers with one line; ``docs/agents.md`` describes them. All
that is needed to decide is in the line of a decision, because many tables are played in turn by one
process. A process that crashes, answers too late, or answers something that is not a legal action
is at fault (``agents.faults``). Where it may have lost step it is ended, and started anew when the
agent is next asked.
"""

from __future__ import annotations

import json
import os
import queue
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import weakref
from typing import Any, BinaryIO, Final

import numpy as np

from agents.faults import CRASH, ILLEGAL, MALFORMED, TIMEOUT, AgentFault
from king_env.cards import CARD_NAMES, NUM_CARDS
from king_env.engine.actions import NUM_ACTIONS, ActionId, ActionNames
from king_env.rules.catalogue import Variant
from king_env.view import View

SCHEMA: Final = 1
"""Version of the lines."""
LIMIT_S: Final = 1.0
"""Seconds for a decision, where nothing else is said."""
START_S: Final = 30.0
"""Seconds from the start of the process to its answer to the first line."""
MAX_LINE: Final = 1 << 16
"""Longest answer in bytes."""
MAX_STARTS: Final = 5
"""Starts in a row without a single answer after which a process is not started again."""

_END: Final = b""


class ProcessAgent:
    """An agent that runs as a command.

    Args:
        command: the command with its arguments, as a shell would split it; no shell runs it.
        name: name in tables.
        limit_s: seconds for a decision.
        start_s: seconds from the start of the process to its answer to the first line.
        observation: send the observation vector and the action mask too.

    Raises:
        ValueError: if the command is empty or there is no such program.
    """

    def __init__(
        self,
        command: str,
        *,
        name: str = "exec",
        limit_s: float = LIMIT_S,
        start_s: float = START_S,
        observation: bool = False,
    ) -> None:
        try:
            self.command = shlex.split(command)
        except ValueError as error:
            raise ValueError(f"command {command!r}: {error}") from None
        if not self.command:
            raise ValueError("command: found none; expected a program and its arguments")
        if shutil.which(self.command[0]) is None:
            raise ValueError(f"command {command!r}: {self.command[0]}: no such program")
        self.name = name
        self.limit_s = limit_s
        self.start_s = start_s
        self.observation = observation
        self._running: _Running | None = None
        self._variant: Variant | None = None
        self._failed_starts = 0

    def act(self, view: View, rng: np.random.Generator) -> ActionId:
        """Returns the action that the process answers.

        Raises:
            AgentFault: if it crashes, is too late, or answers no legal action.
        """
        question = decision_line(view, int(rng.integers(0, 2**32)), self.observation)
        try:
            answer = self._start(view.variant).ask(question, self.limit_s)
        except AgentFault:
            self.close()
            raise
        self._failed_starts = 0
        return _action(answer, view)

    def _start(self, variant: Variant) -> _Running:
        """Returns the process, started and greeted."""
        if self._running is not None and self._variant is variant:
            return self._running
        self.close()
        if self._failed_starts >= MAX_STARTS:
            raise AgentFault(CRASH, f"not started again after {MAX_STARTS} starts without answer")
        self._failed_starts += 1
        self._running = _Running(self.command)
        self._variant = variant
        answer = self._running.ask(hello_line(variant, self.limit_s), self.start_s)
        if not isinstance(_parse(answer), dict):
            raise AgentFault(
                MALFORMED, f"answer to hello: expected an object, found {_cut(answer)}"
            )
        return self._running

    def close(self) -> None:
        """Ends the process, if one runs."""
        if self._running is not None:
            self._running.end()
            self._running = None


def hello_line(variant: Variant, limit_s: float) -> dict[str, Any]:
    """Returns the first line that a process gets."""
    names = ActionNames(variant.spec)
    line: dict[str, Any] = {
        "type": "hello",
        "schema": SCHEMA,
        "variant": variant.name,
        "options": dict(variant.options),
        "pack": variant.spec.pack,
        "direction": variant.spec.direction,
        "partnership": variant.spec.partnership,
        "deals": len(variant.spec.deals),
        "actions": [names.format(action) for action in range(NUM_ACTIONS)],
        "limit": limit_s,
    }
    if not variant.shipped:
        line["spec"] = variant.data
    return line


def decision_line(view: View, number: int, observation: bool = False) -> dict[str, Any]:
    """Returns the line that asks for a decision: what the seat may know, and nothing else.

    Args:
        view: of the seat to act.
        number: random, 0 .. 2**32 - 1.
        observation: add ``observation`` and ``action_mask``.
    """
    record = view.record[0]
    line: dict[str, Any] = {
        "type": "decision",
        "seat": view.seat,
        "phase": view.phase,
        "deal": int(record.position),
        "dealer": int(record.deal.dealer),
        "contract": view.contract,
        "trump": view.trump,
        "hand": view.hand,
        "trick": view.trick,
        "shown": _shown(record.deal),
        "history": [[seat, view.names.format(action)] for seat, action in view.history],
        "scores": [int(total) for total in record.totals],
        "legal": [view.names.format(action) for action in view.legal_actions],
        "random": number,
    }
    if observation:
        line["observation"] = [round(float(value), 6) for value in view.observation]
        line["action_mask"] = view.action_mask.tolist()
    return line


def _shown(deal: Any) -> list[Any] | None:
    """Returns the seat and the name of a card shown to all, or None."""
    card = int(deal.shown)
    return [int(deal.shown_owner), CARD_NAMES[card]] if card < NUM_CARDS else None


def _action(answer: bytes, view: View) -> ActionId:
    """Returns the action of an answer."""
    data = _parse(answer)
    name = data.get("action") if isinstance(data, dict) else None
    if not isinstance(name, str):
        raise AgentFault(MALFORMED, f'expected {{"action": NAME}}, found {_cut(answer)}')
    for action in view.legal_actions:
        if view.names.format(action) == name:
            return action
    legal = ", ".join(view.names.format(action) for action in view.legal_actions)
    raise AgentFault(ILLEGAL, f"action {name[:40]!r} in phase {view.phase}; legal: {legal}")


def _parse(answer: bytes) -> Any:
    try:
        return json.loads(answer)
    except (ValueError, RecursionError):
        return None


def _cut(answer: bytes) -> str:
    return repr(answer[:60].decode("utf-8", "replace").strip())


class _Running:
    """A process at work: a thread reads its answers, so that waiting for one can end."""

    def __init__(self, command: list[str]) -> None:
        self.errors: Any = tempfile.TemporaryFile()  # lives as long as the process
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.errors,
                start_new_session=True,  # Ctrl-C is ours; and all it starts can be ended with it
            )
        except OSError as error:
            self.errors.close()
            raise AgentFault(CRASH, f"{command[0]}: {error.strerror or error}") from None
        self.lines: queue.Queue[bytes] = queue.Queue(maxsize=16)
        assert self.process.stdout is not None
        threading.Thread(target=_read, args=(self.process.stdout, self.lines), daemon=True).start()
        self._finalizer = weakref.finalize(self, _kill, self.process)

    def ask(self, question: dict[str, Any], limit_s: float) -> bytes:
        """Writes a line and returns the answer.

        Raises:
            AgentFault: if there is none in time, or more than was asked for.
        """
        if not self.lines.empty():
            early = self.lines.get_nowait()
            if early != _END:
                raise AgentFault(MALFORMED, f"a line that was not asked for: {_cut(early)}")
            raise self._crash()
        stdin = self.process.stdin
        assert stdin is not None
        deadline = time.monotonic() + limit_s
        try:
            stdin.write(json.dumps(question, separators=(",", ":")).encode() + b"\n")
            stdin.flush()
        except OSError:
            raise self._crash() from None
        try:
            answer = self.lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            what = question["type"]
            raise AgentFault(TIMEOUT, f"no answer to {what} within {limit_s:g} s") from None
        if answer == _END:
            raise self._crash()
        if not answer.endswith(b"\n"):
            raise AgentFault(MALFORMED, f"no line of up to {MAX_LINE:,} bytes: {_cut(answer)}")
        return answer

    def _crash(self) -> AgentFault:
        """Returns the fault of a process that has closed its output, with its last words."""
        try:
            code: int | None = self.process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            code = None
        self.errors.seek(0, os.SEEK_END)
        self.errors.seek(max(0, self.errors.tell() - 2000))
        words = self.errors.read().decode("utf-8", "replace").strip().splitlines()
        ended = "closed its output" if code is None else f"ended with status {code}"
        return AgentFault(CRASH, f"the process {ended}" + (f": {words[-1]}" if words else ""))

    def end(self) -> None:
        """Ends the process and all that it started."""
        self._finalizer()
        self.errors.close()


def _read(source: BinaryIO, lines: queue.Queue[bytes]) -> None:
    """Passes on lines; the empty one is the end."""
    with source:
        while True:
            try:
                line = source.readline(MAX_LINE)
            except (OSError, ValueError):
                line = _END
            for entry in (line,) if line.endswith(b"\n") or line == _END else (line, _END):
                try:
                    lines.put_nowait(entry)
                except queue.Full:  # it was asked for one line: what comes first is fault enough
                    pass
            if not line.endswith(b"\n"):
                return


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and its children, which may have outlived it, and waits for it.

    It is called at once when the process is found to have ended, before its number is used again.
    """
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:  # there is none left
        pass
    except (AttributeError, OSError):  # a system without groups of processes
        process.kill()
    if process.stdin is not None:
        try:
            process.stdin.close()
        except OSError:
            pass
    process.wait()
