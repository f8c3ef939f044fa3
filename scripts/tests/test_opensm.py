# SPDX-License-Identifier: GPL-2.0
"""OpenSM on the virtual fabric: it brings it up, hears traps, uses keys, writes partitions, runs on a switch,
and hands over to another."""

import errno
import re
import time

import pytest

import opensm
from opensm import errors, port_guid, start, up, wait
from sma import (
    ACTIVE, DISABLED, DOWN, INIT, NODE_INFO, OK, PERMISSIVE, PORT_INFO, REPRESS, RESPONSE, SM_INFO, STOP, Answer,
    change, exchange, guid, lid, load, make, one, traps, unpack)
from test_smi import discards

DEBUG = "/sys/kernel/debug/ibfabric"
KEY = 0x1122334455667788


@pytest.fixture(name="tree")
def tree_fixture(guest_stock):
    """A fat tree that no subnet manager has seen yet."""
    load(guest_stock, "topology=fattree preset=0 capture=1000")
    yield guest_stock
    guest_stock.check(f"{STOP}{opensm.STOP}")


def is_up(guest, count):
    """Whether all ports that the kernel knows are active and have a LID of their own. Returns the LIDs."""
    states, lids = up(guest)
    assert set(states.values()) == {"ACTIVE"}, states
    assert 0 not in lids.values() and len(set(lids.values())) == len(lids) == count, lids
    return lids


def test_it_brings_the_fabric_up(tree):
    # With quality of service it also writes the tables of lanes.
    start(tree, "hca0", "/tmp/osm.log", settings=("qos TRUE",))
    wait(tree, "/tmp/osm.log", "SUBNET UP")
    assert errors(tree, "/tmp/osm.log") == []
    is_up(tree, 10)
    # C16: hca0 is at port 5 of its leaf.
    assert one(tree, NODE_INFO, path=(1,)).local_port == 5
    assert one(tree, PORT_INFO, 5, path=(1,)).state == ACTIVE
    # By LID, all the way.
    there = lid(tree, "hca3")
    answer, = exchange(tree, [("hca0", 1, there, make(NODE_INFO, directed=False))])
    assert answer.guid == guid(tree, "hca3")
    assert tree.check("ibnetdiscover -C hca0 | grep -c '^\\['").strip() == "20"
    # C5: the subnet manager answers for itself, and keeps the LIDs of the route.
    here, leaf = lid(tree, "hca1"), lid(tree, "sw0")
    ports = {device: int(tree.check(f"sed -n 's/^{device}:1 sw0://p;s/^sw0:\\([0-9]*\\) {device}:1$/\\1/p' {DEBUG}/links"))
             for device in ("hca0", "hca1")}
    answer, = exchange(tree, [("hca1", 1, leaf, make(SM_INFO, path=(ports["hca0"],), slid=here))])
    assert (answer.method, answer.status, answer.slid, answer.dlid) == (RESPONSE, OK, here, PERMISSIVE)
    assert int.from_bytes(answer.data[:8], "big") == guid(tree, "hca0") + 1


def test_c5_it_keeps_both_lids_of_the_route(guest_stock):
    """By LID to sw0, by its port 5 to sw1, and by LID to the subnet manager at hca1; so the LIDs are not to be swapped."""
    log = "/tmp/osm.log"
    load(guest_stock, "topology=chain switches=2 preset=0")
    start(guest_stock, "hca1", log)
    wait(guest_stock, log, "SUBNET UP")
    here, there = lid(guest_stock, "hca0"), lid(guest_stock, "hca1")
    request = make(SM_INFO, path=(5,), slid=here, dlid=there)
    answer, = exchange(guest_stock, [("hca0", 1, lid(guest_stock, "sw0"), request)])
    assert (answer.method, answer.direction, answer.status) == (RESPONSE, 1, OK)
    assert here != there and answer.mad[32:36] == request[32:36] == here.to_bytes(2, "big") + there.to_bytes(2, "big")
    # SMInfo begins with the GUID of the subnet manager's port.
    assert int.from_bytes(answer.data[:8], "big") == port_guid(guest_stock, "hca1")
    guest_stock.check(f"{STOP}{opensm.STOP}")


