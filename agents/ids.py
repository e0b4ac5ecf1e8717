"""Names and numbers of the compiled policies, apart from the kernels: a name is checked quickly."""

from __future__ import annotations

from typing import Final

RANDOM: Final = 1
GREEDY: Final = 2
RULE: Final = 3
NET: Final = 4
"""A network, whose weights travel beside the number; it plays in searches, not in ``control``."""

POLICY_IDS: Final = {"random": RANDOM, "greedy": GREEDY, "rule": RULE, "rule@1": RULE}
"""What ``games.control`` holds for a seat that a policy plays; 0 is the caller.

A name with a number is frozen: it never plays otherwise, so that figures against it stay true. A
policy that plays better gets the next number, an id and a kernel of its own, and the bare name.
"""

RELEASED: Final = {"net": "family", "net@1": "family"}
"""Files of ``agents.pretrained`` by agent name, without their endings."""
