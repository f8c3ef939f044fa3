# SPDX-License-Identifier: GPL-2.0
"""OpenSM on the virtual fabric: it brings it up, hears traps, uses keys, and hands over to another."""

import time

import pytest

from sma import (
    ACTIVE, DISABLED, DOWN, INIT, NODE_INFO, OK, PERMISSIVE, PORT_INFO, REPRESS, RESPONSE, SM_INFO, STOP, Answer,
    change, exchange, guid, lid, load, make, one, traps, unpack)

DEBUG = "/sys/kernel/debug/ibfabric"
KEY = 0x1122334455667788


def start(guest, device, log, options="", settings=()):
    """Starts OpenSM on the first port of an HCA. It writes its log at once only if told so."""
    lines = "\n".join(("force_log_flush TRUE", *settings))
    port = guid(guest, device) + 1
    guest.check(f"rm -f {log}; mkdir -p /var/cache/opensm/{device}\n"
                f"export OSM_CACHE_DIR=/var/cache/opensm/{device}; rm -f $OSM_CACHE_DIR/*\n"
                f"cat >{log}.conf <<'END'\n{lines}\nEND\n"
                f"opensm -B -F {log}.conf -g {port:#x} -f {log} {options} >/dev/null")


def wait(guest, log, text, seconds=90):
    """Waits for something to be logged, and returns the lines that have it."""
    guest.check(f"for i in $(seq {seconds * 2}); do grep -q '{text}' {log} && exit 0; sleep 0.5; done; tail -n 40 {log}; exit 1",
                timeout=seconds * 3)
    return guest.check(f"grep '{text}' {log}").splitlines()


def errors(guest, log):
    """What OpenSM has to complain about."""
    return guest.check(f"grep -E 'ERR [0-9A-F]{{4}}' {log} || true").splitlines()


@pytest.fixture(name="tree")
def tree_fixture(guest_stock):
    """A fat tree that no subnet manager has seen yet."""
    load(guest_stock, "topology=fattree preset=0 capture=1000")
    yield guest_stock
    guest_stock.check(f"{STOP}pkill -x opensm; while pgrep -x opensm >/dev/null; do sleep 0.2; done")


def up(guest):
    """The states of all ports that are linked, and the LIDs of all that have one."""
    links = guest.check("cat /sys/class/infiniband/hca*/ports/*/state").split("\n")
    lids = guest.check("cat /sys/class/infiniband/*/ports/*/lid").split()
    return {line.partition(":")[2].strip() for line in links if line}, [int(text, 16) for text in lids]


def test_it_brings_the_fabric_up(tree):
    # With quality of service it also writes the tables of lanes.
    start(tree, "hca0", "/tmp/osm.log", settings=("qos TRUE",))
    wait(tree, "/tmp/osm.log", "SUBNET UP")
    assert errors(tree, "/tmp/osm.log") == []
    states, lids = up(tree)
    assert states == {"ACTIVE"}
    assert 0 not in lids and len(lids) == len(set(lids)) == 10
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
    assert up(tree)[0] == {"ACTIVE"}
    assert one(tree, NODE_INFO, path=(1,)) is None
    answer = one(tree, PORT_INFO, 0, path=(1,), mkey=KEY)
    assert (answer.status, answer.protect, answer.mkey_violations) == (OK, 2, 1)
    assert unpack(PORT_INFO, answer.data).mkey == KEY
    line, *_ = wait(tree, log, "num:256")
    print(line)


def test_two_of_them_elect_a_master(tree):
    start(tree, "hca0", "/tmp/low.log", "-p 3")
    wait(tree, "/tmp/low.log", "SUBNET UP")
    start(tree, "hca3", "/tmp/high.log", "-p 9")
    wait(tree, "/tmp/high.log", "Entering MASTER state")
    wait(tree, "/tmp/low.log", "Entering STANDBY state")
    wait(tree, "/tmp/high.log", "SUBNET UP")
    assert one(tree, PORT_INFO, 1, device="hca1").sm_lid == lid(tree, "hca3")
    # It goes; the other takes over.
    tree.check("pkill -f high.log; while pgrep -f high.log >/dev/null; do sleep 0.2; done")
    tree.check("for i in $(seq 240); do [ $(grep -c 'Entering MASTER state' /tmp/low.log) = 2 ] && exit 0; sleep 0.5; done; exit 1",
               timeout=240)
    tree.check("for i in $(seq 120); do [ $(cat /sys/class/infiniband/hca1/ports/1/sm_lid) = $(cat /sys/class/infiniband/hca0/ports/1/lid) ]"
               " && exit 0; sleep 0.5; done; exit 1", timeout=120)


def test_c25_a_busy_host_loses_no_node(tree):
    tree.check("for cpu in 1 2 3 4; do while :; do :; done & echo $! >>/tmp/busy; done 2>/dev/null; sleep 0.1")
    try:
        start(tree, "hca0", "/tmp/osm.log")
        wait(tree, "/tmp/osm.log", "SUBNET UP", 240)
        states, lids = up(tree)
    finally:
        tree.check("kill $(cat /tmp/busy); rm /tmp/busy")
    assert states == {"ACTIVE"} and 0 not in lids


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
