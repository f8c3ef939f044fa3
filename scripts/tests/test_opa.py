# SPDX-License-Identifier: GPL-2.0
"""Omni-Path's directed-route SMPs on the virtual fabric, through the kernel's MAD layer and the module.

The rules are those of InfiniBand's SMPs, in another layout: that of `struct opa_smp` in
`include/rdma/opa_smi.h`. What is expected of lengths and attributes is what `drivers/infiniband/hw/hfi1/mad.c`
and `drivers/infiniband/core/mad.c` do.
"""

import itertools
import random
import struct

import pytest

import opensm
from smp import follow, inject, make as make_ib, short, tid_of
from test_smi import DEBUG, FAULTS, VECTORS, discards, guid, lid, posts

CONFIG = "/sys/kernel/config/ibfabric"
PERMISSIVE = 0xFFFFFFFF
VERSION = 0x80
DATA, LARGEST = 176, 2048
NODE_DESC, NODE_INFO, PORT_INFO = 0x10, 0x11, 0x15
TIDS = itertools.count(1)
CHAIN = "topology=chain switches=3 opa=1 capture=200"
# hca0 1---2 sw0 5---4 sw1 8---3 sw2 6---1 hca1
FAR, FAR_BACK = (1, 5, 8, 6), (2, 4, 3, 1)


def make(ptr, cnt, ipath=(), rpath=(), *, status=0, method=0x01, attr=NODE_INFO, lids=(PERMISSIVE, PERMISSIVE),
         tid=None, mkey=0, data=b""):
    """The bytes of an SMP of Omni-Path's. The paths start at element 1."""
    header = struct.pack(">BBBBHBBQHHIQII", VERSION, 0x81, VERSION, method, status, ptr, cnt,
                         next(TIDS) if tid is None else tid, attr, 0, 0, mkey, *lids)
    paths = b"".join(bytes((0, *path)).ljust(64, b"\0")[:64] for path in (ipath, rpath))
    return header + paths + bytes(8) + data


def same_route(smp):
    """An SMP of Omni-Path's with the route of one of InfiniBand's."""
    method, status, ptr, cnt = struct.unpack_from(">BHBB", smp, 3)
    lids = [PERMISSIVE if number == 0xFFFF else number for number in struct.unpack_from(">HH", smp, 32)]
    return make(ptr, cnt, smp[129:192], smp[193:256], status=status, method=method, lids=lids)


def load(guest, words=CHAIN):
    """Puts a new fabric up under the module."""
    guest.check(
        "modprobe ib_umad\n"
        "[ ! -d /sys/module/ibfabric ] || rmmod ibfabric\n"
        f"insmod $MODULES/ibfabric.ko {words}\n"
        "[ -d /sys/module/ib_smi ] || /src/scripts/load")


@pytest.fixture(name="chain", scope="module")
def chain_fixture(guest_stock):
    """Three switches of Omni-Path between two HCAs, with the module loaded."""
    load(guest_stock)
    return guest_stock


@pytest.fixture(name="other")
def other_fixture(chain):
    """The same, for a test that leaves something behind or wants another fabric."""
    yield chain
    load(chain)


def dr_smp(words, path=""):
    """The command that sends an SMP of Omni-Path's from hca0."""
    return f"/src/scripts/dr-smp -C hca0 --opa --timeout 3000 {words} {path}"


def ask(guest, words, path=""):
    """Sends one that is answered. Returns what is told of the answer, by name."""
    return dict(line.partition(" ")[::2] for line in guest.check(dr_smp(words, path)).splitlines())


def wire(guest, tid):
    """What went over links with the low word of that TID: (from, datagram)."""
    found = []
    for line in guest.check(f"cat {DEBUG}/ibfabric/wire").splitlines():
        words = line.split()
        datagram = bytes.fromhex(words[-1])
        if tid_of(datagram) & 0xFFFFFFFF == tid:
            found.append((words[1], datagram))
    return found


