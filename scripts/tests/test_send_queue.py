# SPDX-License-Identifier: GPL-2.0
"""QP0's send queue when it is full, and when the device has stopped sending.

The fabric holds the completions of a switch's sends back, so that it is known what is in the queue. What goes
through the switch are answers that nobody takes at the end, each of them one packet.
"""

import contextlib

import pytest

from smp import follow, inject, make
from test_smi import DEBUG, FAULTS, discards, lid, load, posts

SLOTS, BACKLOG = 16, 256
PROCESSORS = 2
NODE = "/sys/kernel/config/ibfabric/nodes/sw0"
# How often an SMP is posted again that the device has flushed.
AGAIN = 3


@pytest.fixture(name="pair")
def pair_fixture(guest_stock):
    """Two HCAs and a switch, with the module loaded."""
    load(guest_stock)
    return guest_stock


@contextlib.contextmanager
def holding(guest):
    """The completions of the switch's sends are held back; afterwards all is well."""
    guest.check(f"mkdir -p {FAULTS}/sw0/0 && echo on >{FAULTS}/sw0/0/smi_stall")
    yield
    guest.check(f"rmdir {FAULTS}/sw0/0 {FAULTS}/sw0")
    assert "hca1" in guest.check("smpquery -C hca0 -D nodedesc 0,1,2")


@pytest.fixture(name="held")
def held_fixture(pair):
    """The same, and the completions of the switch's sends are held back."""
    with holding(pair):
        yield pair


def passing(count):
    """Answers that the switch passes on to hca0."""
    return [("sw0", 2, make(2, 2, (1, 2), (1, 1), ret=True), "") for _ in range(count)]


def routed(guest, count):
    """Answers that the switch sends on by LID, to hca1, each with an address handle."""
    target = lid(guest, "hca1")
    return [("sw0", 1, make(1, 2, (1, 2), (1, 1), ret=True, slid=target), "") for _ in range(count)]


def levels(guest):
    """How many slots are in use, and how many SMPs wait for one."""
    text = guest.check(f"cat {DEBUG}/ib_smi/sw0/0/queue")
    found = dict(line.split() for line in text.splitlines())
    return int(found["own_posted"]), int(found["own_waiting"])


def knob(guest, name):
    """What a knob of the switch's queue pair reads."""
    return guest.check(f"cat {FAULTS}/sw0/0/{name}").strip()


def let_go(guest):
    """Lets completions come, and waits until nothing is in the queue."""
    guest.check(f"echo off >{FAULTS}/sw0/0/smi_stall\n"
                f"for i in $(seq 300); do grep -q 'own_posted 0' {DEBUG}/ib_smi/sw0/0/queue"
                f" && grep -q 'own_waiting 0' {DEBUG}/ib_smi/sw0/0/queue && exit 0; sleep 0.1; done; exit 1")


def outcome(guest, action):
    """What an action comes to: packets on wires, and discards by reason."""
    wires, lost = posts(guest), discards(guest)
    action()
    now = discards(guest)
    return posts(guest) - wires, {name: now[name] - lost[name] for name in now if now[name] != lost[name]}


def fill(guest):
    """Fills slots and backlog with SMPs that have an address handle, and lets more come: these are lost."""
    assert outcome(guest, lambda: inject(guest, routed(guest, SLOTS + BACKLOG + 8))) == (SLOTS, {"queue-full": 8})
    assert levels(guest) == (SLOTS, BACKLOG)
    assert knob(guest, "smi_stall") == f"on waiting={SLOTS}"


def test_what_finds_no_room_is_lost(held):
    """To give an address handle back may sleep, which a kernel that looks out for that reports."""
    fill(held)
    assert outcome(held, lambda: let_go(held)) == (BACKLOG, {})
    assert knob(held, "smi_stall") == "off waiting=0"


def test_unloading_sends_what_waits(held):
    fill(held)
    held.check(f"(sleep 1; echo off >{FAULTS}/sw0/0/smi_stall) & /src/scripts/unload && wait && /src/scripts/load")


