# SPDX-License-Identifier: GPL-2.0
"""M11: an SMP from the wire whose answer has nowhere to go crashes Debian's kernel, and does not with the module.

A guest each: the one that crashes is of no more use.
"""

import time

from guestlib import reports
from guestlib.guest import Guest, new_results
from smp import make

# The SA client takes what it gets for the answer to a query of its own, which there is not.
CRASH = r"BUG: kernel NULL pointer dereference(.|\n)*RIP: 0010:recv_handler\+.*\[ib_core\]"
INJECT = "/sys/kernel/debug/ibfabric/inject"

# What comes in ends in an answer without a hop, or is one that is over; the agents of a host have numbers from 1 up.
FORMS = [make(0, 0, high_tid=agent) for agent in range(1, 65)]
FORMS += [make(0, 2, ret=True, method=1, high_tid=agent) for agent in range(1, 65)]


def boot(name, expect=()):
    """A guest of its own."""
    return Guest("stock", results=new_results(f"test_m11-{name}"), expect=expect)


def throw(guest, load):
    """Injects all of them, without waiting for anybody who might be dead."""
    guest.check(f"modprobe ib_umad && insmod $MODULES/ibfabric.ko topology=pair && {load}")
    lines = "\n".join(f"{node} 1 {smp.hex()}" for smp in FORMS for node in ("hca0", "hca1", "sw0"))
    guest.check(f"while read -r line; do echo \"$line\" >{INJECT} || exit 1; done <<'END'\n{lines}\nEND")
    time.sleep(3)


def test_stock_crashes():
    with boot("stock", expect=(CRASH,)) as guest:
        throw(guest, "true")
        guest.settle()
        assert any("recv_handler" in report for report in reports.find(guest.console))


def test_patched_does_not():
    with boot("patched") as guest:
        throw(guest, "/src/scripts/load")
        assert "hca1" in guest.check("smpquery -C hca0 -D nodedesc 0,1,2")