def test_traps_reach_it_and_stop(tree):
    log = "/tmp/osm.log"
    start(tree, "hca0", log)
    wait(tree, log, "SUBNET UP")
    tree.check("echo renamed >/sys/class/infiniband/hca3/node_desc")
    line, *_ = wait(tree, log, "num:144")
    print(line)
    assert f"from LID:{lid(tree, 'hca3')}" in line
    # Its own SMA lost a link; the leaf tells.
    assert change(tree, PORT_INFO, 1, device="hca3", phys_state=DISABLED).state == DOWN
    line, *_ = wait(tree, log, "num:128")
    print(line)
    time.sleep(4)
    sent = {}
    for when, source, dlid, trap in traps(tree):
        assert dlid == lid(tree, "hca0")
        sent.setdefault((source.partition(":")[0], trap.tid), []).append((when, source))
    # Each was sent once, at one port of its node, and TrapRepress came back with the same TID.
    for (node, tid), sightings in sent.items():
        assert len([source for _, source in sightings if source.startswith(f"{node}:")]) == 1, sent
        assert tid in represses(tree)


def represses(guest):
    """The TIDs of the TrapRepresses on wires."""
    smps = (Answer(bytes.fromhex(line.split()[-1])) for line in guest.check(f"cat {DEBUG}/wire").splitlines())
    return {smp.tid for smp in smps if smp.mad[1] == 1 and smp.method == REPRESS}


def test_it_uses_a_key(tree):
    log = "/tmp/osm.log"
    start(tree, "hca0", log, settings=(f"m_key {KEY:#x}", "m_key_protection_level 2", "m_key_lease_period 0"))
    wait(tree, log, "SUBNET UP")
    is_up(tree, 10)
    assert one(tree, NODE_INFO, path=(1,)) is None
    answer = one(tree, PORT_INFO, 0, path=(1,), mkey=KEY)
    assert (answer.status, answer.protect, answer.mkey_violations) == (OK, 2, 1)
    assert unpack(PORT_INFO, answer.data).mkey == KEY
    line, *_ = wait(tree, log, "num:256")
    print(line)


# Short, so that a master that does not answer is missed soon.
POLLING = ("sminfo_polling_timeout 1000", "polling_retry_number 2")


@pytest.mark.parametrize("signal", ["TERM", "KILL"])
def test_two_of_them_elect_a_master(tree, signal):
    """The one with the higher priority becomes master. When it goes, by itself or killed, the other takes over."""
    low, high = "/tmp/low.log", "/tmp/high.log"
    before = discards(tree)["not-asked"]
    start(tree, "hca0", low, "-p 3", POLLING)
    wait(tree, low, "SUBNET UP")
    start(tree, "hca3", high, "-p 9", POLLING)
    wait(tree, high, "-> Entering MASTER state")
    wait(tree, low, "-> Entering STANDBY state")
    wait(tree, high, "SUBNET UP")
    assert one(tree, PORT_INFO, 1, device="hca1").sm_lid == lid(tree, "hca3")
    # While they sort that out on a busy host, the one may not wait long enough for the other. It asks again, and umad takes
    # no second answer with a TID while the first has not gone: is_duplicate() in user_mad.c.
    late = "TIMEOUT|Timeout|Method 0x81, Attr 0x20, .*Invalid argument|vl15_send_mad: ERR 3E03"
    assert [line for line in errors(tree, high) + errors(tree, low) if not re.search(late, line)] == []
    assert discards(tree)["not-asked"] == before
    sweeps = len(wait(tree, low, "SUBNET UP"))
    tree.check(f"pkill -{signal} -f high.log; while pgrep -f high.log >/dev/null; do sleep 0.1; done")
    wait(tree, low, "-> Entering MASTER state", 120, times=2)
    wait(tree, low, "SUBNET UP", times=sweeps + 1)
    # All that it complains of is that the one that went does not answer to SMInfo.
    log = tree.check(f"cat {low}")
    said = {re.search("ERR ([0-9A-F]{4})", line)[1]: line for line in errors(tree, low)}
    assert set(said) <= {"5410", "5411", "3113", "3120"}, said
    assert log.count("ERR 5411") == len(re.findall(r"ERR 5411.*\n\s+Method 0x1, Attr 0x20,", log))
    is_up(tree, 10)
    # Every port of every node, external ones of switches too, has the new one's LID.
    here = lid(tree, "hca0")
    told = tree.check("cat /sys/class/infiniband/*/ports/*/sm_lid").split()
    assert len(told) == 10 and {int(text, 16) for text in told} == {here}
    assert f"sm lid {here} " in tree.check("sminfo -C hca1") and "priority 3 state 3 SMINFO_MASTER" in tree.check("sminfo -C hca1")
    assert tree.check(f"grep -c Active {DEBUG}/ports").strip() == "20"


