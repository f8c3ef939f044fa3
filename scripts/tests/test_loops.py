# SPDX-License-Identifier: GPL-2.0
"""Nothing goes round for ever, and no flood of bad SMPs reaches the log.

The cabling is made for it: two switches joined by the same port number of both, a switch joined to itself, and a
ring of three. What comes out of a route is worked out here from its Hop Count: the specification (section 14.2.2)
moves the Hop Pointer by one at every node, so an SMP of a directed route leaves a port once a hop and no oftener.
"""

import collections
import itertools
import re

import pytest

import sma
from smp import PERMISSIVE, follow, make, short, tid_of
from test_traffic import QUIET, counters as fabric_counters

CONFIG = "/sys/kernel/config/ibfabric"
FABRIC = "/sys/kernel/debug/ibfabric"
COUNTERS = "/sys/kernel/debug/ib_smi/counters"
NODES = {"hca0": "ca", "hca1": "ca", "hca2": "ca", "hca3": "ca", "swa": "switch", "swb": "switch", "swself": "switch",
         "r0": "switch", "r1": "switch", "r2": "switch"}
LINKS = ("hca0:1-swa:1", "swa:3-swb:3", "swb:1-hca1:1", "swa:2-swself:1", "swself:3-swself:4",
         "r0:1-r1:2", "r1:1-r2:2", "r2:1-r0:2", "hca2:1-r0:3", "hca3:1-r1:3")
Node = collections.namedtuple("Node", "guid lid")
# A LID that nobody has, and one that is sent round the ring.
NOBODY, ROUND = 0x99, 50
# How many switches of the fabric may forward one packet by LID; see Documentation/fabric.rst.
MOST_SWITCHES = 64
FLOOD = 10_000
# Packets that the file `wire` has.
CAPTURE = 1000
# Shell: waits until no packet leaves any port.
SETTLE = f"""
settle() {{ last=; while now=$(sed -n 's/^total //p' {FABRIC}/posts); [ "$now" != "$last" ]; do last=$now; sleep 0.3; done; }}
"""


@pytest.fixture(name="guest", scope="module")
def guest_fixture(guest_stock):
    """The cabling, with LIDs and forwarding tables, under the module."""
    lines = ["modprobe ib_umad", f"insmod $MODULES/ibfabric.ko capture={CAPTURE}", f"cd {CONFIG}"]
    lines += [f"mkdir nodes/{name}; echo {kind} >nodes/{name}/type; echo {4 if kind == 'switch' else 1} >nodes/{name}/ports; "
              f"echo 1 >nodes/{name}/live" for name, kind in NODES.items()]
    lines += [f"mkdir links/{link}" for link in LINKS]
    guest_stock.check("\n".join(["set -e", *lines, "echo 1 >preset", "/src/scripts/load"]))
    return guest_stock


def posts(guest):
    """Packets put on a wire so far."""
    return int(guest.check(f"sed -n 's/^total //p' {FABRIC}/posts"))


@pytest.fixture(name="nodes", scope="module")
def nodes_fixture(guest):
    """The GUID and the LID of each node."""
    lines = (line.split() for line in guest.check(f"cat {FABRIC}/nodes").splitlines())
    return {name: Node(int(guid, 0), int(lid)) for name, _, guid, _, lid in lines}


def decided(guest):
    """What the module has counted, by `DEVICE PORT …`."""
    return collections.Counter({name: int(count) for name, count in
                                (line.rsplit(" ", 1) for line in guest.check(f"cat {COUNTERS}").splitlines())})


def passed_on(counted):
    """How many SMPs switches let go along their path."""
    return sum(count for name, count in counted.items() if re.search(r" decision forward C14-\S+ forward$", name))


def ask(guest, device, path, **lids):
    """Asks along a path. Returns the GUID of who has answered, how many packets left a port, and how many of them a
    switch passed on along the path."""
    before, counted = posts(guest), decided(guest)
    first = lids.pop("first", PERMISSIVE)
    answer, = sma.exchange(guest, [(device, 1, first, sma.make(sma.NODE_INFO, path=path, **lids))], timeout=20000)
    return answer.guid, posts(guest) - before, passed_on(decided(guest) - counted)


