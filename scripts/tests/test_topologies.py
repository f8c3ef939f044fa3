# SPDX-License-Identifier: GPL-2.0
"""Stock OpenSM brings up fabrics of every shape: public descriptions of real ones, and generated trees and tori.

Each is loaded, swept, and read back by ibnetdiscover. A row about each goes to the end of the test run: SMPs
of the first sweep, packets on links, what got lost, and the driver's own memory a node.
"""

import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import opensm

SCRIPTS = Path(__file__).parents[1]
sys.path.insert(0, str(SCRIPTS))

# pylint: disable=wrong-import-position
from guestlib.guest import Guest, new_results  # noqa: E402
from topo import dump, generate, parse  # noqa: E402

TOOL = "/src/scripts/ibfabric"
DEBUG = "/sys/kernel/debug/ibfabric"
LOG = "/tmp/osm.log"
MAX_HOPS = 63

# With the numbers of nodes.
PUBLIC = [("jabl_1.topo", 6), ("jabl_2.topo", 3), ("jabl_3.topo", 8), ("jabl_4.topo", 2), ("net-examples/net", 4),
          ("net-examples/net.1", 3), ("net-examples/net.2sw2path", 4), ("net-examples/net.2sw2path4hca", 6),
          ("net-examples/net.2sw2path4hca2port", 4), ("ibdm_subnet.netdisc", 65), ("X5.topofile", 100),
          ("topograph_example.out", 622)]
FAT_TREES = [(2, 4), (3, 4), (2, 8), (3, 16)]
# What a guest of the ordinary size and a patient developer can bear.
LARGE = 150


def generated(make, *args):
    """The text of a generated fabric."""
    builder = generate.Builder()
    make(builder, *args)
    return dump.dump(builder.finish())


def hops(topology, start):
    """How far the farthest node is from that one, in links."""
    far, found = 0, {start.key: 0}
    queue = [start]
    for node in queue:
        for port in node.ports.values():
            if port.peer not in found:
                far = found[port.peer] = found[node.key] + 1
                queue.append(topology.nodes[port.peer])
    assert len(found) == len(topology.nodes), "not all of it is linked"
    return far


class Fabric:
    """A description that is loaded in a guest."""

    def __init__(self, guest, text, folder):
        self.guest = guest
        self.described, self.found = folder / "described", folder / "found"
        self.described.write_text(text)
        self.topology = parse.parse(text, "described")
        self.links = sum(1 for _ in self.topology.links())
        self.manager = next(node for node in self.topology.nodes.values() if node.kind == "ca" and node.ports)
        self.port = min(self.manager.ports)
        guest.check(f"cat >/tmp/described <<'END OF FILE'\n{text}\nEND OF FILE")
        out = guest.check(f"python3 -B /src/scripts/bench/allocations.py {TOOL} load /tmp/described", timeout=900)
        self.memory = int(re.search("^ibfabric (\\d+)$", out, re.M)[1])

    @property
    def device(self):
        """Where the subnet manager runs."""
        return f"{self.manager.name}:{self.port}"

    def ports(self):
        """What every port counted. Port 0 of a switch has what others have too."""
        lines = self.guest.check(f"cat {DEBUG}/counters").splitlines()
        return {port: {name: int(count) for name, count in (word.split("=") for word in words)}
                for port, *words in map(str.split, lines) if not port.endswith(":0")}

    def counters(self):
        """What all ports counted together, and that of the subnet manager."""
        found = self.ports()
        own = found[self.device]
        return {name: sum(counts[name] for counts in found.values()) for name in own}, own

    def sweep(self, options="", settings=()):
        """Lets OpenSM bring it up."""
        opensm.start(self.guest, self.manager.name, LOG, options, settings, self.port)
        opensm.wait(self.guest, LOG, "-> SUBNET UP", 300)

    def is_up(self):
        """Asserts that all links are active, all ports with a LID have one, and nobody complained."""
        assert opensm.errors(self.guest, LOG) == []
        states = self.guest.check(f"cut -d' ' -f2 {DEBUG}/ports | sort | uniq -c").split()
        assert dict(zip(states[1::2], map(int, states[::2]))).get("Active", 0) == 2 * self.links, states
        nodes = [line.split() for line in self.guest.check(f"cat {DEBUG}/nodes").splitlines()]
        linked = {node.name for node in self.topology.nodes.values() if node.ports}
        lids = [lid for name, _, _, _, *lids in nodes if name in linked for lid in lids if lid != "0"]
        assert len(lids) == len(set(lids)) >= len(linked)

    def lost(self):
        """The SMPs that got lost of all that were sent, by name.

        Those that find no buffer are counted; those that a switch cannot pass on too. Whatever else gets lost
        shows at the port of the subnet manager, as a request that was sent once more or had no answer at all.
        (HCAs discard what is no SMP while their link is not active: the kernel asks for the ClassPortInfo of the
        subnet administration a second after the first LID, whether it is or not.)
        """
        whole, own = self.counters()
        found = {name: whole[name] for name in ("vl15_dropped", "rcv_errors", "relay_errors") if whole[name]}
        switches = [counts["xmit_discards"] for port, counts in self.ports().items() if port.startswith("sw")]
        timeouts = self.guest.check(f"cat {LOG}").count("IB_TIMEOUT")
        missed = max(0, own["xmit"] - own["rcv"])
        others = {"xmit_discards": sum(switches), "timeouts": timeouts, "unanswered": missed}
        return found | {name: count for name, count in others.items() if count}

    def read_back(self):
        """What `ibfabric compare` tells of the description and of what ibnetdiscover finds, which says nothing else."""
        status, text, said = self.guest.run(f"ibnetdiscover -C {self.manager.name} -P {self.port}", timeout=600)
        assert (status, said) == (0, "")
        self.found.write_text(text)
        done = subprocess.run([SCRIPTS / "ibfabric", "compare", self.described, self.found], capture_output=True, text=True,
                              check=False)
        assert (done.returncode == 0) == (done.stdout == ""), done
        return done.stdout + done.stderr

    def unload(self):
        """Removes it."""
        opensm.stop(self.guest)
        self.guest.check(f"{TOOL} unload", timeout=600)