@pytest.mark.parametrize("path, node, port, kind", [
    ("0", "hca0", 1, "ca"), ("0,1", "sw0", 2, "switch"), ("0,1,5", "sw1", 4, "switch"),
    ("0,1,5,8", "sw2", 3, "switch"), ("0,1,5,8,6", "hca1", 1, "ca")])
def test_node_info(chain, path, node, port, kind):
    hops = path.count(",")
    before = posts(chain)
    answer = ask(chain, "", path)
    assert posts(chain) - before == 2 * hops
    assert answer["status"] == "0x0000" and answer["d"] == "1" and answer["method"] == "0x81"
    assert (answer["node_guid"], answer["local_port"], answer["node_type"]) == (guid(chain, node), str(port), kind)
    assert answer["ports"] == ("8" if kind == "switch" else "1")
    assert (answer["drslid"], answer["drdlid"]) == ("0xffffffff", "0xffffffff")
    assert answer["initial_path"] == path
    assert answer["return_path"] == ",".join(map(str, (0, *FAR_BACK[:hops])))


def test_an_answer_is_as_long_as_what_it_says(chain):
    """NodeInfo has 44 bytes, NodeDescription 64, and what is refused comes back without data."""
    for attribute, length, status in (("nodeinfo", DATA + 44, 0), ("nodedesc", DATA + 64, 0), ("portinfo", DATA, 0x0C)):
        code, out, _ = chain.run(dr_smp(f"--hex --attribute {attribute} --tid {status + length}", "0,1,5,8,6"))
        answer = bytes.fromhex(out.split("hex ")[1])
        assert (code, len(answer)) == (1 if status else 0, length), attribute
        assert struct.unpack_from(">H", answer, 4)[0] == 0x8000 | status
        ways = wire(chain, status + length)
        assert [len(datagram) for _, datagram in ways] == [DATA] * 4 + [length] * 4, attribute
        assert [start for start, _ in ways] == [
            "hca0:1", "sw0:5", "sw1:8", "sw2:6", "hca1:1", "sw2:3", "sw1:4", "sw0:2"]
        if attribute == "nodedesc":
            assert answer[DATA:].rstrip(b"\0") == b"ibfabric hca1"


ASK = """
import os, sys
sys.path.insert(0, "/src/scripts/tests")
from smp import load_script
dr_smp = load_script("dr-smp")
path, grh = sys.argv[1:]
sys.argv[1:] = ["--opa", path]
options = dr_smp.arguments()
file = os.open(dr_smp.find_port("hca0", 1), os.O_RDWR)
agent = dr_smp.register(file, options.layout.version)
gid = bytes.fromhex(grh)
header = dr_smp.HEADER.pack(agent, 0, 3000, 0, 256, 0, 0, 0xFFFF, 0, 0, bool(gid), 0, 64, 0, gid or bytes(16), 0, 0)
os.write(file, header + dr_smp.smp(options))
answer = dr_smp.HEADER.unpack_from(os.read(file, 4096))
print(answer[1], answer[10], answer[-1])
"""


def header_of_answer(guest, path, gid=""):
    """Asks, with a GRH to a GID if there is one. Returns the answer's status, whether it has a GRH, and its P_Key."""
    status, grh, index = map(int, guest.check(f"python3 -B - {path} '{gid}' <<'END'{ASK}END").split())
    return status, bool(grh), guest.check(f"cat /sys/class/infiniband/hca0/ports/1/pkeys/{index}").strip()


def test_an_answer_has_the_pkey_of_management(chain):
    """That which `hfi1_process_opa_mad()` names, and `opa_smp_check()` asks of what comes in, in drivers/infiniband/hw/hfi1."""
    assert header_of_answer(chain, "0,1,5") == (0, False, "0x7fff")


