# SPDX-License-Identifier: GPL-2.0
"""The way of an SMP: the step at each node, the tries of a request, and the request itself."""

from dataclasses import dataclass, field

from . import names

# The events that can follow, at the same node, the one that began a step.
FOLLOWERS = {"recv": ("forward", "discard"), "forward": ("discard",), "reply": ("discard",), "send": ("discard",),
             "discard": ()}


@dataclass
class Step:
    """What one node did with an SMP, which may have several events."""

    events: list
    # Whether it can be a step of no other request.
    is_sure: bool = True

    def __post_init__(self):
        """Takes over what all events of a step have in common."""
        first = self.events[0]
        self.device, self.place, self.returning = first.device, first.place, first.returning
        self.is_switch, self.ingress, self.time = first.is_switch, first.ingress, first.time

    @property
    def first(self):
        """The event that began it."""
        return self.events[0]

    @property
    def last(self):
        """The event that ended it."""
        return self.events[-1]

    @property
    def egress(self):
        """The port that it leaves by; 0 if it does not, or not by the path."""
        return next((event.egress for event in reversed(self.events) if event.egress), 0)

    @property
    def verdict(self):
        """What became of it here."""
        return "discard" if self.discard else self.last.verdict

    @property
    def discard(self):
        """The event of its discard, if it was."""
        return next((event for event in reversed(self.events) if event.verdict == "discard" or event.kind == "discard"),
                    None)

    @property
    def leaves(self):
        """Whether it goes on from here."""
        return self.verdict in ("forward", "route")

    @property
    def port(self):
        """The port that names a CA's end: that of its agent."""
        return self.first.port

    @property
    def where(self):
        """The node, a CA with its port."""
        return self.device if self.is_switch else f"{self.device}:{self.port}"

    def takes(self, event):
        """Whether an event belongs to this step."""
        if (event.device, event.returning) != (self.device, self.returning):
            return False
        if event.kind == "discard":
            return not any(known.kind == "discard" for known in self.events)
        return (event.kind in FOLLOWERS[self.last.kind] and event.place == self.place
                and event.ingress == self.ingress)


@dataclass
class Attempt:
    """One try: the steps of a request, and of its answer."""

    path: tuple | None = None
    method: int | None = None
    out: list = field(default_factory=list)
    back: list = field(default_factory=list)

    @property
    def steps(self):
        """All steps, in order."""
        return self.out + self.back

    def step_of(self, event):
        """The step that an event belongs to; None if it begins one.

        Clocks of CPUs may differ, so that the next node is told before this one is done.
        """
        *earlier, last = (self.back if event.returning else self.out) or [None]
        if last is None or last.takes(event):
            return last
        return next((step for step in reversed(earlier) if step.takes(event)
                     and (step.place, step.ingress) == (event.place, event.ingress)), None)

    @property
    def start(self):
        """When it began, as far as is seen."""
        return self.steps[0].time

    @property
    def end(self):
        """When it was seen last."""
        return self.steps[-1].last.time

    @property
    def is_sent(self):
        """Whether its sender was seen to send it."""
        return bool(self.out) and self.out[0].first.kind == "send"

    @property
    def origin(self):
        """The sender: (device, port), if it was seen."""
        return (self.out[0].device, self.out[0].port) if self.is_sent else None

    @property
    def reached(self):
        """Whether the request was taken by a node that is to answer it."""
        return bool(self.out) and self.out[-1].verdict == "local"

    @property
    def answered(self):
        """Whether an answer came to a node that takes it."""
        return bool(self.back) and self.back[-1].verdict == "local"


@dataclass
class Request:
    """A request with its tries, all under one TID."""

    attempts: list
    # The line of the ledger about it, if there is one.
    entry: object = None
    finding: object = None
    # Whether it is what has become of another request.
    is_rest: bool = False

    @property
    def events(self):
        """Any event of it, to take from what all have in common."""
        return [event for attempt in self.attempts for step in attempt.steps for event in step.events]

    @property
    def sample(self):
        """The event that tells most of the request."""
        return next((event for event in self.events if not event.returning), next(iter(self.events), None))

    @property
    def origin(self):
        """The sender: (device, port), if it is known."""
        # Of a device that is gone the ledger has no name.
        if self.entry is not None and self.entry.device != "-":
            return self.entry.device, self.entry.port
        return next((attempt.origin for attempt in self.attempts if attempt.origin), None)

    @property
    def sender(self):
        """The sender in words."""
        return ":".join(map(str, self.origin)) if self.origin else "a sender that is not seen here"

    def __getattr__(self, name):
        # What an event or, where there is none, the ledger says.
        if name in ("tid", "attr", "mod", "count", "slid", "dlid", "is_opa"):
            return getattr(self.sample if self.sample is not None else self.entry, name)
        raise AttributeError(name)

    @property
    def method(self):
        """The method of the request; of an answer alone it is not known."""
        if self.sample is None:
            return self.entry.method
        return None if self.sample.returning else self.sample.method

    @property
    def path(self):
        """The Initial Path from element 1 on, if it is known."""
        if self.sample is None or self.sample.returning:
            return self.entry.path if self.entry is not None else None
        # Of more than 63 hops the events have none.
        return self.sample.path if len(self.sample.path) == self.sample.count else None

    @property
    def start(self):
        """When it began."""
        return self.attempts[0].start if self.attempts else float("inf")

    @property
    def end(self):
        """When it was seen last."""
        return max((attempt.end for attempt in self.attempts), default=float("inf"))

    @property
    def title(self):
        """What it is, and the way that it is meant to go."""
        kind = "An answer to" if self.method is None else names.method(self.method)
        way = "along " + names.path(self.path) if self.path is not None else f"over {self.count} hops"
        modifier = f" {self.mod:#x}" if self.mod else ""
        return (f"{kind} {names.attribute(self.attr)}{modifier} {way}{names.lids(self.slid, self.dlid)} "
                f"(TID {self.tid:#x})")
