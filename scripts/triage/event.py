# SPDX-License-Identifier: GPL-2.0
"""The trace events of ib_smi, taken apart.

One event is one line of text, of the file `trace`, of `trace-cmd report` or of `perf script`. Behind the
first words everything is `name=value`, so that fields may be added. The order of lines is that of time.
"""

import re
from dataclasses import dataclass

PERMISSIVE = 0xFFFF
OPA_PERMISSIVE = 0xFFFFFFFF
DIRECTED_ROUTE = 0x81

LINE = re.compile(r"\b(?P<time>\d+(?:\.\d+)?): +(?:ib_smi:)?ib_smi_(?P<event>\w+): +(?P<text>\S.*)$")
# Of a device, such names as a shell takes for a word: they go into commands that are proposed.
HEAD = re.compile(r"(?P<device>[\w.:-]+) port (?P<port>\d+) (?P<node>switch|ca) (?P<way>request|response) ")
WORD = re.compile(r"(\w+)=(\{[^}]*\}|\S+)")
HOP = re.compile(r"(?P<before>\d+),(?P<after>\d+)/(?P<count>\d+)$")
EVENTS = ("recv", "forward", "reply", "send", "discard")
# The words without which nothing can be said, and what `fields` calls them.
WORDS = {"in": "ingress", "out": "egress", "verdict": "verdict", "lid": "lid", "rule": "rule", "reason": "reason",
         "path": "path", "method": "method", "attr": "attr", "mod": "mod", "status": "status", "tid": "tid",
         "drslid": "drslid", "drdlid": "drdlid"}


class EventError(ValueError):
    """An event that cannot be read, and why."""


def fields(line):
    """The fields of an event, as they are in the text; None if the line has no event of ib_smi."""
    line = line.rstrip()
    match = LINE.search(line)
    if match is None or match["event"] not in EVENTS:
        return None
    if "." not in match["time"]:
        raise EventError(f"{match['time']} is no time in seconds: record with the clock mono (trace-cmd record -C mono)")
    head = HEAD.match(match["text"])
    if head is None:
        raise EventError(f"ib_smi_{match['event']} does not begin with a device, a port, its kind and a direction")
    words = dict(WORD.findall(match["text"], head.end()))
    missing = [word for word in (*WORDS, "hop") if word not in words]
    if missing:
        raise EventError(f"ib_smi_{match['event']} lacks {', '.join(word + '=' for word in missing)}: "
                         "is the line cut off?")
    hop = HOP.match(words["hop"])
    if hop is None:
        raise EventError(f"hop={words['hop']} is not of the form A,B/C")
    known = {name: words[word] for word, name in WORDS.items()}
    path = known["path"].strip("{}")
    return {**words, **known, **head.groupdict(), **hop.groupdict(), "path": path, "time": match["time"],
            "event": match["event"]}


@dataclass(frozen=True, slots=True)
class Event:
    """What one node did with one SMP."""

    time: float
    kind: str
    device: str
    port: int
    is_switch: bool
    returning: bool
    ingress: int
    egress: int
    before: int
    after: int
    count: int
    verdict: str
    lid: int
    rule: str
    reason: str
    path: tuple
    method: int
    attr: int
    mod: int
    status: int
    tid: int
    slid: int
    dlid: int
    # Where in the module it was; of older modules not known.
    point: str
    is_opa: bool
    mgmt_class: int
    number: int
    text: str

    @property
    def is_directed(self):
        """Whether it is about an SMP on a directed route, and not about an answer of another class."""
        return self.mgmt_class == DIRECTED_ROUTE

    @property
    def key(self):
        """What all events of a request and of its answer share."""
        return self.tid, self.attr, self.mod, self.count, self.slid, self.dlid

    @property
    def place(self):
        """How many hops of the directed part lie between the node and that where this part starts.

        Where a LID-routed part comes first, who asks is at place -1; who answers behind one is at the
        place after the last hop.
        """
        made_here = self.point in ("send", "reply")
        if not self.returning:
            return -1 if self.rule == "LID" else 0 if made_here else self.before
        if self.rule == "LID":
            return self.count + 1
        return self.count if made_here else self.before - 1

    @property
    def element(self):
        """The element of the path by which it should leave; None if it does not leave by the path."""
        if self.verdict != "forward" or not 1 <= self.after <= len(self.path):
            return None
        return self.path[self.after - 1]


def lid(text):
    """A LID. A permissive one is the same whether InfiniBand or Omni-Path has it."""
    number = int(text, 0)
    return PERMISSIVE if number == OPA_PERMISSIVE else number


def read(line, number=0):
    """The event in a line; None if there is none."""
    found = fields(line)
    if found is None:
        return None
    try:
        return Event(
            float(found["time"]), found["event"], found["device"], int(found["port"]), found["node"] == "switch",
            found["way"] == "response", int(found["ingress"]), int(found["egress"]), int(found["before"]),
            int(found["after"]), int(found["count"]), found["verdict"], int(found["lid"], 0), found["rule"],
            found["reason"], tuple(int(port, 0) for port in found["path"].split(",") if port),
            int(found["method"], 0), int(found["attr"], 0), int(found["mod"], 0), int(found["status"], 0),
            int(found["tid"], 0), lid(found["drslid"]), lid(found["drdlid"]),
            found.get("point", found["event"]), found.get("format") == "opa", int(found.get("class", "0x81"), 0), number,
            line.strip())
    except ValueError as error:
        raise EventError(f"a number cannot be read: {error}") from error
