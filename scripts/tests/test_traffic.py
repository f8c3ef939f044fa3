# SPDX-License-Identifier: GPL-2.0
"""LID-routed traffic on the virtual fabric: unicast, multicast, what gets lost, and what ports count.

What is expected was written down from the specification: sections 16.1 (performance management), 18.2
(switches), 10.9.3 (partitions) and 14.2.5 (forwarding tables). A packet with a datagram and without a
global route has 288 bytes from LRH to ICRC, which are 72 words.
"""

import re
import struct

import pytest

from test_smi import guid

DEBUG = "/sys/kernel/debug"
FAULTS = "/sys/kernel/config/ibfabric/faults"
GMP_KEY = 0x80010000
WORDS = 72
TREE = ("sw0", "sw1", "sw2", "sw3", "hca0", "hca1", "hca2", "hca3", "hca4")
BROADCAST = "ff12401bffff000000000000ffffffff"

# MAD status values (section 13.4.7).
VERSION, METHOD, ATTRIBUTE, VALUE = 0x04, 0x08, 0x0C, 0x1C
GET, SET, GET_RESP, SEND = 1, 2, 0x81, 3
CLASS_PORT_INFO, SAMPLES_CONTROL, COUNTERS, EXTENDED = 1, 0x10, 0x12, 0x1D

# PortCounters: name, first byte, format, bit of CounterSelect (table 247 of the specification).
FIELDS = [
    ("symbol", 4, ">H", 0), ("recovery", 6, ">B", 1), ("downed", 7, ">B", 2), ("rcv_errors", 8, ">H", 3),
    ("remote_physical", 10, ">H", 4), ("relay", 12, ">H", 5), ("discards", 14, ">H", 6),
    ("xmit_constraint", 16, ">B", 7), ("rcv_constraint", 17, ">B", 8), ("integrity", 19, "high", 9),
    ("overrun", 19, "low", 10), ("vl15", 22, ">H", 11), ("xmit_data", 24, ">I", 12), ("rcv_data", 28, ">I", 13),
    ("xmit_packets", 32, ">I", 14), ("rcv_packets", 36, ">I", 15),
]
EXTENDED_FIELDS = ("xmit_data", "rcv_data", "xmit_packets", "rcv_packets", "unicast_xmit", "unicast_rcv",
                   "multicast_xmit", "multicast_rcv")


def fabric(guest, words):
    """Puts a fabric up under the module, without a subnet manager."""
    guest.check(
        "modprobe ib_umad; pkill opensm; while pidof opensm; do sleep 0.2; done\n"
        "[ ! -d /sys/module/ibfabric ] || rmmod ibfabric\n"
        f"insmod $MODULES/ibfabric.ko {words}\n"
        "[ -d /sys/module/ib_smi ] || /src/scripts/load")


def opensm(guest, options=""):
    """Lets OpenSM bring the subnet up from hca0."""
    port_guid = guest.check("cat /sys/class/infiniband/hca0/ports/1/gids/0").replace(":", "")[16:].strip()
    guest.check(
        f"rm -f /tmp/osm.log; mkdir -p /tmp/osm; OSM_CACHE_DIR=/tmp/osm opensm -d2 -g 0x{port_guid} -B -f /tmp/osm.log {options}"
        " >/dev/null\n"
        "for i in $(seq 90); do grep -q 'SUBNET UP' /tmp/osm.log && exit 0; sleep 1; done\n"
        "cat /tmp/osm.log; exit 1", timeout=120)


@pytest.fixture(name="tree", scope="module")
def tree_fixture(guest_stock):
    """Two leaves, two spines, five HCAs, brought up by OpenSM."""
    fabric(guest_stock, "topology=fattree preset=0 capture=256")
    opensm(guest_stock)
    return guest_stock


@pytest.fixture(name="pair")
def pair_fixture(guest_stock):
    """Two HCAs and a switch of four ports, with LIDs 1 (hca0), 2 (hca1) and 3 (sw0)."""
    fabric(guest_stock, "topology=pair capture=64")
    return guest_stock


def lids(guest):
    """The first LID of every node."""
    lines = guest.check(f"cat {DEBUG}/ibfabric/nodes").splitlines()
    return {words[0]: int(words[4]) for words in map(str.split, lines) if len(words) > 4}