def test_a_device_goes_while_the_module_does(held):
    """The MAD layer takes away what is below the module when that is over with the device, and not before."""
    inject(held, passing(1))
    held.check(
        f"mkdir -p {NODE}; /src/scripts/unload & until grep -q going /sys/module/ib_smi/initstate; do sleep 0.1; done\n"
        f"sleep 1; [ -d /sys/module/ib_smi ] && echo 0 >{NODE}/live && wait $! && [ ! -d /sys/module/ib_smi ] &&"
        f" echo 1 >{NODE}/live && echo 1 >{NODE}/../../preset && /src/scripts/load", timeout=90)


def replace(guest):
    """The switch goes, with what is in its queue, and comes back."""
    guest.dmesg(clear=True)
    guest.check(f"mkdir -p {NODE} && echo 0 >{NODE}/live && echo 1 >{NODE}/live && echo 1 >{NODE}/../../preset", timeout=60)
    assert "still waiting" not in guest.dmesg()


def test_a_device_goes_with_a_full_queue(held):
    fill(held)
    replace(held)


def test_a_device_goes_with_what_is_flushed(held):
    held.check(f"echo 1 >{FAULTS}/sw0/0/smi_sends")
    assert outcome(held, lambda: inject(held, passing(SLOTS + 4))) == (0, {})
    replace(held)


def test_what_a_failed_send_of_ib_mads_flushes_is_sent_again(held):
    """A client's send fails, and ib_mad has the queue pair work again when it hears of that."""
    held.check(f"echo 1 >{FAULTS}/sw0/0/smi_sends\n"
               "(/src/scripts/dr-smp -C sw0 --timeout 100 0,2 >/dev/null 2>&1; echo $? >/tmp/status) &\n"
               f"until grep -q hits=1 {FAULTS}/sw0/0/smi_sends; do sleep 0.1; done")
    assert outcome(held, lambda: inject(held, passing(5))) == (0, {})
    assert levels(held) == (5, 0) and knob(held, "smi_stall") == "on waiting=6"
    assert outcome(held, lambda: let_go(held)) == (5, {})
    held.check("until [ -e /tmp/status ]; do sleep 0.1; done; rm /tmp/status")


def test_what_a_failed_send_of_our_own_flushes_is_sent_again(held):
    held.check(f"echo 1 >{FAULTS}/sw0/0/smi_sends")
    assert outcome(held, lambda: inject(held, [*passing(3), *routed(held, 3)])) == (0, {})
    assert knob(held, "smi_stall") == "on waiting=6"
    assert outcome(held, lambda: let_go(held)) == (5, {"send-failed": 1})


def test_it_is_sent_again_so_often_and_no_more(held):
    """Each time that all are posted again, the first of them fails and flushes the others."""
    failing = AGAIN + 3
    held.check(f"echo {failing} >{FAULTS}/sw0/0/smi_sends")
    assert outcome(held, lambda: inject(held, passing(failing + 4))) == (0, {})
    # The last ones were flushed by the first one and after each time that they were sent again.
    assert outcome(held, lambda: let_go(held)) == (0, {"send-failed": failing + 4})
    assert knob(held, "smi_sends") == f"{failing - AGAIN - 1} hits={AGAIN + 1}"


def test_what_was_flushed_for_good_is_no_fault(held):
    """The queue pair works again by then, for the completion of what failed came first."""
    held.dmesg(clear=True)
    # After each time that all are posted again one fails, and with the last of these the others are flushed for good.
    held.check(f"echo {AGAIN + 1} >{FAULTS}/sw0/0/smi_sends")
    assert outcome(held, lambda: inject(held, passing(SLOTS))) == (0, {})
    assert outcome(held, lambda: let_go(held)) == (0, {"send-failed": SLOTS})
    assert "brought back" not in held.dmesg()


def test_it_is_told_of_once(held):
    """To be sent again is no event: it was told of when it was passed on."""
    held.check(f"echo 1 >{FAULTS}/sw0/0/smi_sends")
    events = follow(held, "\n".join(
        f"echo '{node} {port} {smp.hex()}' >{DEBUG}/ibfabric/inject" for node, port, smp, _ in passing(2)) +
        f"\necho off >{FAULTS}/sw0/0/smi_stall; sleep 1")
    assert [[(e["event"], e["device"]) for e in story] for story in events.values()] == [
        [("recv", "sw0"), ("forward", "sw0"), ("discard", "sw0")],
        [("recv", "sw0"), ("forward", "sw0"), ("recv", "hca0")]]
