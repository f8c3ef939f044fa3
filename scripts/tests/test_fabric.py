# SPDX-License-Identifier: GPL-2.0
"""The fabric as configfs and scripts/ibfabric build it: descriptions read and refused, nodes and links
that come and go, and fabrics that ibnetdiscover finds as they were described."""

import base64
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sma
from smp import inject, make

SCRIPTS = Path(__file__).parents[1]
sys.path.insert(0, str(SCRIPTS))

# pylint: disable=wrong-import-position
from guestlib.guest import Guest, new_results  # noqa: E402
from topo import compare, dot, dump, generate, parse  # noqa: E402
from topo.model import TopologyError  # noqa: E402

TOOL = "/src/scripts/ibfabric"
CONFIG = "/sys/kernel/config/ibfabric"
DEBUG = "/sys/kernel/debug/ibfabric"

GOOD = """\
# A switch, an HCA with two ports, another HCA.
vendid=0x2c9
devid=0xbd36
sysimgguid=0x2c90200417673
switchguid=0x2c90200417670(2c90200417670)
Switch\t36 "S-0002c90200417670"\t\t# "leaf # 1 "A"" enhanced port 0 lid 9 lmc 0
[1]\t"H-0002c90300000010"[2](2c90300000012) \t\t# "host a HCA-1" lid 3 4xEDR
[3]\t"H-0002c90300000010"[1](2c90300000011) \t\t# "host a HCA-1" lid 2 4xEDR
[36]\t"H-0002c90300000020"[1](2c90300000020) \t\t# "host b" lid 4 1xSDR

caguid=0x2c90300000010
Ca\t2 "H-0002c90300000010"\t\t# "host a HCA-1"
[1](2c90300000011) \t"S-0002c90200417670"[3]\t\t# lid 2 lmc 0 "leaf # 1 "A"" lid 9 4xEDR
[2](2c90300000012) \t"S-0002c90200417670"[1]\t\t# lid 3 lmc 0 "leaf # 1 "A"" lid 9 4xEDR

caguid=0x2c90300000020
Ca\t1 "H-0002c90300000020"\t\t# "host b"
[1](2c90300000020) \t"S-0002c90200417670"[36]\t\t# lid 4 lmc 0 "leaf # 1 "A"" lid 9 1xSDR
"""

NET = """\
Switch 8 "Switch1"
[1] "Hca1"[1] w=12 s=2
[4] "Hca2"[2]

Hca 2 "Hca1"
[1] "Switch1"[1] w=12 s=2
Hca 2 "Hca2"
[2] "Switch1"[4]
"""

# What, a line to change, its new text, the line that is named, words of the message.
BAD = [
    ("unknown peer", 7, '[1] "H-0000000000000099"[1] # "x" lid 1 4xEDR', 7, "not in the file"),
    ("one end only", 13, "# gone", 8, "which has no link"),
    ("another peer at the other end", 13, '[1] "S-0002c90200417670"[36] # lid 4', 8, "but that to port 36"),
    ("duplicate GUID of a node", 16, "caguid=0x2c90300000010", 17, "has another GUID"),
    ("duplicate GUID of a port", 18, '[1](2c90300000011) "S-0002c90200417670"[36] # 1xSDR', 18, "is in line 13 already"),
    ("duplicate name", 17, 'Ca 1 "H-0002c90300000010"', 17, "is in line 12 already"),
    ("port out of range", 9, '[37] "H-0002c90300000020"[1] # 1xSDR', 9, "has ports 1 to 36, not 37"),
    ("port 0", 9, '[0] "H-0002c90300000020"[1] # 1xSDR', 9, "has ports 1 to 36, not 0"),
    ("peer's port out of range", 9, '[36] "H-0002c90300000020"[2] # 1xSDR', 9, "which has 1 to 1"),
    ("port used twice", 8, '[1] "H-0002c90300000010"[1] # 4xEDR', 8, "is in line 7 already"),
    ("linked to itself", 9, '[36] "S-0002c90200417670"[36] # 1xSDR', 9, "linked to itself"),
    ("too many ports", 6, 'Switch 255 "S-0002c90200417670" # "x" base port 0', 6, "1 to 254 ports, not 255"),
    ("router", 17, 'Rt 2 "R-0002c90300000020"', 17, "routers"),
    ("unknown speed", 18, '[1] "S-0002c90200417670"[36] # lid 4 1xFDR10', 18, "not FDR10"),
    ("unknown width", 18, '[1] "S-0002c90200417670"[36] # lid 4 3xSDR', 18, "not 3x"),
    ("garbage", 3, "devid=", 3, "not a line of"),
    ("port without a node", 2, '[1] "S-0002c90200417670"[36]', 2, "belongs to no node"),
    ("the wrong kind of GUID", 11, "switchguid=0x2c90300000010", 12, "but has a switchguid"),
    ("vendor too large", 2, "vendid=0x1000000", 6, "24 bits"),
    ("GUID zero", 6, 'Switch 36 "S-0000000000000000"', 6, "another GUID"),
    ("control characters", 12, 'Ca 2 "H-0002c90300000010" # "a\x1b[2Jb"', 12, "no control characters"),
    ("long description", 12, f'Ca 2 "H-0002c90300000010" # "{"x" * 65}"', 12, "up to 64 bytes"),
]