def prove(guest, name, text, folder, tell):
    """All that every fabric has to stand."""
    fabric = Fabric(guest, text, folder)
    try:
        far = hops(fabric.topology, fabric.manager)
        assert far <= MAX_HOPS
        fabric.sweep()
        whole, own = fabric.counters()
        fabric.is_up()
        assert fabric.lost() == {}
        assert fabric.read_back() == ""
        assert fabric.lost() == {}
        assert opensm.errors(guest, LOG) == []
    finally:
        fabric.unload()
    count = len(fabric.topology.nodes)
    switches = sum(1 for node in fabric.topology.nodes.values() if node.kind == "switch")
    tell(f"{name:36} {switches:4} {count - switches:5} {fabric.links:6} {far:3} {own['xmit']:6} {whole['xmit']:7}"
         f" {0:4} {fabric.memory / count / 1024:6.1f}")


@pytest.fixture(name="tell")
def tell_fixture(rows):
    """Takes a row for the table at the end."""
    return functools.partial(
        rows, f"{'fabric':36} {'sw':>4} {'HCAs':>5} {'links':>6} {'far':>3} {'SMPs':>6} {'packets':>7} {'lost':>4} {'kB/node':>6}")


def prepare(guest):
    """A guest with the module and without a fabric."""
    guest.check("dmesg -n 1; modprobe ib_umad; [ -d /sys/module/ib_smi ] || /src/scripts/load\n"
                f"{opensm.STOP}[ ! -d /sys/module/ibfabric ] || {TOOL} unload", timeout=300)
    return guest


@pytest.fixture(name="guest")
def guest_fixture(guest_stock):
    """A guest of the usual size."""
    return prepare(guest_stock)


@pytest.fixture(name="large_guest", scope="module")
def large_guest_fixture():
    """A guest with memory for large fabrics, only where they are asked for."""
    if not os.environ.get("IB_SMI_LARGE"):
        pytest.skip("large fabrics take ten minutes and 8 GB: IB_SMI_LARGE=1 asks for them")
    with Guest("stock", mem="8G", results=new_results("test_topologies-large")) as guest:
        yield prepare(guest)


def public(shared, name):
    """The text of a public description."""
    return (shared / "topologies" / name).read_text(encoding="utf-8", errors="replace")


@pytest.mark.parametrize("name", [name for name, nodes in PUBLIC if nodes <= LARGE])
def test_public_descriptions(guest, shared, tmp_path, tell, name):
    prove(guest, name, public(shared, name), tmp_path, tell)


