# SPDX-License-Identifier: GPL-2.0
"""Every tool of infiniband-diags on the virtual fabric under OpenSM, as Debian has them; `rdma`, osmtest, and dr-smp.

What is expected is what Documentation/fabric.rst promises of `topology=fattree`: names, GUIDs, links. Traffic,
counters, ibtracert, ibroute, iblinkinfo, ibqueryerrors, perfquery, saquery, sminfo, ibportstate and ibping are in
test_traffic.py; ibnetdiscover is in test_fabric.py and test_topologies.py.
"""

import io
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import opensm
from sma import NODE_INFO, load, unpack

DR_SMP = Path(__file__).resolve().parents[1] / "dr-smp"
LOG = "/tmp/osm.log"
SWITCHES = {"sw0": (0x021BFA0000000100, 7), "sw1": (0x021BFA0000000200, 7), "sw2": (0x021BFA0000000300, 2),
            "sw3": (0x021BFA0000000400, 2)}
HCAS = {"hca0": (0x021BFA0000000500, 1), "hca1": (0x021BFA0000000600, 1), "hca2": (0x021BFA0000000700, 1),
        "hca3": (0x021BFA0000000800, 1), "hca4": (0x021BFA0000000900, 2)}


@pytest.fixture(name="tree", scope="module")
def tree_fixture(guest_stock):
    """Two leaves, two spines, five HCAs, brought up by OpenSM."""
    load(guest_stock, "topology=fattree preset=0")
    opensm.start(guest_stock, "hca0", LOG)
    opensm.wait(guest_stock, LOG, "-> SUBNET UP")
    return guest_stock


@pytest.fixture(name="lids", scope="module")
def lids_fixture(tree):
    """The LID of every port that has one."""
    return opensm.up(tree)[1]


def fields(text):
    """What the tools print as `Name:....value`."""
    return dict(re.findall(r"^(\w+):\.*(.*)$", text, re.M))


def query(guest, words):
    """What smpquery says from hca0."""
    return fields(guest.check(f"smpquery -C hca0 {words}"))


def test_smpquery_nodeinfo(tree, lids):
    found = query(tree, f"nodeinfo {lids['hca4:2']}")
    assert (found["NodeType"], found["NumPorts"], found["LocalPort"]) == ("Channel Adapter", "2", "2")
    assert (found["Guid"], found["PortGuid"]) == ("0x021bfa0000000900", "0x021bfa0000000902")
    found = query(tree, "-D nodeinfo 0,1")
    # hca0 is at port 5 of its leaf.
    assert (found["NodeType"], found["NumPorts"], found["LocalPort"]) == ("Switch", "7", "5")
    assert found["Guid"] == found["PortGuid"] == "0x021bfa0000000100"


def test_smpquery_nodedesc(tree, lids):
    assert tree.check(f"smpquery -C hca0 nodedesc {lids['sw3:0']}") .strip(".\n").rpartition("...")[2] == "ibfabric sw3"
    assert "ibfabric hca1" in tree.check("smpquery -C hca0 -G nodedesc 0x021bfa0000000601")


def test_smpquery_portinfo(tree, lids):
    found = query(tree, f"portinfo {lids['hca3:1']} 1")
    assert (int(found["Lid"]), int(found["SMLid"])) == (lids["hca3:1"], lids["hca0:1"])
    assert (found["LinkState"], found["PhysLinkState"], found["LocalPort"]) == ("Active", "LinkUp", "1")
    assert (found["LinkWidthActive"], found["LinkSpeedActive"]) == ("4X", "10.0 Gbps")
    found = query(tree, f"portinfo {lids['sw1:0']} 7")
    assert (found["LinkState"], found["VLCap"]) == ("Active", "VL0-7")


