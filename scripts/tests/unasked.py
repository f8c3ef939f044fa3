# SPDX-License-Identifier: GPL-2.0
"""Runs in a guest: one umad client sends what looks like answers to another one, which never asked.

Prints a line a form: its name, whether the kernel took it, and how many SMPs the other one got.
"""

import os
import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# pylint: disable=wrong-import-position
from smp import load_script, make  # noqa: E402

dr_smp = load_script("dr-smp")


class Options:
    """What dr-smp takes from its command line."""
    lid, timeout, retries = 0xFFFF, 200, 0


def client(device):
    """A umad client: its file and the number of its agent."""
    file = os.open(dr_smp.find_port(device, None), os.O_RDWR | os.O_NONBLOCK)
    return file, dr_smp.register(file)


def received(file):
    """The SMPs that a client has got."""
    time.sleep(0.3)
    smps = []
    while True:
        try:
            smps.append(os.read(file, dr_smp.HEADER.size + 256)[dr_smp.HEADER.size:])
        except BlockingIOError:
            return smps


def main():
    """Learns the number that names the victim, and sends each form to it."""
    victim, agent = client("hca1")
    dr_smp.post(victim, agent, make(0, 0), Options)
    name = struct.unpack_from(">I", received(victim)[0], 8)[0]
    sender, agent = client("hca0")
    forms = {
        "request with an answer's method": {"ptr": 0, "cnt": 0, "method": 0x81},
        "the same past its end": {"ptr": 1, "cnt": 0, "method": 0x81},
        "a TrapRepress": {"ptr": 0, "cnt": 0, "method": 0x07},
        "return with DrDLID": {"ptr": 0, "cnt": 0, "method": 0x81, "ret": True, "dlid": 7},
        "request past its end with DrSLID": {"ptr": 1, "cnt": 0, "method": 0x81, "slid": 5},
        "return": {"ptr": 0, "cnt": 0, "method": 0x81, "ret": True},
        "return over two hops": {"ptr": 0, "cnt": 2, "method": 0x81, "ret": True},
    }
    for form, fields in forms.items():
        # One TID for all: what was sent before must not pass for a request.
        taken = dr_smp.post(sender, agent, make(tid=0xBAD, high_tid=name, **fields), Options)
        print(f"{form}: {'taken' if taken else 'refused'}, {len(received(victim))} received")


if __name__ == "__main__":
    main()
