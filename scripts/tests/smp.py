# SPDX-License-Identifier: GPL-2.0
"""Directed-route SMPs for tests: made, injected into the virtual fabric, and followed by their events."""

import importlib.machinery
import importlib.util
import itertools
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

# pylint: disable=wrong-import-position
from triage import event as events  # noqa: E402

PERMISSIVE = 0xFFFF
TIDS = itertools.count(1)

# What Get NodeDescription along 0,1,2 and its answer meet, in order: section 14.2.2 of the specification.
WAY = [
    ("send", "hca0", "request", 0, 1, "C14-9:1"),
    ("recv", "sw0", "request", 1, 2, "C14-9:2"),
    ("forward", "sw0", "request", 1, 2, "C14-9:2"),
    ("recv", "hca1", "request", 2, 3, "C14-9:3"),
    ("reply", "hca1", "response", 3, 2, "C14-13:1"),
    ("recv", "sw0", "response", 2, 1, "C14-13:2"),
    ("forward", "sw0", "response", 2, 1, "C14-13:2"),
    ("recv", "hca0", "response", 1, 0, "C14-13:3"),
]


def load_script(name):
    """A script of the project's as a module."""
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(Path(__file__).parents[1] / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def make(ptr, cnt, ipath=(), rpath=(), *, ret=False, slid=PERMISSIVE, dlid=PERMISSIVE, tid=None, method=None,
         attr=0x11, high_tid=0):
    """The bytes of an SMP. The paths start at element 1."""
    method = method if method is not None else (0x81 if ret else 0x01)
    tid = (high_tid << 32) | (next(TIDS) if tid is None else tid)
    header = struct.pack(">BBBBHBBQHHIQHH28x", 1, 0x81, 1, method, 0x8000 if ret else 0, ptr, cnt, tid, attr, 0, 0,
                         0, slid, dlid)
    paths = b"".join(bytes((0, *path)).ljust(64, b"\0")[:64] for path in (ipath, rpath))
    return header + bytes(64) + paths


def tid_of(smp):
    """The transaction ID of an SMP."""
    return int.from_bytes(smp[8:16], "big")


def inject(guest, rows):
    """Injects (device, port, smp, words) rows as if from the wire, and returns the events by TID."""
    lines = "\n".join(f"{device} {port} {smp.hex()} {words}" for device, port, smp, words in rows)
    return follow(
        guest,
        "while read -r line; do echo \"$line\" >/sys/kernel/debug/ibfabric/inject || exit 1; done <<'END'\n"
        f"{lines}\nEND\nsleep 0.5")


def follow(guest, command, timeout=120):
    """Runs a command with all ib_smi events on, and returns them by TID, in order."""
    out = guest.check(
        "cd /sys/kernel/tracing && echo >trace && echo 1 >events/ib_smi/enable\n"
        f"{command}\n"
        "echo 0 >/sys/kernel/tracing/events/ib_smi/enable; cat /sys/kernel/tracing/trace", timeout=timeout)
    found = {}
    for event in filter(None, map(events.fields, out.splitlines())):
        found.setdefault(int(event["tid"], 16), []).append(event)
    return found


def short(event):
    """What a decision comes to: verdict, port or LID, Hop Pointer as it leaves."""
    where = {"forward": int(event["egress"]), "route": int(event["lid"], 16)}.get(event["verdict"])
    hop = None if event["verdict"] == "discard" else int(event["after"])
    return event["verdict"], where, hop
