# SPDX-License-Identifier: GPL-2.0
"""Tells how two descriptions differ. Nodes are the same if their GUIDs are."""

from .dump import DEVICE, VENDOR
from .model import link_rate


def differences(a, b):
    """A line for everything that is not the same, in words."""
    mine, theirs = (({node.guid: node for node in topology.nodes.values()}) for topology in (a, b))
    for guid, node in mine.items():
        if guid not in theirs:
            yield f"{guid:#018x} ({node.description}) is in {a.file} only"
    for guid, node in theirs.items():
        if guid not in mine:
            yield f"{guid:#018x} ({node.description}) is in {b.file} only"
    for guid in mine.keys() & theirs.keys():
        left, right = facts(a, mine[guid]), facts(b, theirs[guid])
        for what in sorted(left.keys() | right.keys()):
            if left.get(what) != right.get(what):
                yield f"{guid:#018x}: {what}: {left.get(what, 'none')} and {right.get(what, 'none')}"


def facts(topology, node):
    """What a description says of a node, by names."""
    found = {
        "kind": node.kind,
        "ports": node.port_count,
        "description": node.description,
        "system GUID": f"{node.system_guid or node.guid:#x}",
        "vendor": VENDOR if node.vendor is None else node.vendor,
        "device": DEVICE if node.device is None else node.device,
        "enhanced port 0": node.enhanced,
    }
    for number, port in node.ports.items():
        peer = topology.nodes[port.peer]
        width, speed = link_rate(port, peer.ports[port.peer_port])
        found[f"port {number:3}"] = (f"GUID {node.port_guid(number):#x} to {peer.guid:#x}[{port.peer_port}]"
                                     f" {width} {speed}")
    return found