PARTITIONS = """\
Default=0x7fff, ipoib : ALL=limited, SELF=full;
Blue=0x1234 : {hca1:#x}=full, {hca2:#x}=limited;
Red=0x0321, defmember=full : {hca2:#x}, {hca4:#x}=limited;
"""


def pkeys(guest, target, port=""):
    """The P_Keys that a port has, without the empty entries."""
    out = guest.check(f"smpquery -C hca0 pkeys {target} {port}")
    return {int(key, 16) for key in re.findall("0x[0-9a-f]{4}", out)} - {0}


def test_partitions_reach_the_tables(tree):
    """What a member of a partition gets is its number, with the highest bit if it is a full one."""
    log = "/tmp/osm.log"
    members = {device: port_guid(tree, device) for device in ("hca1", "hca2", "hca4")}
    tree.check(f"cat >/tmp/partitions.conf <<'END'\n{PARTITIONS.format(**members)}END")
    start(tree, "hca0", log, "-P /tmp/partitions.conf")
    wait(tree, log, "SUBNET UP")
    assert errors(tree, log) == []
    expected = {"hca0:1": {0xFFFF}, "hca1:1": {0x7FFF, 0x9234}, "hca2:1": {0x7FFF, 0x1234, 0x8321}, "hca3:1": {0x7FFF},
                "hca4:1": {0x7FFF, 0x0321}, "hca4:2": {0x7FFF}}
    peers = dict(pair for line in tree.check(f"cat {DEBUG}/links").splitlines()
                 for pair in (line.split(), line.split()[::-1]))
    _, lids = up(tree)
    for port, keys in expected.items():
        assert pkeys(tree, lids[port]) == keys, port
        # The switch lets through what the HCA behind the port may use.
        switch, number = peers[port].split(":")
        assert pkeys(tree, lids[f"{switch}:0"], number) == keys, peers[port]
        # And the kernel knows what was written.
        device, number = port.split(":")
        told = tree.check(f"cat /sys/class/infiniband/{device}/ports/{number}/pkeys/*").split()
        assert {int(key, 16) for key in told} - {0} == keys, port
    for switch in ("sw0", "sw1", "sw2", "sw3"):
        assert pkeys(tree, lids[f"{switch}:0"], 0) == {0x7FFF}, switch
    # A record of the table, as the subnet administration has it for those whom it trusts.
    out = tree.check(f"saquery -C hca0 --smkey 1 PKTR {lids['hca1:1']}")
    assert {int(key, 16) for key in re.findall("0x[0-9a-f]{4}", out)} >= {0x7FFF, 0x9234}


def test_it_runs_on_a_switch(tree):
    """M10: with the stock SMI, no directed route leaves a switch that user space asks from."""
    log = "/tmp/osm.log"
    start(tree, "sw2", log, port=0)
    wait(tree, log, "SUBNET UP")
    assert errors(tree, log) == []
    lids = is_up(tree, 10)
    assert f"sm lid {lids['sw2:0']} sm guid {port_guid(tree, 'sw2', 0):#x}" in tree.check("sminfo -C hca3")
    assert one(tree, PORT_INFO, 1, device="hca1").sm_lid == lids["sw2:0"]
    # It hears of what happens, and answers to queries.
    tree.check("echo renamed >/sys/class/infiniband/hca3/node_desc")
    line, *_ = wait(tree, log, "num:144")
    assert f"from LID:{lids['hca3:1']}" in line
    assert tree.check("saquery -C hca0 NR").count("NodeRecord dump") == 10


def test_on_a_switch_of_the_stock_kernel_it_sees_nothing(tree):
    """The same with ib_core's own functions: no directed route leaves the switch."""
    log = "/tmp/osm.log"
    tree.check("/src/scripts/unload")
    try:
        start(tree, "sw2", log, port=0)
        wait(tree, log, "ERRORS DURING INITIALIZATION")
        assert "failed -5 (Invalid argument)" in tree.check(f"cat {log}")
        assert tree.check(f"grep '^total ' {DEBUG}/posts").strip() == "total 0"
        assert "Invalid directed route" in tree.check("dmesg")
    finally:
        opensm.stop(tree)
        tree.check("/src/scripts/load")