def links(guest):
    """The port at the other end, for both ends of every link."""
    found = {}
    for line in guest.check(f"cat {DEBUG}/ibfabric/links").splitlines():
        a, b = line.split()[:2]
        found[a], found[b] = b, a
    return found


def counters(guest):
    """All that every port counted."""
    found = {}
    for line in guest.check(f"cat {DEBUG}/ibfabric/counters").splitlines():
        port, *words = line.split()
        found[port] = {name: int(count) for name, count in (word.split("=") for word in words)}
    return found


def changes(before, after):
    """What was counted since, without the zeros."""
    found = {}
    for port, names in after.items():
        grown = {name: count - before[port][name] for name, count in names.items() if count != before[port][name]}
        if grown:
            found[port] = grown
    return found


def datagram(mgmt_class, method, attribute, data=b"", *, version=1, modifier=0, tid=0x7A5F):
    """The 256 bytes of a datagram, with a header of 64 bytes as the performance class has it."""
    header = struct.pack(">BBBBHHQHHI", 1, mgmt_class, version, method, 0, 0, tid, attribute, 0, modifier)
    return header.ljust(64, b"\0") + data.ljust(192, b"\0")


# Nothing answers to a method Send of the class of vendors.
QUIET = datagram(0x09, SEND, 0x1234)


def inject(guest, port, data, words):
    """Puts a datagram before a port."""
    device, number = port.split(":")
    guest.check(f"echo '{device} {number} {data.hex()} {words}' >{DEBUG}/ibfabric/inject")


def counted(guest, port, data, words):
    """Injects a datagram, and returns what was counted for it."""
    before = counters(guest)
    inject(guest, port, data, words)
    guest.check("sleep 0.3")
    return changes(before, counters(guest))


def gmp(guest, device, mgmt_class, version, rows):
    """Sends datagrams from a device, and returns the answers: (LID, datagram, …) rows."""
    text = "\n".join(" ".join([str(lid), data.hex(), *map(str, more)]) for lid, data, *more in rows)
    out = guest.check(f"/src/scripts/tests/gmp {device} {mgmt_class} {version} <<'END'\n{text}\nEND")
    return [None if line == "none" else bytes.fromhex(line) for line in out.split()]


def pma(guest, lid, method, attribute, data=b"", version=1):
    """Asks the performance management agent at a LID. Returns status and value."""
    (answer,) = gmp(guest, "hca0", 4, 1, [(lid, datagram(4, method, attribute, data, version=version))])
    assert answer is not None and answer[3] == GET_RESP
    return int.from_bytes(answer[4:6], "big"), answer[64:]


def fields(value):
    """PortCounters by name."""
    found = {}
    for name, at, layout, _ in FIELDS:
        if layout in ("high", "low"):
            found[name] = value[at] >> 4 if layout == "high" else value[at] & 0xF
        else:
            (found[name],) = struct.unpack_from(layout, value, at)
    return found


def port_counters(guest, lid, port):
    """PortCounters of a port, by name."""
    status, value = pma(guest, lid, GET, COUNTERS, bytes((0, port)))
    assert status == 0 and value[1] == port
    return fields(value)


def extended(guest, lid, port):
    """PortCountersExtended of a port, by name."""
    status, value = pma(guest, lid, GET, EXTENDED, bytes((0, port)))
    assert status == 0 and value[1] == port
    return dict(zip(EXTENDED_FIELDS, struct.unpack_from(">8Q", value, 8)))


def set_data(port, values):
    """The value of a Set of PortCounters that names some of them."""
    data = bytearray(192)
    data[1] = port
    select = 0
    for name, at, layout, bit in FIELDS:
        if name not in values:
            continue
        select |= 1 << bit
        if layout in ("high", "low"):
            data[at] |= values[name] << 4 if layout == "high" else values[name]
        else:
            struct.pack_into(layout, data, at, values[name])
    struct.pack_into(">H", data, 2, select)
    return bytes(data)


def set_counters(guest, lid, port, values):
    """Writes counters of a port, those that are named."""
    status, _ = pma(guest, lid, SET, COUNTERS, set_data(port, values))
    assert status == 0


# Under OpenSM.


def test_opensm_brings_every_link_up(tree):
    log = tree.check("cat /tmp/osm.log")
    assert "SUBNET UP" in log and "ERR" not in log
    found = lids(tree)
    assert sorted(found) == sorted(TREE) and len(set(found.values())) == len(TREE)
    out = tree.check("iblinkinfo -C hca0 -l")
    assert len(re.findall("Active/  LinkUp", out)) == len(links(tree))
    assert "Initialize" not in out


