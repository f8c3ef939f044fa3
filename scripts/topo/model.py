# SPDX-License-Identifier: GPL-2.0
"""What a fabric is made of, as a file describes it."""

import itertools
from collections import Counter
from dataclasses import dataclass, field

WIDTHS = ("1x", "2x", "4x", "8x", "12x")
SPEEDS = ("SDR", "DDR", "QDR", "FDR", "EDR", "HDR", "NDR")
DEFAULT_RATE = ("4x", "QDR")
MAX_PORTS = 254

# GUIDs for nodes that have none in their file begin with this. The low byte is for ports.
GUID_BASE = 0x021BFB0000000000


class TopologyError(Exception):
    """What is wrong with a description, and where."""

    def __init__(self, file, line, what):
        super().__init__(f"{file}:{line}: {what}")
        self.line = line


@dataclass
class Port:
    """A port with a link."""

    peer: str
    peer_port: int
    width: str = DEFAULT_RATE[0]
    speed: str = DEFAULT_RATE[1]
    guid: int | None = None
    line: int = 0


@dataclass
class Node:
    """A node."""

    key: str
    kind: str
    port_count: int
    guid: int | None = None
    system_guid: int | None = None
    description: str = ""
    enhanced: bool = False
    vendor: int | None = None
    device: int | None = None
    ports: dict = field(default_factory=dict)
    line: int = 0
    name: str = ""

    @property
    def prefix(self):
        """How names of devices of this kind begin."""
        return {"switch": "sw", "router": "rt"}.get(self.kind, "hca")

    def port_guid(self, number):
        """The GUID of a port: of a switch it is that of port 0."""
        if self.kind == "switch":
            return self.guid
        port = self.ports.get(number)
        return self.guid + number if port is None or port.guid is None else port.guid


class Topology:
    """Nodes in order, by the names that the file has for them."""

    def __init__(self, file="-"):
        self.file = file
        self.nodes = {}
        self.kin = Counter()

    def add(self, node):
        """Adds a node and names its device: hca0, hca1, sw0 and so on, each kind by itself."""
        node.name = f"{node.prefix}{self.kin[node.kind]}"
        self.kin[node.kind] += 1
        self.nodes[node.key] = node
        return node

    def link(self, a, b, rate=DEFAULT_RATE):
        """Links two (node, port) pairs."""
        for (here, number), (there, peer_port) in ((a, b), (b, a)):
            here.ports[number] = Port(there.key, peer_port, *rate)

    def choose_guids(self):
        """Gives GUIDs to nodes that have none: such as no other has."""
        taken = {node.guid for node in self.nodes.values()}
        free = (guid for serial in itertools.count(1) if (guid := GUID_BASE | serial << 8) not in taken)
        for node in self.nodes.values():
            if node.guid is None:
                node.guid = next(free)

    def links(self):
        """Every link once: (node, port number, node, port number)."""
        place = {key: number for number, key in enumerate(self.nodes)}
        for node in self.nodes.values():
            for number, port in node.ports.items():
                here, there = (place[node.key], number), (place[port.peer], port.peer_port)
                if here < there:
                    yield node, number, self.nodes[port.peer], port.peer_port

    def summary(self):
        """How large it is, in words."""
        switches = sum(1 for node in self.nodes.values() if node.kind == "switch")
        links = sum(1 for _ in self.links())
        return f"{switches} switches, {len(self.nodes) - switches} HCAs, {links} links"


def link_rate(a, b):
    """The rate of a link between two ports: the best that both can."""
    return (min(a.width, b.width, key=WIDTHS.index), min(a.speed, b.speed, key=SPEEDS.index))
