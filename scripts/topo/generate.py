# SPDX-License-Identifier: GPL-2.0
"""Makes descriptions of regular fabrics."""

import itertools

from .model import DEFAULT_RATE, MAX_PORTS, Node, Topology

# Those that are for one node and not for a group, 1 to 0xBFFF.
LIDS = 0xBFFF


def bound(nodes):
    """Refuses so many nodes if there are more than LIDs."""
    if nodes > LIDS:
        raise ValueError(f"a subnet has {LIDS} LIDs for nodes, and this fabric would have more nodes than that")


class Builder:
    """Adds nodes and links, all at one rate."""

    def __init__(self, rate=DEFAULT_RATE):
        self.topology = Topology("generated")
        self.rate = rate

    def node(self, kind, ports):
        """Adds a node."""
        bound(len(self.topology.nodes) + 1)
        if not 1 <= ports <= MAX_PORTS:
            raise ValueError(f"a node has 1 to {MAX_PORTS} ports, and this fabric needs {ports}")
        node = self.topology.add(Node(f"node{len(self.topology.nodes)}", kind, ports))
        node.description = node.name
        return node

    def link(self, a, b):
        """Links two (node, port) pairs."""
        self.topology.link(a, b, self.rate)

    def hosts(self, switch, count, first):
        """Adds HCAs at ports of a switch from the first on."""
        for number in range(count):
            self.link((self.node("ca", 1), 1), (switch, first + number))

    def finish(self):
        """The whole."""
        self.topology.choose_guids()
        return self.topology


def fat_tree(builder, levels, radix):
    """A full fat tree of switches with `radix` ports: half of them down and half up, at the top all down.

    Switches of a level are numbered by `levels - 1` digits. One is linked to those of the next level whose
    digits are the same except the one of that level.
    """
    half = radix // 2
    if levels < 1 or radix < 2 or radix % 2:
        raise ValueError("a fat tree has one level or more, of switches with an even number of ports")
    bound(half ** (levels - 1))
    low = list(itertools.product(range(2 * half), *[range(half)] * (levels - 2))) if levels > 1 else []
    top = list(itertools.product(*[range(half)] * (levels - 1)))
    rows = [{digits: builder.node("switch", radix) for digits in low} for _ in range(levels - 1)]
    rows.append({digits: builder.node("switch", radix) for digits in top})
    for level in range(levels - 1):
        # The digit that is free: the last one first, the one that counts the halves of the tree at the top.
        place = levels - 2 - level
        for digits, switch in rows[level].items():
            for up in range(half):
                upper = rows[level + 1][digits[:place] + (up,) + digits[place + 1:]]
                builder.link((switch, half + 1 + up), (upper, digits[place] + 1))
    for switch in rows[0].values():
        builder.hosts(switch, radix if levels == 1 else half, 1)


def chain(builder, length, hosts):
    """Switches in line, with an HCA at both ends (or `hosts` at every switch)."""
    switches = [builder.node("switch", max(8, hosts + 2)) for _ in range(length)]
    for left, right in zip(switches, switches[1:]):
        builder.link((left, 2), (right, 1))
    if hosts:
        for switch in switches:
            builder.hosts(switch, hosts, 3)
    else:
        builder.link((builder.node("ca", 1), 1), (switches[0], 1))
        builder.link((builder.node("ca", 1), 1), (switches[-1], 2))


def ring(builder, length, hosts):
    """Switches in a ring."""
    torus(builder, (length,), hosts)


def torus(builder, sizes, hosts):
    """Switches in a grid whose ends are joined. Two in a row have one link."""
    if min(sizes) < 1:
        raise ValueError("a torus has one switch or more in every direction")
    first_host = 2 * len(sizes) + 1
    grid = {at: builder.node("switch", first_host + hosts - 1) for at in itertools.product(*map(range, sizes))}
    for at, switch in grid.items():
        for way, size in enumerate(sizes):
            if size > 2 or at[way] + 1 < size:
                to = at[:way] + ((at[way] + 1) % size,) + at[way + 1:]
                builder.link((switch, 2 * way + 1), (grid[to], 2 * way + 2))
    for switch in grid.values():
        builder.hosts(switch, hosts, first_host)


def hypercube(builder, dimensions, hosts):
    """A switch at every corner of a cube."""
    switches = [builder.node("switch", dimensions + hosts) for _ in range(1 << dimensions)]
    for number, switch in enumerate(switches):
        for way in range(dimensions):
            if not number >> way & 1:
                builder.link((switch, way + 1), (switches[number | 1 << way], way + 1))
    for switch in switches:
        builder.hosts(switch, hosts, dimensions + 1)