def test_every_public_description_is_here(shared):
    """A file that is added has to be added here too, or be one that is refused."""
    folder = shared / "topologies"
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files - {"README.md", "net-examples/examples.README", "topograph_example-bad.out"} == {name for name, _ in PUBLIC}


def nodes_of(levels, radix):
    """How many nodes a fat tree has."""
    half = radix // 2
    return (2 * levels - 1) * half ** (levels - 1) + 2 * half ** levels


@pytest.mark.parametrize("levels, radix", [size for size in FAT_TREES if nodes_of(*size) <= LARGE])
def test_fat_trees(guest, tmp_path, tell, levels, radix):
    prove(guest, f"fat tree, {levels} levels, radix {radix}", generated(generate.fat_tree, levels, radix), tmp_path, tell)


def test_a_chain_as_long_as_a_directed_route(guest, tmp_path, tell):
    """From one end of 62 switches to the other there are 63 links."""
    prove(guest, "chain of 62 switches", generated(generate.chain, 62, 0), tmp_path, tell)


@pytest.mark.parametrize("name", [name for name, nodes in PUBLIC if nodes > LARGE])
def test_large_public_descriptions(large_guest, shared, tmp_path, tell, name):
    prove(prepare(large_guest), name, public(shared, name), tmp_path, tell)


@pytest.mark.parametrize("levels, radix", [size for size in FAT_TREES if nodes_of(*size) > LARGE])
def test_large_fat_trees(large_guest, tmp_path, tell, levels, radix):
    prove(prepare(large_guest), f"fat tree, {levels} levels, radix {radix}", generated(generate.fat_tree, levels, radix), tmp_path, tell)


# Routing engines, each on a fabric that suits it. With QoS lanes are written too, which those for tori need.
TORUS = (3, 5)
ENGINES = {
    "fat tree": (functools.partial(generated, generate.fat_tree, 2, 4), ["minhop", "updn", "ftree"]),
    "torus": (functools.partial(generated, generate.torus, TORUS, 1), ["lash", "dfsssp", "torus-2QoS"]),
}


def torus_config(topology):
    """What torus-2QoS has to be told: how large the torus is, and where two switches are."""
    switches = [node for node in topology.nodes.values() if node.kind == "switch"]
    # The last coordinate counts first, and a third one is 1.
    first, along_y, along_x = switches[0], switches[1], switches[TORUS[1]]
    return (f"torus {TORUS[0]} {TORUS[1]} 1\n"
            f"xp_link {first.guid:#x} {along_x.guid:#x}\nyp_link {first.guid:#x} {along_y.guid:#x}")


@pytest.mark.parametrize("shape", ENGINES)
def test_routing_engines(guest, tmp_path, parts, shape):
    """Each engine routes, none falls back to another, and every HCA is reached by what it wrote."""
    make, names = ENGINES[shape]
    fabric = Fabric(guest, make(), tmp_path)
    try:
        guest.check(f"cat >/tmp/torus.conf <<'END'\n{torus_config(fabric.topology)}\nEND")
        for name in names:
            fabric.sweep(f"-r -R {name} -Q --torus_config /tmp/torus.conf")
            fabric.is_up()
            used = set(opensm.engines(guest, LOG))
            missed = unreached(fabric)
            lost = fabric.lost()
            opensm.stop(guest)
            parts.add("passed" if (used, missed, lost) == ({name}, [], {}) else "failed", f"{name}: {used} {missed} {lost}")
    finally:
        fabric.unload()
    parts.verify()


def unreached(fabric):
    """The HCAs that do not answer by LID, along forwarding tables."""
    _, lids = opensm.up(fabric.guest)
    ends = [(node, lids[f"{node.name}:{number}"]) for node in fabric.topology.nodes.values() if node.kind == "ca"
            for number in node.ports]
    out = fabric.guest.check(
        f"for lid in {' '.join(str(lid) for _, lid in ends)}; do\n"
        f"echo LID; smpquery -C {fabric.manager.name} -P {fabric.port} nodeinfo $lid; done", timeout=300)
    answers = out.split("LID\n")[1:]
    return [node.name for (node, _), answer in zip(ends, answers, strict=True)
            if f"\nGuid:............................{node.guid:#018x}\n" not in answer]
