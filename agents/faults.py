"""What an agent does that loses it a deal instead of stopping the evaluation."""

from __future__ import annotations

from typing import Final

CRASH: Final = "crash"
TIMEOUT: Final = "timeout"
ILLEGAL: Final = "illegal"
MALFORMED: Final = "malformed"
KINDS: Final = (CRASH, TIMEOUT, ILLEGAL, MALFORMED)
"""The kinds of fault: it ended or raised an error; it answered too late; it chose an action that is
not legal; its answer could not be read."""


class AgentFault(Exception):
    """An agent gave no usable action; whoever runs the table decides what follows.

    Attributes:
        kind: one of ``KINDS``.
    """

    def __init__(self, kind: str, text: str) -> None:
        assert kind in KINDS
        self.kind = kind
        super().__init__(text)