def test_what_came_with_a_grh_is_answered_with_one(other):
    """As `ib_init_ah_attr_from_wc()` does: in Omni-Path it stands for a LID of more than 16 bits."""
    # hca0 1---2 hca1
    load(other, "topology=direct opa=1 preset=1")
    gid = other.check("cat /sys/class/infiniband/hca1/ports/2/gids/0").strip().replace(":", "")
    assert header_of_answer(other, "0,1") == (0, False, "0x7fff")
    assert header_of_answer(other, "0,1", gid) == (0, True, "0x7fff")


@pytest.mark.parametrize("words, status", [
    ("--modifier 1", 0x1C), ("--attribute nodedesc --modifier 1", 0x1C), ("--method set", 0x0C),
    ("--attribute 0x0080", 0x0C), ("--attribute 0x1234", 0x0C)])
def test_what_is_refused(chain, words, status):
    code, out, _ = chain.run(dr_smp(words, "0,1"))
    assert code == 1 and f"status 0x{status:04x}" in out


def test_the_way_there_and_back(chain):
    events = follow(chain, f"{dr_smp('', '0,1,5')} >/dev/null")
    (story,) = events.values()
    steps = [(e["event"], e["device"], e["way"], int(e["before"]), int(e["after"]), e["rule"]) for e in story]
    assert steps == [
        ("send", "hca0", "request", 0, 1, "C14-9:1"),
        ("recv", "sw0", "request", 1, 2, "C14-9:2"),
        ("forward", "sw0", "request", 1, 2, "C14-9:2"),
        ("recv", "sw1", "request", 2, 3, "C14-9:3"),
        ("reply", "sw1", "response", 3, 2, "C14-13:1"),
        ("recv", "sw0", "response", 2, 1, "C14-13:2"),
        ("forward", "sw0", "response", 2, 1, "C14-13:2"),
        ("recv", "hca0", "response", 1, 0, "C14-13:3"),
    ]
    assert {(e["format"], e["drslid"], e["drdlid"]) for e in story} == {("opa", "0xffffffff", "0xffffffff")}
    assert {e["path"] for e in story if e["way"] == "request"} == {"0x1,0x5"}
    assert {e["path"] for e in story if e["way"] == "response"} == {"0x2,0x4"}


def test_every_vector(other, parts):
    """The vectors of InfiniBand's SMPs, in the other layout."""
    load(other, "topology=pair opa=1")
    rows = [(name, node, port, same_route(smp), *more) for name, node, port, smp, *more in VECTORS]
    events = inject(other, [(node, port, smp, "") for _, node, port, smp, *_ in rows])
    for name, node, port, smp, expected, rule, reason in rows:
        recv = [event for event in events.get(tid_of(smp), []) if event["event"] == "recv"
                and event["device"] == node and event["ingress"] == str(port)]
        got = [(*short(event), event["rule"], event["reason"], event["format"]) for event in recv[:1]]
        parts.add("passed" if got == [(*expected, rule, reason, "opa")] else "failed", f"{name}: {got}")
    parts.verify()


MIXED = [(0x01, VERSION), (VERSION, 0x01)]


def mixed(versions, *words, **more):
    """The bytes of an SMP with InfiniBand's route, and with the base and class version of one and of the other."""
    smp = bytearray(make_ib(*words, **more))
    smp[0], smp[2] = versions
    return bytes(smp)


