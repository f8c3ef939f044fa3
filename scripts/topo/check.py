# SPDX-License-Identifier: GPL-2.0
"""Checks that a description fits together."""

from .model import TopologyError


def check(topology, needs_links=False):
    """Refuses a description that contradicts itself. A dump has no node without a link (needs_links)."""
    check_guids(topology)
    for node in topology.nodes.values():
        for number, port in node.ports.items():
            check_port(topology, node, number, port)
        if needs_links and not node.ports:
            raise TopologyError(topology.file, node.line,
                                f"{node.key} has no port with a link: is the file cut off?")


def check_port(topology, node, number, port):
    """Refuses a port whose other end says something else."""
    def fail(what):
        raise TopologyError(topology.file, port.line, what)

    here, there = f"port {number} of {node.key}", f"port {port.peer_port} of {port.peer}"
    peer = topology.nodes.get(port.peer)
    if peer is None:
        fail(f"{here} is linked to {port.peer}, which is not in the file: is it cut off?")
    if not 1 <= port.peer_port <= peer.port_count:
        fail(f"{here} is linked to port {port.peer_port} of {port.peer}, which has 1 to {peer.port_count}")
    if peer is node and port.peer_port == number:
        fail(f"{here} is linked to itself")
    back = peer.ports.get(port.peer_port)
    if back is None:
        fail(f"{here} is linked to {there}, which has no link")
    if (back.peer, back.peer_port) != (node.key, number):
        fail(f"{here} is linked to {there}, but that to port {back.peer_port} of {back.peer} (line {back.line})")


def check_guids(topology):
    """Refuses a GUID that two nodes have, or two ports."""
    nodes, ports = {}, {}

    def claim(taken, guid, line, what):
        if guid in (0, 0xFFFFFFFFFFFFFFFF):
            raise TopologyError(topology.file, line, f"{guid:#018x} cannot be the GUID of a {what}")
        if guid in taken:
            raise TopologyError(topology.file, line, f"GUID {guid:#018x} is in line {taken[guid]} already")
        taken[guid] = line

    for node in topology.nodes.values():
        if node.guid is not None:
            claim(nodes, node.guid, node.line, "node")
        for port in node.ports.values():
            if port.guid is not None:
                claim(ports, port.guid, port.line, "port")