@pytest.mark.parametrize("hops", [2, 3, 62, 63])
def test_two_switches_on_the_same_port_number(guest, nodes, hops):
    # Out of hca0, then to and fro by port 3.
    expected = nodes["swa" if hops % 2 else "swb"].guid
    assert ask(guest, "hca0", (1, *[3] * (hops - 1))) == (expected, 2 * hops, 2 * (hops - 1))


@pytest.mark.parametrize("hops", [1, 2, 63])
@pytest.mark.parametrize("trailing", [False, True])
def test_the_same_with_lid_routed_parts(guest, nodes, hops, trailing):
    """M7: with a LID-routed part in front the stock code lets the Hop Pointer stand at every hop but the first."""
    # By LID to swa over one link; then to and fro; then, if wanted, by LID to hca1 behind swb.
    end = "swb" if hops % 2 else "swa"
    behind = 0 if not trailing else 1 if end == "swb" else 2
    found = ask(guest, "hca0", [3] * hops, first=nodes["swa"].lid, slid=nodes["hca0"].lid,
                dlid=nodes["hca1"].lid if trailing else PERMISSIVE)
    # A switch lets it go along the path at every hop on the way out. So it does on the way back, but for the first
    # hop if it is the end's own answer.
    passed = hops + (hops if trailing else hops - 1)
    assert found == (nodes["hca1" if trailing else end].guid, 2 * (1 + hops + behind), passed)


@pytest.mark.parametrize("hops", [2, 3, 63])
def test_a_switch_cabled_to_itself(guest, nodes, hops):
    # hca0, swa, then swself, which sends to its own other port.
    path = (1, 2, *[3, 4] * 32)[:hops]
    assert ask(guest, "hca0", path) == (nodes["swself"].guid, 2 * hops, 2 * (hops - 1))


def test_discovery_ends_at_a_switch_cabled_to_itself(guest, nodes):
    out = guest.check("ibnetdiscover -C hca0", timeout=120)
    assert out.count("vendid=") == 5
    own = f"{nodes['swself'].guid:016x}"
    assert {("3", "4"), ("4", "3")} <= set(re.findall(rf'^\[(\d)\]\t"S-{own}"\[(\d)\]', out, re.MULTILINE))


def test_a_port_cabled_to_itself_is_refused(guest):
    guest.dmesg(clear=True)
    assert guest.run(f"mkdir {CONFIG}/links/r0:4-r0:4")[0] != 0
    assert "a port cannot be linked to itself" in guest.dmesg()


@pytest.mark.parametrize("lead, hops, trail", [
    # From hca2 by LID to a switch of the ring, round the ring by port 1, and by LID to hca3.
    ("", 63, ""), ("r0", 63, ""), ("r1", 63, ""), ("r1", 62, "hca3"), ("", 63, "hca3"), ("r2", 63, "hca2"),
])
def test_rings_with_combined_routes(guest, nodes, lead, hops, trail):
    ring = ("r0", "r1", "r2")
    # Links between hca2, hca3 and each switch, the shortest way.
    away = {"hca2": {"r0": 1, "r1": 2, "r2": 2}, "hca3": {"r0": 2, "r1": 1, "r2": 2}}
    lids = {}
    if lead:
        lids |= {"first": nodes[lead].lid, "slid": nodes["hca2"].lid}
    if trail:
        lids |= {"dlid": nodes[trail].lid}
    # Without a leading part, the first hop takes it from hca2 to r0.
    end = ring[((ring.index(lead) if lead else -1) + hops) % 3]
    sent = hops + (away["hca2"][lead] if lead else 0) + (away[trail][end] if trail else 0)
    assert ask(guest, "hca2", [1] * hops, **lids)[:2] == (nodes[trail or end].guid, 2 * sent)


def remaining(ret, ptr, cnt, slid):
    """How often an SMP leaves a switch along its path if every element names a port with a link, by C14-9 and C14-13."""
    if cnt > 63:
        return 0
    if ret:
        return ptr - 1 if 2 <= ptr <= cnt + 1 else 0
    if ptr == 0:
        return cnt if slid != PERMISSIVE else 0
    return max(0, cnt - ptr)


