# SPDX-License-Identifier: GPL-2.0
"""Reads the output of ibnetdiscover and the net files of ibsim, which are nearly the same.

A node is a line with its kind, number of ports and name, and below it a line for every port with a link:

    Switch 36 "S-0002c90200417670"  # "description" enhanced port 0 lid 1 lmc 0
    [1]  "H-0002c903000a1b2c"[1](2c903000a1b2d)  # "description" lid 2 4xQDR

ibnetdiscover has a few lines NAME=VALUE before it. ibsim knows `w=` (lanes) and `s=` behind a port.

The virtual fabric has no routers, and not every speed there is. Where cables alone matter, they may be in the file.
"""

import re
import sys

from .check import check
from .model import DEFAULT_RATE, MAX_PORTS, SPEEDS, WIDTHS, Node, Port, Topology, TopologyError

VALUE = re.compile(r"(vendid|devid|sysimgguid|switchguid|caguid|rtguid)=(?:0x)?([0-9a-fA-F]{1,16})(?:\([0-9a-fA-F]+\))?$")
HEADER = re.compile(r'(Switch|Ca|Hca|Rt)\s+([0-9]{1,9})\s*"([^"]+)"\s*(?:#\s*(.*))?$')
PORT = re.compile(r'\[([0-9]{1,9})\](?:\(([0-9a-fA-F]{1,16})\))?\s*"([^"]+)"\s*\[([0-9]{1,9})\]\s*(?:\([0-9a-fA-F]*\))?'
                  r"\s*((?:[a-z]+=\S+\s*)*)(?:#\s*(.*))?$")
# What the programs say of queries that failed, which is in the file if it has their standard error too.
NOISE = re.compile(r"(src/\w+\.c:\d+;|ibwarn: \[|ibnetdiscover: ).*")
HEADING = re.compile(r"(Non-Chassis Nodes|Chassis \d+.*)$")
SWITCH_COMMENT = re.compile(r'"(.*)"\s+(base|enhanced) port 0\b')
COMMENT = re.compile(r'"(.*)"')
RATE = re.compile(r"\b(\d+x)([A-Z][A-Z0-9]*)\s*$")
KEY_GUID = re.compile(r"[SHR]-([0-9a-f]{16})$")
KINDS = {"Switch": "switch", "Rt": "router"}
OWN_GUID = {"switch": "switchguid", "ca": "caguid", "router": "rtguid"}
IBSIM_SPEEDS = {"1": "SDR", "2": "DDR", "4": "QDR"}