@pytest.mark.parametrize("versions", MIXED)
def test_one_version_of_each_is_infinibands_on_arrival(chain, versions):
    """As handle_smi() in mad.c has it: in transit, at its end, and for the answer, which has both versions too."""
    request = mixed(versions, 1, 3, FAR[:3], FAR_BACK[:1], attr=NODE_DESC)
    events = inject(chain, [("sw0", FAR_BACK[0], request, "")])[tid_of(request)]
    assert {event["format"] for event in events} == {"ib"}
    assert [(e["event"], e["device"], e["way"], int(e["before"]), int(e["after"]), e["rule"]) for e in events] == [
        ("recv", "sw0", "request", 1, 2, "C14-9:2"),
        ("forward", "sw0", "request", 1, 2, "C14-9:2"),
        ("recv", "sw1", "request", 2, 3, "C14-9:2"),
        ("forward", "sw1", "request", 2, 3, "C14-9:2"),
        ("recv", "sw2", "request", 3, 4, "C14-9:3"),
        ("reply", "sw2", "response", 4, 3, "C14-13:1"),
        ("recv", "sw1", "response", 3, 2, "C14-13:2"),
        ("forward", "sw1", "response", 3, 2, "C14-13:2"),
        ("recv", "sw0", "response", 2, 1, "C14-13:2"),
        ("forward", "sw0", "response", 2, 1, "C14-13:2"),
        ("recv", "hca0", "response", 1, 0, "C14-13:3"),
    ]
    ways = wire(chain, tid_of(request))
    assert [start for start, _ in ways] == ["sw0:5", "sw1:8", "sw2:3", "sw1:4", "sw0:2"]
    *_, (_, answer) = ways
    assert (answer[0], answer[2]) == versions and answer[192:196] == bytes((0, *FAR_BACK[:3]))
    # The agent refuses the version.
    assert struct.unpack_from(">H", answer, 4)[0] == 0x8004


def test_the_class_version_alone_makes_it_omni_paths_when_the_node_sends(chain):
    """As handle_outgoing_dr_smp() has it: out along its path and to the own node, where nobody takes a trap."""
    for versions, layout, other in ((MIXED[0], "opa", "ib"), (MIXED[1], "ib", "opa")):
        # Each path is right in one format, and in the other one has no port of that number.
        smp = bytearray(make(0, 1, (1,), attr=NODE_DESC).ljust(256, b"\0"))
        smp[129] = 9
        if layout == "ib":
            smp[32:36], smp[40:42], smp[129] = b"\xff" * 4, b"\0\x09", 1
        smp[0], smp[2] = versions
        events = follow(chain, f"/src/scripts/dr-smp -C hca0 {'--opa ' if layout == 'ib' else ''}--timeout 200"
                               f" --raw {bytes(smp).hex()} >/dev/null 2>&1 || true")
        (story,) = events.values()
        assert [(e["event"], e["format"], e["verdict"]) for e in story][:1] == [("send", layout, "forward")]
        if layout == "opa":
            assert [(e["event"], e["device"], e["format"]) for e in story][1:2] == [("recv", "sw0", other)]
        trap = bytearray(make(0, 0, method=0x05, attr=NODE_DESC).ljust(256, b"\0"))
        trap[0], trap[2] = versions
        events = follow(chain, f"/src/scripts/dr-smp -C hca0 {'--opa ' if layout == 'ib' else ''}--timeout 200"
                               f" --raw {bytes(trap).hex()} >/dev/null 2>&1 || true")
        (story,) = events.values()
        assert [(e["event"], e["format"], e["reason"]) for e in story] == [
            ("send", layout, "-"), ("discard", layout, "no-listener")]


@pytest.mark.parametrize("path, device, reason", [
    ("0,1,9", "sw0", "no-such-port"), ("0,1,0", "sw0", "port-zero"), ("0,1,5,8,6,1", "hca1", "ca-in-transit"),
    ("0," + ",".join("1" * 64), "hca0", "hop-count")])
def test_discards(chain, path, device, reason):
    before = discards(chain)
    events = follow(chain, f"/src/scripts/dr-smp -C hca0 --opa --timeout 200 {path} 2>/dev/null; [ $? -ge 2 ]")
    told = [(e["device"], e["reason"], e["format"]) for story in events.values() for e in story
            if e["event"] == "discard"]
    assert told == [(device, reason, "opa")]
    assert discards(chain)[reason] - before[reason] == 1