def test_whatever_comes_from_the_wire_ends(guest, parts):
    """Any Hop Pointer, to and fro between two switches, with LIDs that lead nowhere."""
    rows = []
    for ret, cnt, slid, dlid in itertools.product((False, True), (0, 1, 2, 62, 63, 64, 255), (PERMISSIVE, NOBODY),
                                                  (PERMISSIVE, NOBODY)):
        for ptr in sorted({0, 1, 2, cnt - 1, cnt, cnt + 1, cnt + 2, 255} & set(range(256))):
            # An answer that no agent waits for: whoever takes it does not answer.
            smp = make(ptr, cnt, [3] * 63, [3] * 63, ret=ret, slid=slid, dlid=dlid, method=0x81, high_tid=0xFFFFFF)
            rows.append((ret, ptr, cnt, slid, smp))
    before = posts(guest)
    # Not so many at a time that receive buffers run out.
    lines = "\n".join(f"{'settle; ' if at % 64 == 0 else ''}echo swa 3 {row[-1].hex()} >{FABRIC}/inject" for at, row in enumerate(rows))
    events = follow(guest, f"echo 16384 >buffer_size_kb\n{SETTLE}{lines}\nsettle", timeout=300)
    for ret, ptr, cnt, slid, smp in rows:
        told = [event for event in events[tid_of(smp)] if event["event"] == "forward" and event["verdict"] == "forward"]
        moves = {int(event["after"]) - int(event["before"]) for event in told}
        good = len(told) == remaining(ret, ptr, cnt, slid) and moves <= {-1 if ret else 1}
        parts.add("passed" if good else "failed", f"{'back' if ret else 'out'} {ptr}/{cnt} {slid:#x}: {len(told)}")
    assert posts(guest) - before == sum(remaining(*row[:4]) for row in rows)
    parts.verify()


def send_round(guest):
    """Makes the way of a LID a circle."""
    for path in ((1,), (1, 1), (1, 1, 1)):
        table = bytearray(sma.one(guest, sma.LFT, path=path, device="hca2").data)
        table[ROUND] = 1
        assert sma.one(guest, sma.LFT, data=bytes(table), method=sma.SET, path=path, device="hca2").status == sma.OK


def test_a_circle_of_lids_ends(guest):
    """By LID, a packet has no hop count: what ends it is the fabric's own limit. Behind a directed route too."""
    send_round(guest)
    before, drops = posts(guest), discards(guest)
    smp = sma.make(sma.NODE_INFO, path=(1, 1), dlid=ROUND)
    assert sma.exchange(guest, [("hca2", 1, PERMISSIVE, smp)], timeout=500) == [None]
    # Two hops, then out of r1 by LID and through as many switches as may be.
    assert posts(guest) - before == 2 + 1 + MOST_SWITCHES
    assert discards(guest) - drops == 1
    # Nothing is left that would go on.
    after = posts(guest)
    guest.check(f"{SETTLE}settle")
    assert posts(guest) == after


def test_the_wire_file_ends_while_packets_come_faster(guest):
    """What comes while it is written is not in it. Each write here puts as many packets on wires as switches may forward."""
    send_round(guest)
    line = f"r1 2 {QUIET.hex()} dlid={ROUND} qp=1"
    before, lines = posts(guest), guest.check(
        f"for i in 1 2; do while [ ! -e /tmp/stop ]; do echo '{line}' >{FABRIC}/inject; done & done\n"
        f"sleep 1; for i in 1 2 3; do timeout 60 wc -l <{FABRIC}/wire; done; touch /tmp/stop; wait; rm /tmp/stop", timeout=300)
    # What is forgotten before it is written is not in it either.
    assert len(lines.split()) == 3 and all(0 < int(line) <= CAPTURE for line in lines.split()), lines
    assert posts(guest) - before > 10 * CAPTURE


def discards(guest):
    """Packets that switches of the ring dropped since they could not go on."""
    return sum(names["xmit_discards"] for port, names in fabric_counters(guest).items() if port.startswith("r"))


# C3, C24: a path that leads where there is nothing.