def change(text, line, new):
    """The text with another line."""
    lines = text.split("\n")
    lines[line - 1] = new
    return "\n".join(lines)


def refused(text):
    """The line and the message of a refusal."""
    with pytest.raises(TopologyError) as error:
        parse.parse(text, "FILE")
    assert str(error.value).startswith(f"FILE:{error.value.line}: ")
    return error.value.line, str(error.value)


def test_a_dump_is_understood():
    topology = parse.parse(GOOD)
    switch, a, b = topology.nodes.values()
    assert (switch.name, switch.kind, switch.guid, switch.port_count, switch.enhanced) == (
        "sw0", "switch", 0x2C90200417670, 36, True)
    assert (switch.description, switch.vendor, switch.device, switch.system_guid) == (
        'leaf # 1 "A"', 0x2C9, 0xBD36, 0x2C90200417673)
    assert (a.name, a.port_count, a.description, a.port_guid(2)) == ("hca0", 2, "host a HCA-1", 0x2C90300000012)
    assert (b.name, b.port_guid(1), b.ports[1].width, b.ports[1].speed) == ("hca1", 0x2C90300000020, "1x", "SDR")
    links = [(x.name, x_port, y.name, y_port) for x, x_port, y, y_port in topology.links()]
    assert links == [("sw0", 1, "hca0", 2), ("sw0", 3, "hca0", 1), ("sw0", 36, "hca1", 1)]


def test_a_net_file_is_understood():
    topology = parse.parse(NET)
    switch, hca1, _ = topology.nodes.values()
    assert (switch.description, switch.guid, hca1.guid) == ("Switch1", 0x021BFB0000000100, 0x021BFB0000000200)
    assert (hca1.ports[1].width, hca1.ports[1].speed) == ("12x", "DDR")
    assert [(x.name, y.name, y_port) for x, _, y, y_port in topology.links()] == [("sw0", "hca0", 1), ("sw0", "hca1", 2)]


@pytest.mark.parametrize("what, line, new, at, words", BAD, ids=[row[0] for row in BAD])
def test_what_is_wrong_is_refused_with_its_line(what, line, new, at, words):
    number, message = refused(change(GOOD, line, new))
    assert (number, words in message) == (at, True), f"{what}: {message}"


def test_every_cut_is_refused_or_complete():
    """A file that is cut off is refused, wherever that is."""
    lines = GOOD.split("\n")
    for end in range(1, len(lines) - 1):
        refused("\n".join(lines[:end]))


@pytest.mark.parametrize("text, line", [("", 1), ("# nothing\n", 1), ("\n\n", 2)])
def test_an_empty_file_is_refused(text, line):
    assert refused(text)[0] == line


def test_what_is_written_reads_back():
    for text in (GOOD, NET):
        topology = parse.parse(text, "A")
        assert not list(compare.differences(topology, parse.parse(dump.dump(topology), "B")))


@pytest.mark.parametrize("line, new, words", [
    (6, 'Switch 24 "S-0002c90200417670" # "leaf" base port 0', "port"),
    (17, 'Ca 1 "H-0002c90300000020" # "host c"', "description: host b and host c"),
    (18, '[1](2c90300000021) "S-0002c90200417670"[36] # 1xSDR', "GUID 0x2c90300000020"),
])
def test_differences_are_told(line, new, words):
    text = change(GOOD, line, new)
    if "24" in new:
        text = text.replace("[36]", "[4]")
    told = "\n".join(compare.differences(parse.parse(GOOD, "A"), parse.parse(text, "B")))
    assert words in told


