# SPDX-License-Identifier: GPL-2.0
"""What can have happened to a request, with the exit status that says so."""

from dataclasses import dataclass, field

OK, TROUBLE, USAGE, NOTHING = 0, 1, 2, 3

# name: (exit status, headline, meaning)
VERDICTS = {
    "ok": (OK, "ANSWERED", "answered, or delivered if nothing is to answer"),
    "never-left": (10, "NEVER LEFT", "the sender's own SMI or device did not send it"),
    "never-arrived": (11, "NEVER ARRIVED", "it left a node, and the MAD layer of the next one did not see it"),
    "dropped": (12, "DROPPED", "a node discarded it by a rule"),
    "misrouted": (13, "MISROUTED", "it left by another port than the path says"),
    "wrong-node": (14, "ANSWERED BY THE WRONG NODE", "the answer is of another node than was asked"),
    "error-status": (15, "ANSWERED WITH AN ERROR", "the answer has a status that is not 0"),
    "silent": (16, "NOT ANSWERED", "it was handed to the agent of the node, which gave no answer"),
    "nobody-listens": (17, "NOBODY LISTENS", "it reached its node, where no agent takes it"),
    "lost-on-return": (18, "LOST ON THE WAY BACK", "the answer left, and did not come back"),
    "late": (19, "TOO LATE", "the answer came when nobody waited for it any more"),
    "unknown": (20, "NO ANSWER", "no answer came back, and the trace does not show where it ended"),
    "waiting": (OK, "UNDER WAY", "neither answered nor given up when the trace ended"),
}


@dataclass
class Finding:
    """What happened to a request."""

    verdict: str
    # In a sentence.
    what: str = ""
    # Hop k is the way between node k - 1 and node k. A node that drops is named by its own number.
    hop: int | None = None
    # The last node that had it, and the port it left by.
    device: str | None = None
    port: int | None = None
    # Where it should have come to, as far as is known.
    next: str | None = None
    way: str = "request"
    rule: str | None = None
    reason: str | None = None
    status: int | None = None
    # What a counter or a link's state says of the reason.
    cause: str | None = None
    # Port that it left by, and port that the path says.
    left_by: int | None = None
    path_says: int | None = None
    late_ms: float | None = None
    # The steps between which it spent more than half of its time.
    held_up: tuple | None = None
    # Whether the trace leaves no other reading.
    certain: bool = True
    # Whether events were lost meanwhile, so that it may not have ended there.
    gap: bool = False
    evidence: list = field(default_factory=list)
    checks: list = field(default_factory=list)

    @property
    def exit_status(self):
        """The exit status that says so."""
        return VERDICTS[self.verdict][0]

    @property
    def headline(self):
        """The verdict in capitals."""
        return VERDICTS[self.verdict][1]

    @property
    def is_failure(self):
        """Whether the request has failed."""
        return self.verdict not in ("ok", "waiting")