def test_smpquery_switchinfo(tree, lids):
    found = query(tree, f"switchinfo {lids['sw2:0']}")
    # The highest LID, and no change that was not seen.
    assert (int(found["LinearFdbTop"], 0), found["StateChange"]) == (max(lids.values()), "0")
    assert int(found["LinearFdbCap"], 0) > max(lids.values()) and found["RandomFdbCap"] == found["EnhancedPort0"] == "0"


def test_smpquery_pkeys(tree, lids):
    out = tree.check(f"smpquery -C hca0 pkeys {lids['hca2:1']}")
    assert re.findall("0x[0-9a-f]{4}", out) == ["0xffff"] + ["0x0000"] * 15
    assert "16 pkeys capacity for this port" in out


def test_smpquery_sl2vl(tree, lids):
    """There are eight lanes, and before anybody says otherwise levels are spread over them in order."""
    rows = re.findall(r"ports: in +(\d+), out +(\d+): *\|(.*)\|", tree.check(f"smpquery -C hca0 sl2vl {lids['sw0:0']} 3"))
    assert [(int(ingress), int(egress)) for ingress, egress, _ in rows] == [(ingress, 3) for ingress in range(8)]
    for *_, lanes in rows:
        assert [int(lane) for lane in lanes.split("|")] == [level % 8 for level in range(16)]


def test_smpquery_vlarb(tree, lids):
    out = tree.check(f"smpquery -C hca0 vlarb {lids['sw0:0']} 1")
    assert f"# VLArbitration tables: Lid {lids['sw0:0']} port 1 LowCap 64 HighCap 64" in out
    assert out.count("priority VL Arbitration Table:") == 2


def test_smpquery_guidinfo(tree, lids):
    out = tree.check(f"smpquery -C hca0 guidinfo {lids['hca4:1']}")
    assert re.findall("0x[0-9a-f]{16}", out) == ["0x021bfa0000000901"] + ["0x0000000000000000"] * 7


@pytest.mark.parametrize("what", ["mlnxextportinfo", "portinfoextended"])
def test_smpquery_of_what_there_is_not(tree, lids, what):
    """An attribute of another vendor's devices, and one that is optional, are refused, and the tool says so."""
    status, out, said = tree.run(f"smpquery -C hca0 {what} {lids['hca1:1']} 1")
    assert status != 0 and re.search("failed|not supported", out + said)


def test_smpquery_by_a_combined_route(tree, lids):
    """By LID to sw0, and from there by its port 6 along a directed route."""
    assert "ibfabric hca1" in tree.check(f"smpquery -C hca0 -c nodedesc {lids['sw0:0']} 0,6")


def test_smpdump(tree, lids):
    """The 64 bytes of an attribute, taken apart by the places that the specification gives the fields."""
    data = bytes.fromhex(tree.check(f"smpdump -C hca0 {lids['hca4:2']} {NODE_INFO:#x} 0"))
    assert len(data) == 64
    found = unpack(NODE_INFO, data)
    assert (found.type, found.ports, found.guid, found.local_port) == (1, 2, 0x021BFA0000000900, 2)
    assert tree.check("smpdump -C hca0 -s -D 0,1 0x10 0").startswith("ibfabric sw0\n")


def listed(text, kind):
    """Nodes as ibswitches and ibhosts list them: GUIDs, ports and descriptions."""
    return {name: (int(guid, 16), int(ports))
            for guid, ports, name in re.findall(rf'^{kind}\t: (0x[0-9a-f]+) ports (\d+) "ibfabric (\w+)"', text, re.M)}


def test_ibswitches_ibhosts_and_ibnodes(tree):
    assert listed(tree.check("ibswitches -C hca0"), "Switch") == SWITCHES
    assert listed(tree.check("ibhosts -C hca0"), "Ca") == HCAS
    out = tree.check("ibnodes -C hca0")
    assert listed(out, "Switch") == SWITCHES and listed(out, "Ca") == HCAS
    assert tree.check("ibrouters -C hca0") == ""