def test_sminfo(tree):
    out = tree.check("sminfo -C hca1")
    assert f"sm lid {lids(tree)['hca0']} " in out and "SMINFO_MASTER" in out


def test_saquery_of_a_table(tree):
    before = counters(tree)
    out = tree.check("saquery -C hca3 NR")
    # One of every port with a LID, and hca4 has two.
    assert out.count("NodeRecord dump") == len(TREE) + 1
    assert {guid(tree, name) for name in TREE} == set(re.findall("node_guid\\.+(0x[0-9a-f]+)", out))
    # 10 records of 112 bytes after a header of 20 in segments of 200: at least six packets.
    grown = changes(before, counters(tree))
    assert grown["hca3:1"]["rcv"] >= 6


def test_saquery_of_a_large_table(tree):
    before = counters(tree)
    out = tree.check("saquery -C hca3 LFTR")
    assert {lids(tree)[name] for name in TREE if name[0] == "s"} == set(map(int, re.findall("LID\\.+([0-9]+)", out)))
    assert out.count("LFT Record dump") >= 4
    assert changes(before, counters(tree))["hca3:1"]["rcv"] > out.count("LFT Record dump") // 3


def test_saquery_path(tree):
    found = lids(tree)
    out = tree.check(f"saquery -C hca2 PR --src-to-dst {found['hca1']}:{found['hca3']}")
    assert re.search(f"slid\\.+{found['hca1']}\n", out) and re.search(f"dlid\\.+{found['hca3']}\n", out)


@pytest.mark.parametrize("device", ["hca1", "hca4", "sw1", "sw3"])
def test_smpquery_by_lid(tree, device):
    out = tree.check(f"smpquery -C hca0 nodeinfo {lids(tree)[device]}")
    assert f"Guid:............................{guid(tree, device)}" in out


def test_ibping(tree):
    tree.check("ibping -C hca1 -S >/dev/null 2>&1 & echo $! >/tmp/ibping.pid; sleep 1")
    out = tree.check(f"ibping -C hca3 -c 5 {lids(tree)['hca1']}; status=$?; kill $(cat /tmp/ibping.pid); exit $status")
    assert "5 packets transmitted, 5 received, 0% packet loss" in out


def test_ibtracert(tree):
    found, peers = lids(tree), links(tree)
    out = tree.check(f"ibtracert -C hca0 {found['hca1']} {found['hca3']}")
    steps = re.findall("\\[(\\d+)\\] -> (?:switch|ca) port {(0x[0-9a-f]+)}\\[(\\d+)\\]", out)
    # Leaf, spine, leaf, HCA.
    assert len(steps) == 4 and steps[-1][1][:-2] == guid(tree, "hca3")[:-2]
    at = "hca1"
    for egress, _, ingress in steps:
        peer = peers[f"{at}:{egress}"]
        assert peer.split(":")[1] == ingress
        at = peer.split(":")[0]
    assert at == "hca3"


def test_ibroute_shows_the_forwarding_table(tree):
    out = tree.check(f"ibroute -C hca0 {lids(tree)['sw0']}")
    entries = {int(lid, 16): int(port) for lid, port in re.findall("^(0x[0-9a-f]{4}) (\\d{3}) ", out, re.M)}
    table = {}
    for line in tree.check(f"grep '^sw0 ' {DEBUG}/ibfabric/lfts").splitlines():
        _, lid, port = line.split()
        table[int(lid)] = int(port)
    assert entries == table and set(lids(tree).values()) <= set(table)


def test_perfquery_and_ibqueryerrors(tree):
    found = lids(tree)
    # While the links came up, packets of the SA's clients had nowhere to go.
    tree.run("ibqueryerrors -C hca0 -k")
    tree.check(f"perfquery -C hca0 -R {found['sw0']} 255")
    out = tree.check(f"perfquery -C hca0 {found['hca1']} 1")
    assert "CapMask: 0x8300" in out and "SymbolErrorCounter:..............0" in out
    out = tree.check(f"perfquery -C hca0 -x {found['hca1']} 1")
    assert re.search("PortUnicastXmitPkts:\\.+[1-9]", out) and "PortMulticastXmitPkts:...........0" in out
    assert "0 bad nodes found" in tree.check("ibqueryerrors -C hca0")