@pytest.mark.parametrize("options, path, node, count", [
    ("--lid {sw0} --dr-slid {hca0}", "0,5", "sw1", 4),
    ("--lid {sw1} --dr-slid {hca0}", "0,8,6", "hca1", 8),
    ("--dr-dlid {hca1}", "0,1", "hca1", 8),
    ("--dr-dlid {sw2}", "0,1", "sw2", 6),
    ("--lid {sw0} --dr-slid {hca0} --dr-dlid {hca1}", "0,5", "hca1", 8),
    ("--lid {sw0} --dr-slid {hca0}", "0", "sw0", 2),
])
def test_combined_route(chain, options, path, node, count):
    lids = {device: lid(chain, device) for device in ("hca0", "hca1", "sw0", "sw1", "sw2")}
    words = options.format(**lids)
    before = posts(chain)
    answer = ask(chain, words, path)
    assert answer["node_guid"] == guid(chain, node)
    # C14-10.1.1: both LIDs come back as they were.
    sent = dict(zip(words.split()[::2], words.split()[1::2]))
    for option, key in (("--dr-slid", "drslid"), ("--dr-dlid", "drdlid")):
        assert int(answer[key], 16) == int(sent.get(option, PERMISSIVE))
    assert posts(chain) - before == count


def test_a_dr_slid_of_more_than_16_bits_is_refused_by_the_mad_layer(chain):
    chain.dmesg(clear=True)
    assert chain.run(dr_smp(f"--lid {lid(chain, 'sw0')} --dr-slid 0x10001", "0,5"))[0] == 3
    assert "OPA Invalid dr_slid 0x10001" in chain.dmesg()


def test_the_largest_keeps_its_data(chain):
    data = random.Random(1).randbytes(LARGEST - DATA)
    request = make(0, 4, FAR, tid=0x1234, data=data)
    answer = ask(chain, f"--raw {request.hex()}")
    assert answer["node_guid"] == guid(chain, "hca1")
    ways = wire(chain, 0x1234)
    assert [(start, len(datagram)) for start, datagram in ways[:4]] == [
        ("hca0:1", LARGEST), ("sw0:5", LARGEST), ("sw1:8", LARGEST), ("sw2:6", LARGEST)]
    assert all(datagram[DATA:] == data for _, datagram in ways[:4])
    assert len(ways) == 8 and all(len(datagram) == DATA + 44 for _, datagram in ways[4:])


def test_the_largest_keeps_its_data_through_a_faulty_link(chain):
    """A copy that waits shares what nothing changes."""
    chain.check(f"cd {FAULTS} && mkdir -p sw0/5 && echo all >sw0/5/duplicate && echo '100 all' >sw0/5/delay\n"
                "echo '255 xor 1 nth 1' >sw0/5/corrupt")
    data = random.Random(2).randbytes(LARGEST - DATA)
    ask(chain, f"--raw {make(0, 4, FAR, tid=0x1235, data=data).hex()}")
    chain.check(f"sleep 0.5; rmdir {FAULTS}/sw0/5 {FAULTS}/sw0")
    changed = bytearray(data)
    changed[255 - DATA] ^= 1
    assert [datagram[DATA:] for start, datagram in wire(chain, 0x1235) if start == "sw0:5"] == [bytes(changed)] * 2


def test_a_large_answer_reaches_its_agent(chain):
    """From the wire before hca0, as the answer to a request that still waits for its own."""
    chain.check(f"cd {FAULTS} && mkdir -p hca0/1 && echo all >hca0/1/drop")
    data = random.Random(3).randbytes(LARGEST - DATA)
    events = follow(
        chain, f"rm -f /tmp/status; ({dr_smp('--timeout 60000 --tid 0x4321 --hex', '0,1')} >/tmp/answer 2>&1\n"
        "echo $? >/tmp/status) & until grep -q 00004321 trace; do sleep 0.1; done")
    asked, = [tid for tid in events if tid & 0xFFFFFFFF == 0x4321]
    answer = make(1, 1, (1,), (2,), status=0x8000, method=0x81, tid=asked, data=data)
    inject(chain, [("hca0", 1, answer, "")])
    out = chain.check("until [ -e /tmp/status ]; do sleep 0.1; done; cat /tmp/answer")
    got = bytes.fromhex(out.split("hex ")[1])
    chain.check(f"rmdir {FAULTS}/hca0/1 {FAULTS}/hca0")
    assert len(got) == LARGEST and got[DATA:] == data