@pytest.mark.parametrize("make, switches, hcas, links", [
    (lambda b: generate.fat_tree(b, 3, 16), 320, 1024, 3072),
    (lambda b: generate.fat_tree(b, 2, 4), 6, 8, 16),
    (lambda b: generate.fat_tree(b, 1, 4), 1, 4, 4),
    (lambda b: generate.chain(b, 62, 0), 62, 2, 63),
    (lambda b: generate.ring(b, 5, 1), 5, 5, 10),
    (lambda b: generate.torus(b, (4, 4, 4), 1), 64, 64, 256),
    (lambda b: generate.hypercube(b, 4, 2), 16, 32, 64),
])
def test_generated(make, switches, hcas, links):
    builder = generate.Builder()
    make(builder)
    topology = parse.parse(dump.dump(builder.finish()))
    assert topology.summary() == f"{switches} switches, {hcas} HCAs, {links} links"
    assert reachable(topology) == switches + hcas


def reachable(topology):
    """How many nodes can be reached from the first."""
    first = next(iter(topology.nodes))
    found, queue = {first}, [first]
    for key in queue:
        for port in topology.nodes[key].ports.values():
            if port.peer not in found:
                found.add(port.peer)
                queue.append(port.peer)
    return len(found)


SHARED = [("X5.topofile", 100), ("ibdm_subnet.netdisc", 65), ("topograph_example.out", 622), ("jabl_1.topo", 6),
          ("jabl_2.topo", 3), ("jabl_3.topo", 8), ("jabl_4.topo", 2), ("net-examples/net", 4),
          ("net-examples/net.1", 3), ("net-examples/net.2sw2path", 4), ("net-examples/net.2sw2path4hca", 6),
          ("net-examples/net.2sw2path4hca2port", 4)]


@pytest.mark.parametrize("name, nodes", SHARED)
def test_public_descriptions(shared, name, nodes):
    topology = parse.read(shared / "topologies" / name)
    assert len(topology.nodes) == nodes
    again = parse.parse(dump.dump(topology), "again")
    assert not list(compare.differences(topology, again))