def test_c25_a_busy_host_loses_no_node(tree):
    tree.check("for cpu in 1 2 3 4; do while :; do :; done & echo $! >>/tmp/busy; done 2>/dev/null; sleep 0.1")
    try:
        start(tree, "hca0", "/tmp/osm.log")
        wait(tree, "/tmp/osm.log", "SUBNET UP", 240)
        is_up(tree, 10)
    finally:
        tree.check("kill $(cat /tmp/busy); rm /tmp/busy")


# Waits for what comes to hca1's QP0 for it, which is nothing, and prints the error that it gets when the device goes.
READER = """
import os, select, sys
from pathlib import Path
from smp import load_script
file = os.open(load_script("dr-smp").find_port("hca1", None), os.O_RDWR)
poll = select.poll()
poll.register(file, select.POLLIN)
Path("/tmp/waiting").touch()
poll.poll()
try:
    os.read(file, 320)
except OSError as error:
    print(error.errno)
"""


def test_c8_the_fabric_goes_away_under_it(guest_stock):
    """While it sweeps, its clients ask, and a reader waits. Devices go one after another: hca0, where it is, first, so that
    the clients at hca1 still ask what is no more. Whoever has umad open is told that the device has gone."""
    guest, log = guest_stock, "/tmp/osm.log"
    load(guest, "topology=pair preset=0")
    start(guest, "hca0", log)
    wait(guest, log, "SUBNET UP")
    guest.check(
        "rm -f /tmp/stop /tmp/waiting; cd /src/scripts/tests\n"
        f"python3 -B -c '{READER}' >/tmp/reader 2>&1 & echo $! >/tmp/reader.pid\n"
        "while [ ! -e /tmp/stop ]; do pkill -HUP -x opensm; sleep 0.2; done &\n"
        "for i in 1 2; do\n"
        "while [ ! -e /tmp/stop ]; do timeout 60 saquery -C hca1 -t 100 NR; echo status $?; done >/tmp/asked.$i 2>&1 &\n"
        "done\n"
        "for i in $(seq 600); do\n"
        "[ -e /tmp/waiting ] && grep -q 'status 0' /tmp/asked.1 && grep -q 'status 0' /tmp/asked.2 &&\n"
        f"[ $(grep -c 'SUBNET UP' {log}) -ge 4 ] && exit 0; sleep 0.1; done; exit 1")
    try:
        guest.check("rmmod ibfabric", timeout=60)
        guest.check("for i in $(seq 100); do [ -d /proc/$(cat /tmp/reader.pid) ] || exit 0; sleep 0.1; done; exit 1")
    finally:
        # OpenSM itself goes on reading, and complains of each error.
        guest.check(f"touch /tmp/stop\n{opensm.STOP}while pgrep -x saquery >/dev/null; do sleep 0.2; done")
    assert guest.check("cat /tmp/reader").split() == [str(errno.EIO)]
    assert "recv error on MAD sized umad (Input/output error)" in guest.check(f"head -c 500000 {log}")
    for number in (1, 2):
        told = re.findall(r"^status (\d+)$", guest.check(f"cat /tmp/asked.{number}"), re.M)
        assert "124" not in told and told[-1] != "0", told
    # All is well again.
    load(guest, "topology=pair preset=0")
    start(guest, "hca0", log)
    wait(guest, log, "SUBNET UP")
    is_up(guest, 3)
    guest.check(opensm.STOP)


def test_a_link_that_comes_back(tree):
    log = "/tmp/osm.log"
    start(tree, "hca0", log)
    wait(tree, log, "SUBNET UP")
    change(tree, PORT_INFO, 1, device="hca2", phys_state=DISABLED)
    wait(tree, log, "num:128")
    change(tree, PORT_INFO, 1, device="hca2", phys_state=2)
    assert one(tree, PORT_INFO, 1, device="hca2").state in (INIT, ACTIVE)
    # The trap makes OpenSM sweep, which takes it into use.
    tree.check("for i in $(seq 120); do grep -q ACTIVE /sys/class/infiniband/hca2/ports/1/state && exit 0; sleep 0.5; done; exit 1",
               timeout=120)
