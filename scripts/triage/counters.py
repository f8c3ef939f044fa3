# SPDX-License-Identifier: GPL-2.0
"""Counters of ports, before and after: what a lost SMP has left behind."""

from pathlib import Path

SYSFS = Path("/sys/class/infiniband")
FABRIC = Path("/sys/kernel/debug/ibfabric")
# Of the files in sysfs, those that tell of packets that were lost, with the names of the virtual fabric.
NAMES = {"VL15_dropped": "vl15_dropped", "port_xmit_discards": "xmit_discards", "port_rcv_errors": "rcv_errors",
         "port_rcv_switch_relay_errors": "relay_errors", "symbol_error": "symbol_errors",
         "link_downed": "link_downed", "link_error_recovery": "link_recoveries"}
# Those that rise when all is well.
PLAIN = ("xmit", "rcv", "forwarded", "held", "traps")


def lines(name):
    """The lines of a file of the virtual fabric as words; None if there is no such fabric."""
    try:
        return [line.split() for line in (FABRIC / name).read_text(encoding="utf-8").splitlines() if line.strip()]
    except OSError:
        return None


def snapshot():
    """All counters of this host's ports: (device, port): {name: value}."""
    found = {}
    for end, *words in lines("counters") or []:
        device, _, port = end.rpartition(":")
        pairs = (word.partition("=") for word in words)
        # What a fault that is staged there did, no hardware would tell.
        found[device, int(port)] = {name: int(value) for name, _, value in pairs
                                    if value.isdigit() and not name.startswith("fault_")}
    virtual = {device for device, _ in found}
    for folder in sorted(SYSFS.glob("*/ports/*/counters")):
        device, port = folder.parts[-4], folder.parts[-2]
        if device not in virtual:
            found[device, int(port)] = dict(values(folder))
    return found


def values(folder):
    """The counters of one port in sysfs."""
    for file, name in NAMES.items():
        try:
            yield name, int((folder / file).read_text())
        except (OSError, ValueError):
            continue


def rise(before, after):
    """By how much counters rose: only of those that did."""
    found = {}
    for end, now in after.items():
        was = before.get(end, {})
        rose = {name: value - was.get(name, 0) for name, value in now.items() if value > was.get(name, 0)}
        if rose:
            found[end] = rose
    return found


def told(rose):
    """What a port's counters say of losses, as text; what was merely sent and received tells nothing."""
    return " ".join(f"{name}+{by}" for name, by in rose.items() if name not in PLAIN)