def test_ib_on_the_same_chain(chain):
    before = posts(chain)
    assert f"Guid:............................{guid(chain, 'hca1')}" in chain.check(
        "smpquery -C hca0 -D nodeinfo 0,1,5,8,6")
    assert posts(chain) - before == 8
    found = chain.check("ibnetdiscover -C hca0")
    for node in ("hca0", "hca1", "sw0", "sw1", "sw2"):
        assert guid(chain, node)[2:] in found
    # Their SMPs have 256 bytes there too.
    seen = [line.split()[-1] for line in chain.check(f"cat {DEBUG}/ibfabric/wire").splitlines()]
    assert {len(datagram) // 2 for datagram in seen if datagram.startswith("01")} == {256}
    assert guid(chain, "hca1") in chain.check("/src/scripts/dr-smp -C hca0 0,1,5,8,6")
    # And so have its GMPs.
    chain.check(f"perfquery -C hca0 {lid(chain, 'hca1')} 1")


def test_opensm_brings_it_up(other):
    load(other, f"{CHAIN} preset=0")
    opensm.start(other, "hca0", "/tmp/opa.log")
    opensm.wait(other, "/tmp/opa.log", "SUBNET UP")
    assert opensm.errors(other, "/tmp/opa.log") == []
    opensm.stop(other)
    # By the LIDs and the forwarding tables that it wrote.
    words = f"--lid {lid(other, 'sw1')} --dr-slid {lid(other, 'hca0')}"
    assert ask(other, words, "0,8,6")["node_guid"] == guid(other, "hca1")


def set_key(guest, path, key):
    """Sets an M_Key with protect level 2, by InfiniBand's PortInfo."""
    out = guest.check(f"/src/scripts/dr-smp -C hca0 --attribute portinfo --hex {path}")
    port_info = bytearray.fromhex(out.split("hex ")[1])[64:128]
    port_info[0:8] = key.to_bytes(8, "big")
    # No change of either state, nor of what is switched on.
    port_info[29], port_info[32], port_info[33], port_info[35] = 0, 0, 0, 0
    port_info[34] = port_info[34] & 0x3F | 2 << 6
    ports = bytes(map(int, path.split(","))).ljust(64, b"\0")
    request = struct.pack(">BBBBHBBQHHIQHH28x", 1, 0x81, 1, 2, 0, 0, path.count(","), next(TIDS), PORT_INFO, 0, 0, 0,
                          0xFFFF, 0xFFFF) + bytes(port_info) + ports + bytes(64)
    guest.check(f"/src/scripts/dr-smp -C hca0 --raw {request.hex()}")


def test_m_key(other):
    key = 0x1122334455667788
    set_key(other, "0,1,5,8,6", key)
    wrong, right = (make(0, 4, FAR, attr=NODE_DESC, mkey=mkey) for mkey in (key + 1, key))
    status, _, err = other.run(f"/src/scripts/dr-smp -C hca0 --opa --timeout 300 --raw {wrong.hex()}")
    assert status == 2 and "no answer" in err
    assert ask(other, f"--raw {right.hex()}")["node_description"] == "ibfabric hca1"
    # Of this node alone.
    assert ask(other, "", "0,1,5,8")["node_guid"] == guid(other, "sw2")


def test_a_fault_of_the_software_knows_the_route(other):
    """A switch that wants its M_Key of what it passes on: only behind a route's end, DrDLID tells so."""
    set_key(other, "0,1", 7)
    other.check(f"cd {FAULTS} && mkdir -p sw0 && echo way=request >sw0/match && echo all >sw0/check_mkey")
    passed_on = f"/src/scripts/dr-smp -C hca0 --opa --timeout 300 --dr-dlid {lid(other, 'hca1')} 0,1"
    assert other.run(passed_on)[0] == 2
    assert other.check(f"cat {FAULTS}/sw0/check_mkey").strip() == "all hits=1"
    # Its own.
    assert ask(other, f"--raw {make(0, 1, (1,), mkey=7).hex()}")["node_guid"] == guid(other, "sw0")
    other.check(f"rmdir {FAULTS}/sw0")


def test_unloading_under_traffic(chain):
    chain.check("/src/scripts/unload")
    # Mainline's switches do not pass it on, nor can they answer.
    assert chain.run("/src/scripts/dr-smp -C hca0 --opa --timeout 100 0,1")[0] == 2
    chain.check(
        "/src/scripts/load\n"
        "while [ ! -e /tmp/stop ]; do\n"
        "/src/scripts/dr-smp -C hca0 --opa --timeout 100 --length 2048 0,1,5,8,6 >/dev/null 2>&1; done & \n"
        "for cycle in 1 2 3; do /src/scripts/unload && sleep 0.5 && /src/scripts/load && sleep 0.5 || exit 1; done\n"
        "touch /tmp/stop; wait; rm /tmp/stop", timeout=180)
    assert ask(chain, "", "0,1,5,8,6")["node_guid"] == guid(chain, "hca1")


def refused(guest, command, complaint):
    """A write to configfs fails, and the log says why."""
    guest.dmesg(clear=True)
    assert guest.run(f"cd {CONFIG} && {command}")[0] != 0
    assert complaint in guest.dmesg()


def test_links_join_nodes_of_one_kind(other):
    load(other, "topology=none")
    other.check(f"cd {CONFIG} && mkdir nodes/a nodes/b && echo 1 >nodes/a/opa && grep -x 1 nodes/a/opa\n"
                      "grep -x 0 nodes/b/opa && echo 1 >nodes/a/live && echo 1 >nodes/b/live")
    complaint = "a:1-b:1: a is a node of Omni-Path and b is not: write the same to opa of both"
    refused(other, "mkdir links/a:1-b:1", complaint)
    refused(other, "echo 0 >nodes/a/opa", "nodes/a/opa: the node is live: write 0 to live first")
    refused(other, "echo 2 >nodes/b/opa", "nodes/b/opa: the node is live")
    other.check(f"cd {CONFIG} && echo 0 >nodes/b/live && echo 1 >nodes/b/opa && echo 1 >nodes/b/live\n"
                      "mkdir links/a:1-b:1 && echo 0 >nodes/b/live && echo 0 >nodes/b/opa")
    # The link waits for a node of its kind.
    refused(other, "echo 1 >nodes/b/live", complaint)
    refused(other, "echo 2 >nodes/b/opa", "nodes/b/opa: '2' is refused: it can be 0 or 1")
    other.check(f"cd {CONFIG} && echo 1 >nodes/b/opa && echo 1 >nodes/b/live && echo 1 >preset")
    assert guid(other, "b") in other.check("/src/scripts/dr-smp -C a --opa 0,1")
    other.check(f"cd {CONFIG} && rmdir links/a:1-b:1 nodes/a nodes/b")


@pytest.mark.parametrize("maker, whole", [(make, DATA), (make_ib, 256)], ids=["opa", "ib"])
def test_what_was_cut_off_is_not_made_up_for(chain, maker, whole):
    """Behind the end of an SMP the receive buffer has what was there before: an SMP that could go on."""
    lengths = (whole, 24, whole - 1, whole, whole - 1, 24)
    rows = [("sw0", 2, maker(1, 2, (1, 5), tid=tid)[:length], "") for tid, length in enumerate(lengths, 0x7000)]
    before = discards(chain)
    events = inject(chain, rows)
    found = [[(event["event"], event["verdict"], event["reason"]) for event in events[tid]] for tid in range(0x7000, 0x7006)]
    for length, story in zip(lengths, found):
        if length < whole:
            assert story == [("recv", "discard", "too-short"), ("discard", "discard", "too-short")], length
        else:
            assert story[:2] == [("recv", "forward", "-"), ("forward", "forward", "-")], length
    assert discards(chain)["too-short"] - before["too-short"] == 4


def test_what_inject_takes(other):
    """Any length for a node of Omni-Path, 256 bytes for others."""
    target = f"{DEBUG}/ibfabric/inject"
    for length, fits in ((1, True), (256, True), (LARGEST, True), (LARGEST + 1, False), (0, False)):
        status = other.run(f"echo 'sw0 1 {'80' * length}' >{target}")[0]
        assert (status == 0) == fits, length
    assert other.run(f"echo 'sw0 1 808' >{target}")[0] != 0
    load(other, "topology=pair")
    for length, fits in ((255, False), (256, True), (257, False)):
        assert (other.run(f"echo 'sw0 1 {'01' * length}' >{target}")[0] == 0) == fits, length


@pytest.mark.parametrize("words, complaint", [
    ("--length 2048", "--length goes with --opa"), ("--opa --length 2049", "176 to 2048 bytes"),
    ("--opa --length 175", "176 to 2048 bytes"), ("--raw 01", "256 bytes"), ("--opa --raw 80", "176 to 2048 bytes")])
def test_dr_smp_refuses(chain, words, complaint):
    status, _, err = chain.run(f"/src/scripts/dr-smp -C hca0 {words}")
    assert status == 2 and complaint in err


def hostile(count):
    """Datagrams that begin more or less as they should, of any length."""
    chance = random.Random(4)
    for length in (1, 2, 3, 6, 7, 23, 24, 31, 32, 39, 40, 41, 103, 104, 105, 175, 176, 177, 255, 257, 2047, 2048):
        yield "", make(1, 2, (1, 5), data=bytes(LARGEST))[:length]
    for _ in range(count):
        mad = bytearray(chance.randbytes(chance.choice((chance.randint(1, LARGEST), DATA, 256, LARGEST))))
        start = bytes((chance.choice((0x80, 0x80, 0x80, 0x01)), chance.choice((0x81, 0x81, 0x81, 0x01, 0x04)),
                       chance.choice((0x80, 0x80, 0x01, 0x81)), chance.choice((0x01, 0x02, 0x81, 0x05, 0x07, 0x03)),
                       chance.choice((0, 0x80)), 0, chance.choice((0, 1, 2, 63, 64, 255)), chance.choice((0, 1, 2, 63, 64))))
        mad[:len(start)] = start[:len(mad)]
        if chance.random() < 0.7 and len(mad) >= 40:
            mad[32:40] = bytes(8) if chance.random() < 0.2 else b"\xff" * 8
        yield "qp=1 qkey=0x80010000" if mad[1:2] == b"\x04" else "", bytes(mad)


def test_hostile_datagrams(other):
    """A report of the kernel's fails the test."""
    places = itertools.cycle((("sw0", 2), ("hca1", 1), ("sw1", 4), ("hca0", 1), ("sw2", 6)))
    rows = [(*place, mad, words) for place, (words, mad) in zip(places, hostile(300))]
    before = discards(other)
    assert inject(other, rows)
    after = discards(other)
    assert sum(after.values()) > sum(before.values())
    assert ask(other, "--length 2048", "0,1,5,8,6")["node_guid"] == guid(other, "hca1")
    other.check("smpquery -C hca0 -D nodeinfo 0,1,5,8,6 && rmmod ibfabric && /src/scripts/unload")