def test_ibstat(tree, lids):
    out = tree.check("ibstat hca4 2")
    for words in ("State: Active", "Physical state: LinkUp", f"Base lid: {lids['hca4:2']}", f"SM lid: {lids['hca0:1']}",
                  "Rate: 40", "Port GUID: 0x021bfa0000000902", "Link layer: InfiniBand"):
        assert words in out, out
    assert set(tree.check("ibstat -l").split()) == {*SWITCHES, *HCAS}
    assert tree.check("ibstat -p hca4").split() == ["0x021bfa0000000901", "0x021bfa0000000902"]


def test_ibstatus(tree, lids):
    out = tree.check("ibstatus hca1:1")
    for words in (f"base lid:\t {lids['hca1:1']:#x}", "state:\t\t 4: ACTIVE", "phys state:\t 5: LinkUp", "rate:\t\t 40 Gb/sec (4X QDR)"):
        assert words in out, out


def test_ibaddr(tree, lids):
    out = tree.check(f"ibaddr -C hca0 {lids['hca2:1']}")
    assert out.split() == ["GID", "fe80::21b:fa00:0:701", "LID", "start", f"{lids['hca2:1']:#x}", "end", f"{lids['hca2:1']:#x}"]


def test_rdma(tree, lids):
    """iproute2, by netlink, which counts ports from 1 on and so has no port of a switch."""
    hcas = {port: lid for port, lid in lids.items() if port.startswith("hca")}
    out = tree.check("rdma link show")
    for port, lid in hcas.items():
        assert re.search(rf"^link {port.replace(':', '/')} .* lid {lid} sm_lid {lids['hca0:1']} .*state ACTIVE physical_state LINK_UP",
                         out, re.M), out
    assert len(out.splitlines()) == len(hcas)
    assert tree.check("rdma dev show").count("node_guid") == len(SWITCHES) + len(HCAS)
    assert "node_guid 021b:fa00:0000:0500" in tree.check("rdma dev show hca0")
    # What special queue pairs do not have is zero, and not what was on the kernel's stack.
    pairs = tree.check("rdma resource show qp").splitlines()
    assert len(pairs) >= 2 * len(HCAS) and all(" sq-psn 0 " in line for line in pairs), pairs


def test_ibsysstat(tree, lids):
    tree.check("ibsysstat -C hca1 -S >/dev/null 2>&1 & echo $! >/tmp/ibsysstat.pid; sleep 1")
    out = tree.check(f"ibsysstat -C hca3 {lids['hca1:1']} host; ibsysstat -C hca3 {lids['hca1:1']}; status=$?\n"
                     "kill $(cat /tmp/ibsysstat.pid); exit $status")
    assert out.startswith("guest") and "sysstat ping succeeded" in out


def test_dump_lfts(tree, lids):
    """The forwarding tables of all switches lead everywhere."""
    out = tree.check("dump_lfts -C hca0", timeout=300)
    tables = dict(re.findall(r"^Unicast lids .* guid (0x[0-9a-f]+) .*:\n((?:.*\n)*?)\d+ valid lids dumped", out, re.M))
    assert {int(guid, 16) for guid in tables} == {guid for guid, _ in SWITCHES.values()}
    for guid, table in tables.items():
        rows = {int(lid, 16): int(port) for lid, port in re.findall(r"^(0x[0-9a-f]{4}) (\d{3}) ", table, re.M)}
        name = next(name for name, (other, _) in SWITCHES.items() if other == int(guid, 16))
        assert set(rows) == set(lids.values()) and [lid for lid, port in rows.items() if port == 0] == [lids[f"{name}:0"]]
    # hca0 is at port 5 of sw0, and hca1 at port 6.
    assert f"{lids['hca0:1']:#06x} 005 : (Channel Adapter portguid 0x021bfa0000000501: 'ibfabric hca0')" in out
    assert f"{lids['hca1:1']:#06x} 006 : (Channel Adapter portguid 0x021bfa0000000601: 'ibfabric hca1')" in out