def test_ibqueryerrors_reports_what_was_lost(tree):
    leaf = links(tree)["hca1:1"]
    device, port = leaf.split(":")
    for _ in range(3):
        inject(tree, leaf, QUIET, f"dlid=0x2000 qp=1 qkey={GMP_KEY}")
    out = tree.run("ibqueryerrors -C hca0 --data")[1]
    assert re.search(f"GUID {int(guid(tree, device), 16):#x} port {port}:.*\\[PortRcvSwitchRelayErrors == 3\\]", out), out
    tree.check("ibqueryerrors -C hca0 -k >/dev/null || true")
    assert "0 bad nodes found" in tree.check("ibqueryerrors -C hca0")


def test_ibportstate_takes_a_link_down_and_up(tree):
    found, peers = lids(tree), links(tree)
    device, port = peers["hca2:1"].split(":")
    before = counters(tree)
    tree.check(f"ibportstate -C hca0 {found[device]} {port} disable")
    grown = changes(before, counters(tree))
    assert grown[f"{device}:{port}"]["link_downed"] == 1 and grown["hca2:1"]["link_downed"] == 1
    tree.check(f"ibportstate -C hca0 {found[device]} {port} enable; pkill -HUP opensm")
    tree.check("for i in $(seq 60); do ibaddr -C hca0 >/dev/null; "
               f"grep -q 4: /sys/class/infiniband/hca2/ports/1/state && exit 0; sleep 1; done; exit 1", timeout=90)


def test_multicast(tree):
    """Three join the broadcast group, and one sends to it: the other two get a copy, nobody else."""
    members = ("hca1", "hca3", "hca4")
    mlid = join(tree, members)
    assert mlid == 0xC000
    tree.check("for i in $(seq 30); do saquery -C hca0 -g | grep -c . >/dev/null; "
               "smpquery -C hca0 -D nodeinfo 0 >/dev/null; sleep 0.1; done; sleep 2")
    before = counters(tree)
    gmp(tree, "hca1", 9, 1, [(mlid, QUIET, "0xffffff")])
    grown = changes(before, counters(tree))
    # The subnet manager looks around meanwhile, from hca0.
    hcas = {port: names for port, names in grown.items() if port[0] == "h" and port != "hca0:1"}
    assert hcas.pop("hca1:1") == {"xmit": 1}
    assert sorted(port.split(":")[0] for port in hcas) == ["hca3", "hca4"]
    for names in hcas.values():
        assert names == {"rcv": 1}
    sent = extended(tree, lids(tree)["hca1"], 1)
    assert sent["multicast_xmit"] == 1 and sent["unicast_xmit"] == sent["xmit_packets"] - 1


def join(guest, members):
    """Joins the broadcast group from every member. Returns its LID."""
    mlids = set()
    for device in members:
        port_gid = guest.check(f"cat /sys/class/infiniband/{device}/ports/1/gids/0").replace(":", "").strip()
        # MCMemberRecord behind the headers of RMPP and subnet administration; full member.
        record = bytes.fromhex(BROADCAST) + bytes.fromhex(port_gid) + bytes(16) + bytes((0x21,))
        header = struct.pack(">BBBBHHQHHI", 1, 3, 2, SET, 0, 0, 0x10, 0x38, 0, 0)
        mask = (1 << 0) | (1 << 1) | (1 << 16)
        data = header + bytes(12) + bytes(8) + bytes(4) + struct.pack(">Q", mask)
        data = (data + record).ljust(256, b"\0")
        (answer,) = gmp(guest, device, 3, 2, [(lids(guest)["hca0"], data)])
        assert answer and answer[4:6] == b"\0\0", answer
        mlids.add(int.from_bytes(answer[56 + 36:56 + 38], "big"))
    (mlid,) = mlids
    return mlid


def test_multicast_without_an_entry(tree):
    leaf = links(tree)["hca1:1"]
    lost = counted(tree, leaf, QUIET, f"dlid=0xc123 qp=0xffffff qkey={GMP_KEY}")
    assert lost[leaf] == {"rcv": 1, "relay_errors": 1}


def test_an_smp_is_not_for_many(tree):
    lost = counted(tree, links(tree)["hca1:1"], datagram(1, GET, 0x11), "dlid=0xc000")
    assert not any(port in lost for port in ("hca1:1", "hca3:1", "hca4:1", "hca4:2"))