@pytest.mark.parametrize("path, sent, node, reason", [
    ((1, 0, 2), 1, "swa", "port-zero"), ((1, 5), 1, "swa", "no-such-port"), ((1, 255), 1, "swa", "no-such-port"),
    ((1, 3, 0), 2, "swb", "port-zero"), ((1, 3, 1, 1), 3, "hca1", "ca-in-transit"),
    ((1, 3, 1, 1, 3), 3, "hca1", "ca-in-transit"),
])
def test_a_path_that_leads_nowhere(guest, path, sent, node, reason):
    before, counted = posts(guest), decided(guest)
    asked = f"/src/scripts/tests/flood hca0 1 300 {sma.make(sma.NODE_INFO, path=path).hex()}"
    events = follow(guest, asked)
    (story,) = events.values()
    assert [(e["device"], e["reason"]) for e in story if e["event"] == "discard"] == [(node, reason)]
    assert short(story[-1])[0] == "discard" and posts(guest) - before == sent
    grown = decided(guest) - counted
    assert {name: count for name, count in grown.items() if re.match(r"\S+ \d+ discard ", name)} == {
        f"{node} {0 if node.startswith('s') else 1} discard {reason}": 1}


# Floods.


def records(guest):
    """How many records the kernel's log has had so far."""
    out = guest.check("echo 'a mark' >/dev/kmsg; dd if=/dev/kmsg iflag=nonblock bs=8192 2>/dev/null; true")
    return int(re.findall(r"^\d+,(\d+),[^;]*;a mark$", out, re.MULTILINE)[-1])


def flood(guest, smp, count=FLOOD, timeout=0, device="hca0"):
    """Sends many SMPs through umad, and returns what became of them."""
    out = guest.check(f"dmesg -n 1; /src/scripts/tests/flood {device} {count} {timeout} {smp.hex()}", timeout=600)
    return {name: int(count) for name, count in map(str.split, out.splitlines())}


@pytest.mark.parametrize("reason, smp", [
    ("hop-pointer", make(9, 2, (1, 3))), ("hop-count", make(1, 64, (1, 3))), ("no-such-port", make(1, 2, (1, 99))),
    ("no-such-port", make(2, 2, (1, 3), (99, 99), ret=True)),
], ids=["Hop Pointer", "Hop Count", "no such port", "return, no such port"])
def test_a_flood_from_the_wire_is_not_in_the_log(guest, reason, smp):
    counted, dropped, start = decided(guest), lost(guest), records(guest)
    guest.check(f"{SETTLE}python3 -c '\nwith open(\"{FABRIC}/inject\", \"wb\", buffering=0) as file:\n"
                f" for _ in range({FLOOD}): file.write(b\"swa 3 {smp.hex()}\")\n'; settle", timeout=300)
    # What the receive buffers are too few for is the port's to count.
    assert (decided(guest) - counted)[f"swa 0 discard {reason}"] + lost(guest) - dropped == FLOOD
    assert records(guest) - start == 1


def lost(guest, port="swa:3"):
    """SMPs that came in by a port and found no receive buffer."""
    return fabric_counters(guest)[port]["vl15_dropped"]


def test_c22_a_flood_from_a_client(guest):
    """ib_core itself prints a line for each send that it is told to refuse; the module adds none, and counts each."""
    counted, start = decided(guest), records(guest)
    assert flood(guest, make(0, 2, (9, 3))) == {"taken": 0, "EINVAL": FLOOD}
    assert (decided(guest) - counted)["hca0 1 discard no-such-port"] == FLOOD
    assert records(guest) - start - 1 <= FLOOD
    assert "ib_smi" not in guest.dmesg().rpartition("a mark")[0].rpartition("a mark")[2]


def test_c9_all_that_nobody_answers_is_told(guest):
    """The last hop is dead: swb has no link at port 4."""
    ways = (("swa", "swa:1"), ("swb", "swb:3"))
    counted, dropped, start = decided(guest), [lost(guest, port) for _, port in ways], records(guest)
    assert flood(guest, make(0, 3, (1, 3, 4)), timeout=100) == {"taken": FLOOD, "ETIMEDOUT": FLOOD}
    guest.check(f"{SETTLE}settle")
    grown = decided(guest) - counted
    sent = grown["hca0 1 decision send C14-9:1 forward"]
    assert sent == FLOOD
    # A switch passes on what comes in, but for what its buffers are too few for on a busy host.
    for (switch, port), before in zip(ways, dropped):
        passed, full = grown[f"{switch} 0 decision forward C14-9:2 forward"], grown[f"{switch} 0 discard queue-full"]
        assert passed + full + lost(guest, port) - before == sent
        sent = passed
    assert records(guest) - start == 1
