# SPDX-License-Identifier: GPL-2.0
"""M14: a switch that goes can leave an agent of ib_core's SA client behind, and an answer that names it crashes the
kernel. Seen without the module; with it, it is no different.

Whether one is left behind depends on what is in the heap, so switches come and go until one is. A guest of its own,
for it is of no more use then.
"""

import re
import time

from guestlib import reports
from guestlib.guest import Guest, new_results
from smp import make

# What the agent points to is freed, and whatever is there now is taken for a queue pair, a device, and its ports.
CRASH = r"(BUG: |Oops: )(.|\n)*(nack_recv|alloc_response_msg)\+"
INJECT = "/sys/kernel/debug/ibfabric/inject"
NODES = "/sys/kernel/config/ibfabric/nodes"
TRACING = "/sys/kernel/tracing"
SWITCHES = 24
AGENT = r"ib_mad_{}_agent: \d+:0 mad agent : hi_tid (0x\w+)"


def answer(agent):
    """An answer that is over, to that agent. Its M_Key, read as the header of RMPP, is an acknowledgement of version 0."""
    smp = bytearray(make(0, 1, ret=True, high_tid=agent))
    smp[24:27] = 0, 2, 1
    return bytes(smp)


def set_live(guest, live, first=1, step=1):
    """Lets some of the switches come or go."""
    guest.check(f"cd {NODES} && for i in $(seq {first} {step} {SWITCHES}); do echo {live} >sw$i/live || exit 1; done")


def left_behind(guest):
    """The agents of port 0, which switches have, that were registered and not unregistered, when there is no switch."""
    text = guest.check(f"cat {TRACING}/trace")
    gone = set(re.findall(AGENT.format("unregister"), text))
    return [int(agent, 16) for agent in re.findall(AGENT.format("create"), text) if agent not in gone]


def test_an_agent_that_is_left_behind():
    with Guest("stock", results=new_results("test_m14"), expect=(CRASH,)) as guest:
        guest.check(
            f"modprobe ib_core && modprobe configfs && insmod $MODULES/ibfabric.ko topology=none\ncd {TRACING}\n"
            "echo 4000 >buffer_size_kb; echo 1 >events/ib_mad/ib_mad_create_agent/enable\n"
            "echo 1 >events/ib_mad/ib_mad_unregister_agent/enable\n"
            f"cd {NODES} && mkdir hca && echo ca >hca/type && echo 1 >hca/ports && echo 1 >hca/live\n"
            f"for i in $(seq {SWITCHES}); do mkdir sw$i && echo switch >sw$i/type && echo 4 >sw$i/ports || exit 1; done")
        for _ in range(8):
            set_live(guest, 1)
            # Each of those that come back finds others beside it, and does not when it goes.
            for first in (1, 2) * 4:
                set_live(guest, 0, first, 2)
                set_live(guest, 1, first, 2)
            set_live(guest, 0)
            agents = left_behind(guest)
            if not agents:
                continue
            lines = "\n".join(f"hca 1 {answer(agent).hex()}" for agent in agents)
            guest.check(f"while read -r line; do echo \"$line\" >{INJECT} || exit 1; done <<'END'\n{lines}\nEND")
            time.sleep(2)
            guest.settle()
            if any(re.search(CRASH, report) for report in reports.find(guest.console)):
                return
        assert agents, "no agent was left behind"
        raise AssertionError(f"nothing became of answers to agents {agents}, which are left behind")