def test_lmc(guest_stock):
    """With LMC 2 a port answers to four LIDs, from the one that was asked."""
    fabric(guest_stock, "topology=pair preset=0 capture=64")
    opensm(guest_stock, "-l 2")
    base = lids(guest_stock)["hca1"]
    assert base % 4 == 0
    for lid in range(base, base + 4):
        assert guid(guest_stock, "hca1") in guest_stock.check(f"smpquery -C hca0 nodeinfo {lid}")
        guest_stock.check(f"perfquery -C hca0 {lid} 1")
        wire = guest_stock.check(f"cat {DEBUG}/ibfabric/wire").splitlines()
        assert any(f"slid={lid:#06x}" in line for line in wire if " hca1:1 " in line.split("slid")[0][:40])
        # An answer to an SMP whose route ends by LID too: 14.2.2.
        guest_stock.check(f"/src/scripts/dr-smp -C hca0 --dr-dlid {lid} --tid {lid} 0,1")
        wire = [line.split() for line in guest_stock.check(f"cat {DEBUG}/ibfabric/wire").splitlines()]
        (answer,) = [words for words in wire if words[1] == "hca1:1" and words[-1].startswith("0181")
                     and int(words[-1][24:32], 16) == lid]
        assert f"slid={lid:#06x}" in answer


# Without a subnet manager: the way of single packets.


def test_a_packet_by_lid_is_counted_where_it_passes(pair):
    grown = counted(pair, "sw0:1", QUIET, f"slid=1 dlid=2 qp=1 qkey={GMP_KEY}")
    assert grown == {"sw0:1": {"rcv": 1}, "sw0:2": {"xmit": 1, "forwarded": 1}, "hca1:1": {"rcv": 1}}


def test_a_port_that_is_down_discards(pair):
    pair.check("ibportstate -C hca0 3 2 disable")
    lost = counted(pair, "sw0:1", QUIET, f"slid=1 dlid=2 qp=1 qkey={GMP_KEY}")
    assert lost == {"sw0:1": {"rcv": 1}, "sw0:2": {"xmit_discards": 1}}


@pytest.mark.parametrize("port, words, where, what", [
    ("sw0:1", "dlid=99 qp=1", "sw0:1", "relay_errors"),
    ("sw0:1", "dlid=1 qp=1", "sw0:1", "relay_errors"),
    ("sw0:1", "dlid=0xbfff qp=1", "sw0:1", "relay_errors"),
    ("hca1:1", "dlid=1 qp=1", "hca1:1", "rcv_errors"),
    ("hca1:1", "dlid=0xffff qp=1", "hca1:1", "rcv_errors"),
    ("hca1:1", "dlid=2 qp=1 pkey=0x1234", "hca1:1", "bad_pkeys"),
    ("hca1:1", "dlid=2 qp=1 pkey=0x8000", "hca1:1", "bad_pkeys"),
    ("hca1:1", "dlid=2 qp=1 qkey=1", "hca1:1", "bad_qkeys"),
    ("sw0:1", "dlid=3 qp=1 pkey=0x1234", "sw0:0", "bad_pkeys"),
])
def test_lost_packets(pair, port, words, where, what):
    if "qkey" not in words:
        words += f" qkey={GMP_KEY}"
    grown = counted(pair, port, QUIET, words)
    assert grown.pop(where)[what] == 1
    assert not any(name not in ("rcv", "xmit", "forwarded") for names in grown.values() for name in names)


def test_limited_membership(pair):
    """Two limited members of a partition do not hear each other; the default here is full."""
    assert "bad_pkeys" not in counted(pair, "hca1:1", QUIET, f"dlid=2 qp=1 pkey=0x7fff qkey={GMP_KEY}")["hca1:1"]


def test_violations_are_in_port_info(pair):
    counted(pair, "hca1:1", QUIET, f"dlid=2 qp=1 pkey=0x1234 qkey={GMP_KEY}")
    out = pair.check("smpquery -C hca0 portinfo 2 1")
    assert re.search("PkeyViolations:\\.+1\n", out) and re.search("QkeyViolations:\\.+0\n", out)