def test_a_public_description_that_is_cut_off(shared):
    done = subprocess.run([SCRIPTS / "ibfabric", "check", shared / "topologies/topograph_example-bad.out"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "topograph_example-bad.out:10: H-b8e92403009ca838 has no port with a link" in done.stderr
    assert done.stdout == ""


def test_a_graph():
    text = dot.dot([("sw0", "switch", 'the "leaf"'), ("hca0", "ca", "")],
                   [("hca0", "1", "sw0", "2", "Active", "4x QDR"), ("hca0", "2", "sw0", "3", "Down", "-")])
    done = subprocess.run(["dot", "-Tsvg"], input=text, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('class="node"') == 2 and done.stdout.count('class="edge"') == 2
    assert "darkgreen" in done.stdout and "red" in done.stdout


# From here on in a guest.


@pytest.fixture(name="guest")
def guest_fixture(guest_stock):
    """A guest with ib_smi, without a fabric before and after."""
    guest_stock.check("dmesg -n 1; modprobe ib_umad; [ -d /sys/module/ib_smi ] || /src/scripts/load")
    clean(guest_stock)
    guest_stock.dmesg(clear=True)
    yield guest_stock
    clean(guest_stock)


def clean(guest):
    """Removes what a test left."""
    guest.check(f"[ ! -d /sys/module/ibfabric ] || {TOOL} unload", timeout=120)


def put(guest, text, name="/tmp/file"):
    """Writes a file in the guest."""
    guest.check(f"cat >{name} <<'END OF FILE'\n{text}\nEND OF FILE")
    return name


def load(guest, text):
    """Loads a description."""
    return guest.check(f"{TOOL} load {put(guest, text)}", timeout=240)


def discover(guest, text, device="hca0"):
    """What differs between a description and what ibnetdiscover finds from a device."""
    found = parse.parse(guest.check(f"ibnetdiscover -C {device} 2>/dev/null", timeout=300), "discovered")
    return list(compare.differences(parse.parse(text, "described"), found))


def is_empty(guest):
    """Whether no module and no device is left."""
    return guest.check("ls -d /sys/module/ibfabric /sys/class/infiniband/* 2>/dev/null || true") == ""


@pytest.mark.kernel
@pytest.mark.parametrize("text", [GOOD, NET], ids=["dump", "net"])
def test_round_trip(guest, text):
    assert "loaded: 1 switches, 2 HCAs" in load(guest, text)
    assert discover(guest, text) == []
    assert discover(guest, text, "sw0") == []


# All of them are loaded for OpenSM, in test_topologies.py; here by the command, one of each kind.
@pytest.mark.parametrize("name", ["ibdm_subnet.netdisc", "jabl_3.topo", "net-examples/net.2sw2path4hca2port"])
def test_public_descriptions_round_trip(guest, shared, name):
    text = (shared / "topologies" / name).read_text(encoding="utf-8", errors="replace")
    load(guest, text)
    assert discover(guest, text) == []


def test_an_empty_fabric(guest):
    guest.check("insmod $MODULES/ibfabric.ko")
    assert guest.check(f"ls {CONFIG}; cat {DEBUG}/nodes").split() == ["faults", "links", "nodes", "preset"]


def test_a_refused_file_builds_nothing(guest):
    status, out, err = guest.run(f"{TOOL} load {put(guest, change(GOOD, 13, '# gone'))}")
    assert (status, out) == (1, "")
    assert err.startswith("/tmp/file:8: ")
    assert is_empty(guest)


# The usual GUID of hca0's first port is that of hca1's.
CLASH = """\
Switch 8 "S-0000000000001000"
[1] "H-0000000000000010"[1]
[2] "H-0000000000000020"[1]
Ca 1 "H-0000000000000010"
[1] "S-0000000000001000"[1]
Ca 1 "H-0000000000000020"
[1](0000000000000011) "S-0000000000001000"[2]
"""


def test_a_load_that_fails_leaves_nothing(guest):
    status, _, err = guest.run(f"{TOOL} load {put(guest, CLASH)}")
    assert status == 1
    assert "File exists: hca1: GUID 0x0000000000000011 is that of hca0 already" in err
    assert is_empty(guest)


def test_an_interrupted_load_leaves_nothing(guest):
    status, _, err = guest.run(
        f"{TOOL} gen fat-tree --radix 8 --load 2>/tmp/err & \n"
        "for _ in $(seq 200); do [ -d /sys/class/infiniband/sw9 ] && break; sleep 0.1; done\n"
        "kill $!; ! wait $! || exit 1; cat /tmp/err >&2", timeout=120)
    assert status == 0
    assert "interrupted" in err and "removing what is there" in err
    assert is_empty(guest)


def test_nothing_is_loaded_over_a_fabric(guest):
    load(guest, GOOD)
    status, _, err = guest.run(f"{TOOL} load /tmp/file")
    assert status == 1 and "not empty" in err
    assert discover(guest, GOOD) == []


REFUSED = [
    ("echo x >nodes/new/type", "nodes/new/type: 'x' is refused: it can be ca or switch"),
    ("echo 255 >nodes/new/ports", "nodes/new/ports: '255' is refused: it can be 1 to 254"),
    ("echo 0 >nodes/new/ports", "nodes/new/ports: '0' is refused: it can be 1 to 254"),
    ("echo 300 >nodes/new/ports", "nodes/new/ports: '300' is refused"),
    ("echo 0xffffffffffffffff >nodes/new/guid", "nodes/new/guid: '0xffffffffffffffff' is refused"),
    ("echo 0x10000000000000000 >nodes/new/guid", "is refused: it can be 64 bits"),
    ("echo 0xfffffffffffffffe >nodes/new/guid; ! echo 1 >nodes/new/live || exit 0; echo 0 >nodes/new/guid; exit 1",
     "nodes/new/guid: its ports have those after it"),
    ("echo 08 >nodes/new/ports", "nodes/new/ports: '08' is refused"),
    ("echo 0x1000000 >nodes/new/vendor_id", "it can be 24 bits"),
    ("echo 0x10000 >nodes/new/device_id", "it can be 16 bits"),
    ("echo 3x >nodes/new/width", "it can be 1x, 2x, 4x, 8x or 12x"),
    ("echo XDR >nodes/new/speed", "it can be SDR, DDR, QDR, FDR, EDR, HDR or NDR"),
    ("echo >nodes/new/description", "it can be one line of UTF-8, 1 to 64 bytes"),
    ("printf '%065d' 0 >nodes/new/description", "it can be one line of UTF-8, 1 to 64 bytes"),
    ("printf 'a\\377b' >nodes/new/description", "it can be one line of UTF-8, 1 to 64 bytes"),
    ("echo 2 >nodes/new/live", "nodes/new/live: '2' is refused: it can be 0 or 1"),
    ("echo 2 >nodes/new/enhanced_port0", "it can be 0 or 1"),
    ("head -c 4096 /dev/zero >nodes/new/type", "it can be ca or switch"),
    ("echo 1 >nodes/new/enhanced_port0; echo 1 >nodes/new/live", "nodes/new: only a switch has an enhanced port 0"),
    ("echo 0 >nodes/new/enhanced_port0; mkdir nodes/new/2; echo 1 >nodes/new/live",
     "nodes/new/2: the node has ports 1 to 1"),
    ("mkdir nodes/new/01", "nodes/new/01: ports are 1 to 254"),
    ("mkdir nodes/new/0", "nodes/new/0: ports are 1 to 254"),
    ("rmdir nodes/new/2; echo 0x2c90200417670 >nodes/new/guid; echo 1 >nodes/new/live",
     "new: GUID 0x0002c90200417670 is that of sw0 already"),
    ("echo switch >nodes/hca0/type", "nodes/hca0/type: the node is live: write 0 to live first"),
    ("mkdir nodes/hca0/3", "nodes/hca0/3: ports are 1 to 2"),
    ("mkdir nodes/%s%n", "nodes: '%s%n' is refused: it can be 1 to 63 letters"),
    (f"mkdir nodes/{'x' * 64}", "is refused: it can be 1 to 63 letters"),
    ("mkdir links/hca0", "links: 'hca0' is refused: it can be NODE:PORT-NODE:PORT"),
    ("mkdir links/hca0:1-sw0:1:2", "is refused: it can be NODE:PORT-NODE:PORT"),
    ("mkdir links/hca0:-sw0:1", "is refused: it can be NODE:PORT-NODE:PORT"),
    ("mkdir links/sw0:9-sw0:9", "sw0:9-sw0:9: a port cannot be linked to itself"),
    ("mkdir links/sw0:9-nobody:1", "sw0:9-nobody:1: there is no live node nobody"),
    ("mkdir links/sw0:9-new:1", "sw0:9-new:1: there is no live node new"),
    ("mkdir links/sw0:37-sw0:9", "sw0:37-sw0:9: sw0 has ports 1 to 36"),
    ("mkdir links/hca1:1-sw0:9", "hca1:1-sw0:9: port hca1:1 has a link already"),
    ("mkdir links/sw0:9-sw0:36", "sw0:9-sw0:36: port sw0:36 has a link already"),
    ("echo off >links/sw0:36-hca1:1/state", "'off' is refused: it can be up or down"),
    ("echo 0 >preset", "preset: '0' is refused: it can be 1"),
]


@pytest.mark.kernel
def test_what_configfs_refuses(guest, parts):
    load(guest, GOOD)
    guest.check(f"mkdir {CONFIG}/nodes/new")
    for command, words in REFUSED:
        guest.dmesg(clear=True)
        status, _, _ = guest.run(f"cd {CONFIG} && {command}")
        said = guest.dmesg()
        parts.add("passed" if status != 0 and words in said else "failed", f"{command}: {status} {said}")
    for command in (f"rmdir {CONFIG}/nodes", "rmmod ibfabric", f"echo x >{CONFIG}/nodes/new/2/state"):
        parts.add("failed" if guest.run(command)[0] == 0 else "passed", command)
    parts.verify()
    assert guest.check(f"cat {CONFIG}/nodes/new/live").strip() == "0"
    assert discover(guest, GOOD) == []


def test_hostile_text_changes_nothing(guest):
    load(guest, GOOD)
    out = guest.check("python3 -B /src/scripts/tests/hostile_config.py", timeout=400)
    assert re.fullmatch(r"\d+ taken, \d+ refused\n", out), out
    assert discover(guest, GOOD) == []


@pytest.mark.parametrize("description", ["%s%n%p", "a\0b", "\x7f\x1b[2J", "é" * 32])
def test_hostile_descriptions(guest, description):
    text = GOOD.replace("host b", description)
    guest.check(f"base64 -d >/tmp/file <<END\n{base64.encodebytes(text.encode()).decode()}\nEND")
    status, out, err = guest.run(f"{TOOL} load /tmp/file")
    assert "Traceback" not in out + err
    # It is as it was described, or nothing is there and it is said why.
    if status == 0:
        assert guest.check("cat /sys/class/infiniband/hca1/node_desc").rstrip("\n") == description
    else:
        assert err.strip() and is_empty(guest)


def states(guest, port):
    """PortState and PortPhysicalState of a port of the switch, as the switch says."""
    text = guest.check(f"smpquery -C hca0 -D portinfo 0,1 {port}")
    return tuple(line.split("...")[-1].strip(".") for name in ("LinkState", "PhysLinkState")
                 for line in text.splitlines() if line.startswith(f"{name}:"))


@pytest.mark.kernel
def test_a_link_goes_down_and_up(guest):
    load(guest, GOOD)
    assert states(guest, 36) == ("Initialize", "LinkUp")
    guest.check(f"{TOOL} down hca1:1")
    assert states(guest, 36) == ("Down", "Polling")
    assert "sw0:36 hca1:1 Down -\n" in guest.check(f"{TOOL} list")
    assert "1: DOWN" in guest.check("cat /sys/class/infiniband/hca1/ports/1/state")
    text = guest.check("ibnetdiscover -C hca0")
    assert "2c90300000020" not in text and "[36]" not in text
    guest.check(f"{TOOL} up sw0:36-hca1:1")
    assert states(guest, 36) == ("Initialize", "LinkUp")
    assert "2: INIT" in guest.check("cat /sys/class/infiniband/hca1/ports/1/state")
    assert discover(guest, GOOD) == []


def test_a_port_is_disabled_at_one_end(guest):
    load(guest, GOOD)
    guest.check(f"cd {CONFIG}/nodes/sw0 && mkdir -p 36 && echo 1 >36/disabled")
    assert states(guest, 36) == ("Down", "Disabled")
    assert guest.check(f"mkdir {CONFIG}/nodes/hca1/1; cd {CONFIG}/nodes/hca1/1; cat state phys_state peer").split() == [
        "Down", "Polling", "sw0:36"]
    assert guest.check(f"cat {CONFIG}/links/sw0:36-hca1:1/state").strip() == "down"
    guest.check(f"echo 0 >{CONFIG}/nodes/sw0/36/disabled")
    assert states(guest, 36) == ("Initialize", "LinkUp")


def state_change(guest):
    """PortStateChange of the switch."""
    text = guest.check("smpquery -C hca0 -D switchinfo 0,1")
    return next(line[-1] for line in text.splitlines() if line.startswith("StateChange:"))


@pytest.mark.kernel
def test_who_has_to_know_is_told(guest):
    """A preset fabric is active. A link that goes down takes along the state that ib_core keeps, and PortStateChange."""
    guest.check(f"{TOOL} load --preset {put(guest, GOOD)}")
    assert "4: ACTIVE" in guest.check("cat /sys/class/infiniband/hca1/ports/1/state")
    assert "sw0:36 hca1:1 Active 1x SDR" in guest.check(f"{TOOL} list")
    # Set SwitchInfo with PortStateChange, which clears it.
    smp = make(1, 1, (3,), method=2, attr=0x12)
    inject(guest, [("sw0", 3, smp[:64 + 11] + b"\x04" + smp[64 + 12:], "")])
    assert state_change(guest) == "0"
    guest.check(f"{TOOL} down hca1:1")
    assert state_change(guest) == "1"
    assert "1: DOWN" in guest.check("cat /sys/class/infiniband/hca1/ports/1/state")


def test_a_node_goes_and_comes_back(guest):
    load(guest, GOOD)
    guest.check(f"echo 0 >{CONFIG}/nodes/hca1/live")
    assert guest.check("ls /sys/class/infiniband").split() == ["hca0", "sw0"]
    assert states(guest, 36) == ("Down", "Polling")
    guest.check(f"echo 1 >{CONFIG}/nodes/hca1/live")
    assert discover(guest, GOOD) == []
    # Without its directory it is gone for good, but its cable waits for another of that name.
    guest.check(f"cd {CONFIG}/nodes && rmdir hca1/1 hca1")
    assert guest.check(f"cat {CONFIG}/links/sw0:36-hca1:1/state").strip() == "down"
    guest.check(f"cd {CONFIG}/nodes && mkdir hca1 && echo 1 >hca1/live")
    assert guest.check(f"cat {CONFIG}/links/sw0:36-hca1:1/state").strip() == "up"


@pytest.mark.kernel
def test_what_parameters_built_can_be_changed(guest):
    guest.check("insmod $MODULES/ibfabric.ko topology=pair")
    guest.check(f"{TOOL} down hca1:1")
    assert guest.check(f"cat {DEBUG}/links").splitlines() == ["hca0:1 sw0:1", "hca1:1 sw0:2 down"]
    guest.check(f"mkdir {CONFIG}/nodes/hca1 && cat {CONFIG}/nodes/hca1/live && rmdir {CONFIG}/nodes/hca1")
    assert guest.check("ls /sys/class/infiniband").split() == ["hca0", "sw0"]


def test_a_preset_gives_each_port_one_lid(guest):
    """Whatever a subnet manager has set before."""
    sma.load(guest, "topology=pair preset=0")
    changed = sma.change(guest, sma.PORT_INFO, lid=8, lmc=2)
    assert (changed.status, changed.lid, changed.lmc) == (sma.OK, 8, 2)
    guest.check(f"echo 1 >{CONFIG}/preset")
    now = sma.one(guest, sma.PORT_INFO)
    assert (now.lid, now.lmc) == (1, 0)


def test_presets_at_once(guest):
    """They come one after the other, so that the tables are whole after the last."""
    guest.check("insmod $MODULES/ibfabric.ko topology=fattree leaves=4 spines=4 hosts=4")
    whole = guest.check(f"cat {DEBUG}/lfts")
    for _ in range(5):
        guest.check(f"for i in 1 2 3 4; do for j in $(seq 10); do echo 1 >{CONFIG}/preset || exit 1; done & done; wait")
        assert guest.check(f"cat {DEBUG}/lfts") == whole


def test_the_wire_file_has_whole_names(guest):
    near, far = (62 * "n" + end for end in "ab")
    guest.check("insmod $MODULES/ibfabric.ko capture=10\n" + "\n".join(
        f"mkdir {CONFIG}/nodes/{name} && echo 1 >{CONFIG}/nodes/{name}/live" for name in (near, far)))
    guest.check(f"mkdir {CONFIG}/links/{near}:1-{far}:1 && /src/scripts/dr-smp -C {near} 0,1 >/dev/null")
    ends = [line.split()[1:3] for line in guest.check(f"cat {DEBUG}/wire").splitlines()]
    assert ends == [[f"{near}:1", f"{far}:1"], [f"{far}:1", f"{near}:1"]]


def test_what_parameters_built_has_two_ends(guest):
    """A link can be named from either end, and taken over once."""
    guest.check("insmod $MODULES/ibfabric.ko topology=pair")
    guest.check(f"mkdir {CONFIG}/links/sw0:2-hca1:1")
    assert guest.run(f"mkdir {CONFIG}/links/hca1:1-sw0:2")[0] != 0
    guest.check(f"{TOOL} down sw0:2 && rmdir {CONFIG}/links/sw0:2-hca1:1")
    assert guest.check(f"cat {DEBUG}/links").splitlines() == ["hca0:1 sw0:1"]


POLLER = """
import os, select, sys, time
from pathlib import Path
(umad,) = [path.name for path in Path('/sys/class/infiniband_mad').glob('umad*')
           if (path / 'ibdev').read_text().strip() == 'hca1']
poll = select.poll()
fd = os.open(f'/dev/infiniband/{umad}', os.O_RDWR)
poll.register(fd, select.POLLIN)
Path('/tmp/waiting').touch()
began = time.monotonic()
print(poll.poll(30000) != [], time.monotonic() - began < 20)
try:
    os.read(fd, 320)
except OSError as error:
    print(error.errno)
"""


@pytest.mark.parametrize("how", [f"rmdir {CONFIG}/links/sw0:36-hca1:1 {CONFIG}/nodes/hca1/1 {CONFIG}/nodes/hca1",
                                 f"echo 0 >{CONFIG}/nodes/hca1/live"])
def test_a_blocked_reader_is_woken(guest, how):
    load(guest, GOOD)
    put(guest, POLLER, "/tmp/poller.py")
    out = guest.check(
        "rm -f /tmp/waiting; python3 /tmp/poller.py >/tmp/out & \n"
        f"while [ ! -e /tmp/waiting ]; do sleep 0.1; done; sleep 0.3; {how}; wait; cat /tmp/out", timeout=60)
    assert out.split() == ["True", "True", "5"]


CHURN = f"""
cd {CONFIG}
rm -f /tmp/stop
(while [ ! -e /tmp/stop ]; do ibnetdiscover -C hca0 >/dev/null 2>&1; done) &
(while [ ! -e /tmp/stop ]; do smpquery -C hca0 -t 50 -D nodedesc 0,1,3,4 >/dev/null 2>&1; done) &
(while [ ! -e /tmp/stop ]; do cat {DEBUG}/nodes {DEBUG}/ports {DEBUG}/links {DEBUG}/counters >/dev/null; done) &
for round in $(seq ROUNDS); do
    for node in hca7 sw4 hca1 sw1; do echo 0 >nodes/$node/live || exit 1; echo 1 >nodes/$node/live || exit 1; done
    for link in links/*; do echo down >$link/state; echo up >$link/state; done
    link=$(ls links | tail -n 1); rmdir links/$link && mkdir links/$link || exit 1
    mkdir nodes/guest && echo 1 >nodes/guest/live && rmdir nodes/guest || exit 1
done
touch /tmp/stop; wait
"""


def churn(guest, rounds):
    """Lets nodes and links come and go under traffic, and sees that all is as before."""
    builder = generate.Builder()
    generate.fat_tree(builder, 2, 4)
    text = dump.dump(builder.finish())
    load(guest, text)
    guest.check(CHURN.replace("ROUNDS", str(rounds)), timeout=300)
    assert discover(guest, text) == []
    guest.check(f"{TOOL} unload", timeout=60)
    assert is_empty(guest)


@pytest.mark.kernel
def test_nodes_and_links_come_and_go_under_traffic(guest):
    churn(guest, 5)


def wide(ports, used):
    """A switch with HCAs at some of its ports."""
    lines = [f'Switch {ports} "S-0000000000ff0000"', *(f'[{port}] "Hca{port}"[1]' for port in used)]
    for port in used:
        lines += [f'Hca 1 "Hca{port}"', f'[1] "S-0000000000ff0000"[{port}]']
    return "\n".join(lines)


def test_254_ports(guest):
    """C19: a path over ports above 127."""
    text = wide(254, [1, 127, 128, 200, 254])
    load(guest, text)
    for port in (127, 128, 200, 254):
        assert f"Hca{port}\n" in guest.check(f"smpquery -C hca0 -D nodedesc 0,1,{port}")
        assert f"{0xFF0000:#018x}" in guest.check(f"/src/scripts/dr-smp -C hca{[1, 127, 128, 200, 254].index(port)} 0,1")
    assert discover(guest, text) == []


def test_port_0(guest):
    """C18, C20: both kinds of port 0, and a switch that ibstat shows."""
    load(guest, GOOD)
    text = guest.check("ibstat sw0")
    assert "Switch 'sw0'" in text and "Port 0:" in text and "Node GUID: 0x0002c90200417670" in text
    assert guest.check("ibstat -l").split() == ["hca0", "hca1", "sw0"]
    assert "EnhancedPort0:...................1" in guest.check("smpquery -C hca0 -D switchinfo 0,1")
    clean(guest)
    load(guest, NET)
    assert "EnhancedPort0:...................0" in guest.check("smpquery -C hca0 -D switchinfo 0,1")


def test_generated_and_drawn(guest):
    guest.check(f"{TOOL} gen fat-tree --levels 2 --load && {TOOL} dot -o /tmp/fabric.svg", timeout=120)
    svg = guest.check("cat /tmp/fabric.svg")
    assert svg.count('class="node"') == 14 and svg.count('class="edge"') == 16
    assert guest.check(f"{TOOL} list | grep -c Initialize").strip() == "16"


@pytest.fixture(name="large_guest", scope="module")
def large_guest_fixture():
    """A guest with memory for large fabrics, only where they are asked for."""
    if not os.environ.get("IB_SMI_LARGE"):
        pytest.skip("large fabrics take ten minutes and 8 GB: IB_SMI_LARGE=1 asks for them")
    with Guest("stock", mem="8G", results=new_results("test_fabric-large")) as guest:
        guest.check("dmesg -n 1; modprobe ib_umad; /src/scripts/load")
        yield guest


def test_a_large_public_description(large_guest, shared):
    text = (shared / "topologies/topograph_example.out").read_text(encoding="utf-8")
    out = large_guest.check(f"{TOOL} load /shared/topologies/topograph_example.out", timeout=600)
    assert "loaded: 40 switches, 582 HCAs, 1114 links" in out
    assert discover(large_guest, text) == []
    large_guest.check(f"{TOOL} unload", timeout=300)
    assert is_empty(large_guest)


def test_a_fat_tree_of_1344_nodes(large_guest):
    out = large_guest.check(f"{TOOL} gen fat-tree --levels 3 --radix 16 --load", timeout=600)
    assert "loaded: 320 switches, 1024 HCAs, 3072 links" in out
    assert large_guest.check(f"{TOOL} list | grep -c Initialize").strip() == "3072"
    assert "sw0" in large_guest.check("smpquery -C hca0 -D nodedesc 0,1")
    large_guest.check(f"{TOOL} unload", timeout=300)
    assert is_empty(large_guest)
