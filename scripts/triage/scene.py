# SPDX-License-Identifier: GPL-2.0
"""All that is known beside the request that is judged: the other requests, links, counters."""

from dataclasses import dataclass, field

from .gather import attempts_of
from .source import Trace
from .wiring import Wiring, crossings


@dataclass
class Scene:
    """All that is known beside the request that is judged."""

    trace: Trace = field(default_factory=lambda: Trace("-"))
    requests: list = field(default_factory=list)
    # What the events show of links, and what is told of them if it is.
    inferred: Wiring = field(default_factory=Wiring)
    told: Wiring | None = None
    # Devices whose events are in the trace if they have any; those that have some if it is not known.
    reporting: set = field(default_factory=set)
    # By how much counters of ports rose: (device, port): {name: by}.
    counters: dict = field(default_factory=dict)
    # Whether they are those of the virtual fabric, before and after, which count each packet.
    counted: bool = False
    # When the trace was cut off with requests under way.
    cut: float | None = None
    # Devices by GUID, and the descriptions of devices, as far as is known.
    guids: dict = field(default_factory=dict)
    descriptions: dict = field(default_factory=dict)
    # The LIDs of this host's ports; None if they are not known.
    lids: set | None = None
    # The node that is expected to answer, by name or GUID, and a timeout in milliseconds.
    expect: str | None = None
    timeout_ms: float | None = None
    # The agents of the command that was traced, by the high halves of their TIDs; None if there was no command.
    own: set | None = None
    # The TIDs of answers that programs of this host have taken; None if that is not known.
    taken: set | None = None

    def __post_init__(self):
        self.reporting = self.reporting | {event.device for event in self.trace.events}
        if self.told is not None:
            self.guids = self.told.guids | self.guids
            self.descriptions = self.told.descriptions | self.descriptions
        self.crossed = {}
        # The ports, (device, port), by which SMPs have left as far as events tell.
        self.departed = {(step.device, step.egress) for attempt in attempts_of(self.requests) for step in attempt.steps
                         if step.leaves}
        for a, b, _ in crossings(attempts_of(self.requests)):
            self.crossed[a, b] = self.crossed.get((a, b), 0) + 1

    @property
    def wiring(self):
        """The best that is known of links."""
        return self.told or self.inferred

    def peer(self, device, port):
        """The other end of a link: (device, port), or None."""
        return self.wiring.peer(device, port) or self.inferred.peer(device, port)

    def crossed_from(self, device, port):
        """How many SMPs went over the link at this port in its direction."""
        return sum(count for (a, _), count in self.crossed.items() if a == (device, port))

    def is_here(self, lid):
        """Whether a LID is one of this host's; None if that is not known."""
        return lid in self.lids if lid and self.lids is not None else None

    def is_own(self, request):
        """Whether a request is of the command that was traced: any, if that has no agent and lets others send."""
        return self.own is not None and (not self.own or request.tid >> 32 in self.own)

    def of_command(self, requests):
        """The requests that are asked about, and those of others than the command, if one was traced."""
        own, others = [], []
        for request in requests:
            (own if self.own is None or self.is_own(request) else others).append(request)
        return own, others

    def is_node(self, device, name):
        """Whether a device is the one of that name: a device's, a description, or a GUID. None if that is not known."""
        if name.lower().startswith("0x"):
            owner, is_known = self.guids.get(int(name, 16)), device in self.guids.values()
        else:
            owners = (other for other in (device, *self.reporting, *self.descriptions)
                      if name in (other, self.descriptions.get(other)))
            # Of a node elsewhere a file has the description, and not what its host calls it.
            owner, is_known = next(owners, None), device in self.reporting and device in self.descriptions
        if owner == device:
            return True
        # A device of the trace may be a node of the file.
        apart = any(device in nodes and owner in nodes for nodes in (self.reporting, self.descriptions))
        return False if is_known or apart else None