def test_a_circle_ends(guest_stock):
    """A LID that two switches send to each other is dropped after 64 switches, at the one that has it."""
    fabric(guest_stock, "topology=chain switches=2")
    found = lids(guest_stock)
    for switch, port in (("sw0", "sw0:"), ("sw1", "sw1:")):
        (out,) = [peer.split(":")[1] for end, peer in links(guest_stock).items()
                  if peer.startswith(port) and end.startswith("sw")]
        lft = bytearray(64)
        lft[50] = int(out)
        set_lft(guest_stock, found[switch], 0, lft, 50)
    before = counters(guest_stock)
    ingress = links(guest_stock)["hca0:1"]
    inject(guest_stock, ingress, QUIET, f"dlid=50 qp=1 qkey={GMP_KEY}")
    grown = changes(before, counters(guest_stock))
    # Back to where it came from is a relay error at once.
    assert sum(names.get("xmit_discards", 0) + names.get("relay_errors", 0) for names in grown.values()) == 1
    assert sum(names.get("xmit", 0) for names in grown.values()) <= 64


def set_lft(guest, lid, block, entries, index):
    """Changes one entry of a switch's forwarding table."""
    smp = datagram(1, GET, 0x19, modifier=block)
    (answer,) = smps(guest, lid, smp)
    table = bytearray(answer[64:128])
    table[index] = entries[index]
    (answer,) = smps(guest, lid, datagram(1, SET, 0x19, bytes(table), modifier=block))
    assert answer[4:6] == b"\0\0"


def smps(guest, lid, data):
    """Sends an SMP by LID from hca0."""
    out = guest.check(f"/src/scripts/tests/gmp hca0 1 1 <<'END'\n{lid} {data.hex()} 0\nEND")
    return [bytes.fromhex(line) for line in out.split()]


# Performance management.


def test_class_port_info(pair):
    status, value = pma(pair, 2, GET, CLASS_PORT_INFO)
    # Versions, AllPortSelect (bit 8), extended width (9), QP1Dropped (15).
    assert status == 0 and value[:4] == bytes((1, 1, 0x83, 0x00)) and value[7] & 0x1F == 18


@pytest.mark.parametrize("method, attribute, data, version, status", [
    (GET, SAMPLES_CONTROL, b"\0\1", 1, ATTRIBUTE),
    (SET, SAMPLES_CONTROL, b"\0\1", 1, ATTRIBUTE),
    (SET, CLASS_PORT_INFO, b"", 1, ATTRIBUTE),
    (GET, 0x7777, b"", 1, ATTRIBUTE),
    (GET, COUNTERS, b"\0\0", 1, VALUE),
    (GET, COUNTERS, b"\0\2", 1, VALUE),
    (GET, EXTENDED, b"\0\2", 1, VALUE),
    (GET, COUNTERS, b"\0\1", 2, VERSION),
    (0x15, COUNTERS, b"\0\1", 1, METHOD),
])
def test_what_the_agent_refuses(pair, method, attribute, data, version, status):
    assert pma(pair, 2, method, attribute, data, version)[0] == status


def test_packets_and_data(pair):
    before, wide = port_counters(pair, 3, 2), extended(pair, 3, 2)
    for _ in range(5):
        inject(pair, "sw0:1", QUIET, f"slid=1 dlid=2 qp=1 qkey={GMP_KEY}")
    after = port_counters(pair, 3, 2)
    assert after["xmit_packets"] - before["xmit_packets"] == 5
    assert after["xmit_data"] - before["xmit_data"] == 5 * WORDS
    assert {name: after[name] - before[name] for name in ("rcv_packets", "rcv_data")} == {"rcv_packets": 0, "rcv_data": 0}
    assert extended(pair, 3, 2)["unicast_xmit"] - wide["unicast_xmit"] == 5


def test_a_set_resets_only_what_it_names(pair, parts):
    """Every counter is set to a value of its own, then each is reset alone."""
    values = {name: number + 1 for number, (name, *_) in enumerate(FIELDS)}
    values["integrity"], values["overrun"] = 7, 9
    rows = []
    for name, *_ in FIELDS:
        for method, data in ((SET, set_data(3, values)), (GET, b"\0\3"), (SET, set_data(3, {name: 0})), (GET, b"\0\3")):
            rows.append((3, datagram(4, method, COUNTERS, data)))
    answers = iter(gmp(pair, "hca0", 4, 1, rows))
    for name, *_ in FIELDS:
        got = [(answer[4:6], fields(answer[64:])) for answer in (next(answers) for _ in range(4))]
        wanted = [(b"\0\0", each) for each in (values, values, {**values, name: 0}, {**values, name: 0})]
        parts.add("passed" if got == wanted else "failed", f"{name}: {got}")
    parts.verify()