def test_dump_mfts(tree):
    assert tree.check("dump_mfts -C hca0", timeout=300).count("valid mlids dumped") == len(SWITCHES)


def test_ibfindnodesusing(tree):
    """Who is reached over the link from sw0 to sw2, one way and the other."""
    out = tree.check("ibfindnodesusing -C hca0 0x021bfa0000000100 3", timeout=300)
    link = '0x021bfa0000000100 3 \\("ibfabric sw0" base\\) +{}  0x021bfa0000000300 1 \\(ibfabric sw2\\)'
    assert re.search(link.format("==>>"), out) and re.search(link.format("<<=="), out), out


def test_opensm_had_nothing_to_complain_of(tree):
    """Before it is asked for what there is not."""
    assert opensm.errors(tree, LOG) == []


def test_osmtest(tree):
    """OpenSM's own test of subnet administration takes an inventory, asks for everything, and compares."""
    words = f"-g {opensm.port_guid(tree, 'hca3'):#x} -i /tmp/inventory -l /tmp/osmtest.log"
    for flow, name in (("c", "Create Inventory"), ("a", "All Validations")):
        assert f'TEST "{name}" PASS' in tree.check(f"cd /tmp && osmtest -f {flow} {words}", timeout=600)


@pytest.mark.parametrize("words", [
    "--attribute nodeifno 0,1", "--attribute 0x10000 0,1", "--lid 0x10000 --dr-slid 1 0,1", "--dr-dlid 70000 0,1",
    "--dr-slid 0x100000000 --opa 0,1", "--tid 0x10000000000000000 0,1", "--modifier -1 0,1", "--modifier 0x100000000 0,1",
    "--timeout -1 0,1", "--timeout 0x100000000 0,1", "--retries -1 0,1", "--retries 0x100000000 0,1",
    "--lid x 0,1", "0,x"])
def test_dr_smp_refuses_what_is_no_such_number(words):
    done = subprocess.run([sys.executable, "-B", DR_SMP, *words.split()], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "") and "dr-smp: error: " in done.stderr and "Traceback" not in done.stderr
    if "nodeifno" in words:
        assert "nodedesc, nodeinfo, switchinfo" in done.stderr


def test_dr_smp_takes_the_largest_numbers(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["dr-smp", *(
        "--attribute 0xffff --lid 0xffff --dr-slid 0xffff --dr-dlid 0xffff --tid 0xffffffffffffffff --modifier 0xffffffff "
        "--timeout 0xffffffff --retries 0xffffffff 0,1").split()])
    module = runpy.run_path(str(DR_SMP), run_name="dr-smp")
    options = module["arguments"]()
    # By the table of fields of an SMP.
    assert module["smp"](options)[8:40].hex() == "ff" * 10 + "0000" + "ff" * 4 + "00" * 8 + "ff" * 4 + "0000" * 2
    with open("/dev/null", "wb") as file:
        assert module["post"](file.fileno(), 0, b"", options)


def test_dr_smp_shows_a_description_in_any_alphabet(monkeypatch):
    module = runpy.run_path(str(DR_SMP), run_name="dr-smp")
    answer = bytearray(256)
    answer[3], answer[17] = 0x81, 0x10
    answer[64:71] = "caf\u00e9 x".encode()
    for name, does in (("find_port", lambda *_: "/dev/null"), ("register", lambda *_: 1), ("post", lambda *_: True),
                       ("receive", lambda *_: bytes(answer))):
        monkeypatch.setitem(module["main"].__globals__, name, does)
    monkeypatch.setattr(sys, "argv", ["dr-smp", "--attribute", "nodedesc", "0,1"])
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    assert module["main"]() == 0
    out.flush()
    assert out.buffer.getvalue().endswith(b"node_description caf\\xe9 x\n")
