# SPDX-License-Identifier: GPL-2.0
"""Which port is cabled with which: from a description of the fabric, or from the events themselves."""

from collections import Counter

# A CA sends by the port of its agent, whereas a switch chooses: what a CA's SMPs show counts more.
CA_WEIGHT = 10


class Wiring:
    """The links of a fabric, by the names of devices.

    `source` says in words where they are from; `exact` whether they are told and not inferred.
    """

    def __init__(self, source="the events", exact=False):
        self.source = source
        self.exact = exact
        # Whether it is the fabric of ibfabric on this host.
        self.virtual = False
        self.peers = {}
        self.down = set()
        # Nodes that are known: name: (kind, number of ports).
        self.nodes = {}
        # What a file calls them besides: by GUID, and their descriptions.
        self.guids = {}
        self.descriptions = {}

    def link(self, a, b, up=True):
        """Adds a link between two (device, port) pairs."""
        self.peers[a], self.peers[b] = b, a
        if not up:
            self.down |= {a, b}

    def peer(self, device, port):
        """What is at the other end: (device, port), or None."""
        return self.peers.get((device, port))

    def knows(self, device):
        """Whether all links of a device are known."""
        return self.exact and device in self.nodes

    def walk(self, origin, path):
        """The nodes on a path: (device, ingress) a hop, as far as there are links."""
        here, found = origin, []
        for egress in path:
            there = self.peer(here, egress)
            if there is None:
                break
            found.append(there)
            here = there[0]
        return found


def crossings(attempts):
    """The links that SMPs have gone over: (from, to, whether a CA sent), both (device, port)."""
    for attempt in attempts:
        for steps, forth in ((attempt.out, 1), (attempt.back, -1)):
            for here, there in zip(steps, steps[1:]):
                direct = there.place - here.place == forth and there.ingress and there.is_sure
                if here.verdict == "forward" and direct:
                    yield (here.device, here.egress), (there.device, there.ingress), not here.is_switch


def infer(attempts):
    """What most of the SMPs say about links."""
    votes = {}
    for a, b, by_ca in crossings(attempts):
        weight = CA_WEIGHT if by_ca else 1
        votes.setdefault(a, Counter())[b] += weight
        votes.setdefault(b, Counter())[a] += weight
    wiring = Wiring()
    for end, counter in votes.items():
        (peer, most), *others = counter.most_common(2)
        if not others or most > others[0][1]:
            wiring.peers[end] = peer
    # Both ends must agree, or it is not known.
    wiring.peers = {a: b for a, b in wiring.peers.items() if wiring.peers.get(b) == a}
    return wiring


def from_lines(nodes, links):
    """The links that ibfabric shows, as words of its files `nodes` and `links`."""
    wiring = Wiring("the virtual fabric", exact=True)
    wiring.virtual = True
    for name, kind, _, ports, *_ in nodes:
        wiring.nodes[name] = kind, int(ports)
    for a, b, *down in links:
        (a_device, a_port), (b_device, b_port) = a.rsplit(":", 1), b.rsplit(":", 1)
        wiring.link((a_device, int(a_port)), (b_device, int(b_port)), up=not down)
    return wiring


def from_topology(topology, devices):
    """The links of a file, with the names that its nodes have as devices: devices by GUID."""
    wiring = Wiring(str(topology.file), exact=True)
    labels = {node.key: devices.get(node.guid) or label(node, topology) for node in topology.nodes.values()}
    for node in topology.nodes.values():
        name = labels[node.key]
        wiring.nodes[name] = node.kind, node.port_count
        wiring.guids[node.guid], wiring.descriptions[name] = name, node.description
    for a, a_port, b, b_port in topology.links():
        wiring.link((labels[a.key], a_port), (labels[b.key], b_port))
    return wiring


def label(node, topology):
    """What to call a node that is no device of the trace: its description if no other has it."""
    alike = sum(1 for other in topology.nodes.values() if other.description == node.description)
    return f'"{node.description}"' if alike == 1 else f"{node.guid:#018x}"


def guess(topology, seen):
    """GUIDs of the devices of a trace, by the descriptions of a file's nodes: those that name one device.

    A file that ibfabric was loaded from names none: then they are in the order in which it names them.
    """
    found = {}
    for device in seen:
        fits = [node for node in topology.nodes.values()
                if node.description == device or node.description.split(" ")[-1] == device]
        if len(fits) == 1:
            found[fits[0].guid] = device
    if not found and seen <= {node.name for node in topology.nodes.values()}:
        found = {node.guid: node.name for node in topology.nodes.values() if node.name in seen}
    return found