def test_saturation(pair):
    """Narrow counters stay at their end; the wide one goes on."""
    top = {"xmit_packets": 0xFFFFFFFF, "xmit_data": 0xFFFFFFF0, "relay": 0xFFFE, "discards": 0xFFFF}
    set_counters(pair, 3, 2, top)
    set_counters(pair, 3, 1, {"relay": 0xFFFE})
    for _ in range(3):
        inject(pair, "sw0:1", QUIET, f"slid=1 dlid=2 qp=1 qkey={GMP_KEY}")
        inject(pair, "sw0:1", QUIET, f"slid=1 dlid=99 qp=1 qkey={GMP_KEY}")
    found = port_counters(pair, 3, 2)
    assert found["xmit_packets"] == 0xFFFFFFFF and found["xmit_data"] == 0xFFFFFFFF
    assert port_counters(pair, 3, 1)["relay"] == 0xFFFF
    wide = extended(pair, 3, 2)
    assert wide["xmit_packets"] == 0xFFFFFFFF + 3 and wide["xmit_data"] == 0xFFFFFFF0 + 3 * WORDS
    # Four bits and eight bits.
    set_counters(pair, 3, 2, {"integrity": 15, "overrun": 15, "downed": 255, "recovery": 255})
    set_counters(pair, 3, 1, {"integrity": 1, "overrun": 1, "downed": 1, "recovery": 1})
    both = port_counters(pair, 3, 0xFF)
    assert [both[name] for name in ("integrity", "overrun", "downed", "recovery")] == [15, 15, 255, 255]


def test_all_ports(pair):
    for port in range(1, 5):
        set_counters(pair, 3, port, {"symbol": port, "rcv_constraint": 10})
    both = port_counters(pair, 3, 0xFF)
    assert both["symbol"] == 1 + 2 + 3 + 4 and both["rcv_constraint"] == 40
    set_counters(pair, 3, 0xFF, {"symbol": 0})
    for port in range(1, 5):
        found = port_counters(pair, 3, port)
        assert found["symbol"] == 0 and found["rcv_constraint"] == 10


def test_perfquery_resets(pair):
    pair.check("perfquery -C hca0 -R 3 1 0x0001")
    set_counters(pair, 3, 1, {"symbol": 5, "relay": 6})
    pair.check("perfquery -C hca0 -R 3 1 0x0001")
    found = port_counters(pair, 3, 1)
    assert (found["symbol"], found["relay"]) == (0, 6)
    pair.check("perfquery -C hca0 -R -a 3")
    assert port_counters(pair, 3, 1)["relay"] == 0
    assert "PortSelect:......................255" in pair.check("perfquery -C hca0 -a 3")


def test_sysfs_counters(pair):
    folder = "/sys/class/infiniband/hca1/ports/1/counters"
    names = pair.check(f"ls {folder}").split()
    assert {"port_xmit_packets", "VL15_dropped", "unicast_rcv_packets", "multicast_xmit_packets"} <= set(names)
    set_counters(pair, 2, 1, {"symbol": 77, "overrun": 3, "integrity": 4, "vl15": 500})
    for name, value in (("symbol_error", 77), ("excessive_buffer_overrun_errors", 3),
                        ("local_link_integrity_errors", 4), ("VL15_dropped", 500)):
        assert int(pair.check(f"cat {folder}/{name}")) == value, name
    wide = extended(pair, 2, 1)
    # The question and the answer of the reading itself were counted behind it.
    assert int(pair.check(f"cat {folder}/port_rcv_packets")) == wide["rcv_packets"]
    assert int(pair.check(f"cat {folder}/port_xmit_packets")) == wide["xmit_packets"] + 1


# Too much at once.


def buffers_are_back(guest):
    """Waits until QP0 has all its receive buffers, however busy the guest was before."""
    guest.check(f"until grep -qw 'receive_posted 512' {DEBUG}/ib_smi/hca1/1/queue; do sleep 0.1; done")