class Parser:
    """Reads a file line by line."""

    def __init__(self, file, cables_only=False):
        self.topology = Topology(file)
        self.cables_only = cables_only
        self.values = {}
        self.node = None
        self.number = 0
        self.is_dump = False

    def fail(self, what, line=None):
        """Refuses the file."""
        raise TopologyError(self.topology.file, line or self.number, what)

    def feed(self, number, line):
        """Reads a line."""
        self.number = number
        line = line.strip()
        if not line:
            self.node = None
        elif line.startswith("#") or NOISE.match(line):
            pass
        elif match := VALUE.match(line):
            self.value(*match.groups())
        elif match := HEADER.match(line):
            self.header(*match.groups())
        elif match := PORT.match(line):
            self.port(*match.groups())
        elif HEADING.match(line):
            self.node = None
        else:
            self.fail(f"this is not a line of ibnetdiscover or ibsim: {line[:60]!r}")

    def value(self, name, value):
        """A line before a node."""
        self.node = None
        if name in self.values:
            self.fail(f"{name} is given twice, and no node between: is the file cut off?")
        self.values[name] = (int(value, 16), self.number)

    def header(self, kind, ports, key, comment):
        """A node begins."""
        kind = KINDS.get(kind, "ca")
        if kind == "router" and not self.cables_only:
            self.fail(f"{key}: routers are not supported")
        if not 1 <= int(ports) <= MAX_PORTS:
            self.fail(f"{key}: a node has 1 to {MAX_PORTS} ports, not {ports}")
        if key in self.topology.nodes:
            self.fail(f"{key} is in line {self.topology.nodes[key].line} already")
        node = Node(key, kind, int(ports), line=self.number, description=key)
        self.describe(node, comment or "")
        self.identify(node)
        self.node = self.topology.add(node)

    def describe(self, node, comment):
        """Reads what is behind a node."""
        if node.kind == "switch" and (match := SWITCH_COMMENT.match(comment)):
            node.enhanced = match[2] == "enhanced"
        else:
            match = COMMENT.match(comment)
        # A description may be empty, and is then as good as none.
        node.description = match[1] if match and match[1] else node.key
        if not node.description.isprintable():
            self.fail(f"{node.key!r}: a description has no control characters: {node.description!r}")
        if len(node.description.encode()) > 64:
            self.fail(f"{node.key}: a description has up to 64 bytes")

    def identify(self, node):
        """Takes over what the lines before a node said."""
        values = {name: value for name, (value, _) in self.values.items()}
        self.values = {}
        own = OWN_GUID[node.kind]
        for other in OWN_GUID.values():
            if other != own and other in values:
                self.fail(f"{node.key} is a {node.kind}, but has a {other}")
        self.is_dump = self.is_dump or own in values
        match = KEY_GUID.match(node.key)
        node.guid = values.get(own, int(match[1], 16) if match else None)
        if match and node.guid != int(match[1], 16):
            self.fail(f"{node.key} has another GUID in {own}: {node.guid:#x}")
        node.system_guid = values.get("sysimgguid")
        node.vendor = values.get("vendid")
        node.device = values.get("devid")
        if (node.vendor or 0) >= 1 << 24 or (node.device or 0) >= 1 << 16:
            self.fail(f"{node.key}: vendid has 24 bits and devid 16")

    def port(self, number, guid, peer, peer_port, options, comment):
        """A port of the node."""
        node, number = self.node, int(number)
        if node is None:
            self.fail(f"port {number} belongs to no node")
        if not 1 <= number <= node.port_count:
            self.fail(f"{node.key} has ports 1 to {node.port_count}, not {number}")
        if number in node.ports:
            self.fail(f"port {number} of {node.key} is in line {node.ports[number].line} already")
        width, speed = self.rate(options, comment or "")
        guid = int(guid, 16) if guid and node.kind != "switch" else None
        node.ports[number] = Port(peer, int(peer_port), width, speed, guid, self.number)

    def rate(self, options, comment):
        """The width and speed of a port."""
        width, speed = DEFAULT_RATE
        if self.cables_only:
            return width, speed
        if match := RATE.search(comment):
            width, speed = match.groups()
        for option in options.split():
            name, value = option.split("=", 1)
            if name == "w":
                width = f"{value}x"
            elif name == "s" and value in IBSIM_SPEEDS:
                speed = IBSIM_SPEEDS[value]
            else:
                self.fail(f"{option!r} is unknown")
        if width not in WIDTHS:
            self.fail(f"a link is {', '.join(WIDTHS)} wide, not {width}")
        if speed not in SPEEDS:
            self.fail(f"a speed is {', '.join(SPEEDS)}, not {speed}")
        return width, speed

    def end(self):
        """Checks what only the whole file can tell. Returns what it describes."""
        for name, (_, line) in self.values.items():
            self.fail(f"no node comes after {name}: is the file cut off?", line)
        if not self.topology.nodes:
            self.fail("there is no node in it", max(self.number, 1))
        check(self.topology, needs_links=self.is_dump)
        self.topology.choose_guids()
        return self.topology


def parse(text, file="-", cables_only=False):
    """Reads a description from text."""
    parser = Parser(file, cables_only)
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        # The last newline ends the last line.
        if line or number < len(lines):
            parser.feed(number, line)
    return parser.end()


def read(file, cables_only=False):
    """Reads a description from a file, or from the standard input for `-`."""
    if file == "-":
        return parse(sys.stdin.buffer.read().decode(errors="replace"), cables_only=cables_only)
    with open(file, encoding="utf-8", errors="replace") as stream:
        return parse(stream.read(), str(file), cables_only)