def test_a_burst_waits_and_what_is_too_much_is_dropped(pair):
    """512 receive buffers, room for 128 more, and nobody who could empty them meanwhile."""
    sent = 1000
    buffers_are_back(pair)
    before = counters(pair)
    pair.check(f"/src/scripts/tests/burst {sent} 'hca1 1 {QUIET.hex()} dlid=2 qp=1 qkey={GMP_KEY}'")
    grown = changes(before, counters(pair))["hca1:1"]
    assert grown == {"rcv": sent, "held": 128, "qp1_dropped": sent - 512 - 128}
    smp = datagram(1, GET_RESP, 0x11)
    buffers_are_back(pair)
    before = counters(pair)
    pair.check(f"/src/scripts/tests/burst {sent} 'hca1 1 {smp.hex()} dlid=2'")
    grown = changes(before, counters(pair))["hca1:1"]
    assert grown == {"rcv": sent, "held": 128, "vl15_dropped": sent - 512 - 128}
    status, value = pma(pair, 2, GET, COUNTERS, b"\0\1")
    assert status == 0 and value[20:24] == struct.pack(">HH", sent - 640, sent - 640)
    # And all is well again.
    assert guid(pair, "hca1") in pair.check("smpquery -C hca0 nodeinfo 2")


def test_a_storm_of_requests_loses_nothing(pair):
    """Three thousand requests by LID, each answered."""
    before = counters(pair)
    lines = "\n".join(f"2 {datagram(4, GET, COUNTERS, b'\0\1').hex()}" for _ in range(1000))
    out = pair.check(
        "cat >/tmp/storm <<'END'\n" + lines + "\nEND\n"
        "for i in 1 2 3; do /src/scripts/tests/gmp hca0 4 1 </tmp/storm >/tmp/storm.$i & done; wait\n"
        "cat /tmp/storm.[123] | cut -c1-8 | sort | uniq -c", timeout=240)
    assert out.split() == ["3000", "01040181"]
    grown = changes(before, counters(pair))
    assert grown["hca1:1"]["rcv"] == grown["hca1:1"]["xmit"] == 3000
    assert not any("dropped" in name or "discards" in name for names in grown.values() for name in names)


@pytest.mark.parametrize("lid, port", [(2, "hca1/ports/1"), (3, "sw0/ports/0")])
def test_what_came_with_a_global_route_is_answered(pair, lid, port):
    """ib_mad takes an answer for that of a request only if both have a global route, or neither."""
    gid = pair.check(f"cat /sys/class/infiniband/{port}/gids/0").strip().replace(":", "")
    before = extended(pair, 1, 1)
    (answer,) = gmp(pair, "hca0", 4, 1, [(lid, datagram(4, GET, CLASS_PORT_INFO), 1, gid)])
    assert answer is not None and answer[3] == GET_RESP
    after = extended(pair, 1, 1)
    # The route has 40 bytes, 10 words, both ways. Each look at the counters is a packet to itself, which stays.
    grown = {name: after[name] - before[name] for name in ("xmit_data", "rcv_data", "xmit_packets")}
    assert grown["xmit_packets"] == 1 and grown["xmit_data"] == grown["rcv_data"] == WORDS + 10


# Errors.


def test_a_failed_send_is_mended(pair):
    """A send that fails stops the queue pair until its owner has seen it; then all goes on."""
    request = [(2, datagram(4, GET, COUNTERS, b"\0\1"))]
    pair.check(f"cd {FAULTS} && mkdir -p hca0/1 && echo 1 >hca0/1/gsi_sends")
    before = counters(pair)
    # The MAD layer brings the queue pair back, and repeats the request when its time is over.
    assert gmp(pair, "hca0", 4, 1, request)[0][3] == GET_RESP
    grown = changes(before, counters(pair))
    assert grown["hca0:1"] == {"xmit": 1, "rcv": 1, "fault_sends": 1} and grown["hca1:1"] == {"xmit": 1, "rcv": 1}
    pair.check(f"rmdir {FAULTS}/hca0/1 {FAULTS}/hca0")


def test_the_fabric_goes_away_under_traffic(pair):
    """Queue pairs are destroyed while packets are on their way to them."""
    for _ in range(3):
        pair.check(
            "for i in 1 2 3; do while [ ! -e /tmp/stop ]; do perfquery -C hca0 -t 50 2 1; smpquery -C hca1 -t 50 nodeinfo 1; done"
            " >/dev/null 2>&1 & done\n"
            "sleep 1; rmmod ibfabric || exit 1; touch /tmp/stop; wait; rm /tmp/stop\n"
            "insmod $MODULES/ibfabric.ko topology=pair && perfquery -C hca0 2 1", timeout=120)
