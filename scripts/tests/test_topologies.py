# SPDX-License-Identifier: GPL-2.0
"""Stock OpenSM brings up fabrics of every shape: public descriptions of real ones, and generated trees and tori.

Each is loaded, swept, and read back by ibnetdiscover. A row about each goes to the end of the test run: how
far the farthest node is from the subnet manager, SMPs of the first sweep, packets on links for them, how many
got lost, and the driver's own memory a node.
"""

import functools
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import opensm

SCRIPTS = Path(__file__).parents[1]
sys.path[:0] = [str(SCRIPTS), str(SCRIPTS / "bench")]

# pylint: disable=wrong-import-position
import allocations  # noqa: E402
from guestlib.guest import Guest, new_results  # noqa: E402
from topo import dump, fabric, generate, parse  # noqa: E402

LOG = "/tmp/osm.log"
RECEIVED = "/sys/kernel/tracing/events/ib_smi/ib_smi_recv"
MAX_HOPS = 63
HEADING = f"{'fabric':36} {'sw':>4} {'HCAs':>5} {'links':>6} {'far':>4} {'SMPs':>6} {'packets':>8} {'lost':>5} {'kB/node':>8}"

# With the numbers of nodes.
PUBLIC = [("jabl_1.topo", 6), ("jabl_2.topo", 3), ("jabl_3.topo", 8), ("jabl_4.topo", 2), ("net-examples/net", 4),
          ("net-examples/net.1", 3), ("net-examples/net.2sw2path", 4), ("net-examples/net.2sw2path4hca", 6),
          ("net-examples/net.2sw2path4hca2port", 4), ("ibdm_subnet.netdisc", 65), ("X5.topofile", 100),
          ("topograph_example.out", 622)]
FAT_TREES = [(2, 4), (3, 4), (3, 16)]
# More than that is not for every day.
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


def building(topology):
    """What `ibfabric load` writes, in its order, for a shell, which starts faster in a guest than Python does."""
    nodes = sorted(topology.nodes.values(), key=lambda node: node.kind == "switch")
    lines = [f"mkdir {' '.join(f'nodes/{node.name}' for node in nodes)}"]
    for node in nodes:
        lines.append(f"cd nodes/{node.name}")
        usual = fabric.node_settings(node)
        settings = list(usual.items())
        for number in node.ports:
            special = fabric.port_settings(node, number, usual)
            if special:
                lines.append(f"mkdir {number}")
            settings += [(f"{number}/{name}", value) for name, value in special.items()]
        lines += [f"printf '%s\\n' {shlex.quote(str(value))} >{name}" for name, value in [*settings, ("live", 1)]]
        lines.append("cd ../..")
    links = [f"links/{a.name}:{a_port}-{b.name}:{b_port}" for a, a_port, b, b_port in topology.links()]
    # As many at a time as a command line holds.
    return lines + [f"mkdir {' '.join(links[at:at + 1000])}" for at in range(0, len(links), 1000)]


UNLOAD = f"""[ ! -d /sys/module/ibfabric ] || {{
cd {fabric.CONFIG}; for kind in 'links/*' 'nodes/*/[0-9]*' 'nodes/*'; do
find $kind -maxdepth 0 -type d 2>/dev/null | xargs -r rmdir || exit 1; done; rmmod ibfabric || exit 1; }}
"""


class Fabric:
    """A description that is loaded in a guest, with a subnet manager at the first port of its first HCA."""

    def __init__(self, guest, text, folder):
        self.guest = guest
        self.described, self.found = folder / "described", folder / "found"
        self.described.write_text(text)
        self.topology = parse.parse(text, "described")
        self.manager = next(node for node in self.topology.nodes.values() if node.kind == "ca" and node.ports)
        self.port = min(self.manager.ports)
        # Of this shell, and of the commands that it starts.
        watched = "\n".join(f'echo "{text}" >{allocations.EVENTS}/{event}/trigger'
                            for event, text in allocations.triggers("if common_pid==$$ || comm==\\\"mkdir\\\""))
        stacks = "\n".join(f"cat {allocations.EVENTS}/{event}/hist; echo '!{text}' >{allocations.EVENTS}/{event}/trigger"
                           for event, text in allocations.triggers())
        lines = "\n".join(building(self.topology))
        out = guest.check(f"set -e; insmod $MODULES/ibfabric.ko topology=none; cd {fabric.CONFIG}\n{watched}\n{lines}\n{stacks}",
                          timeout=900)
        self.memory = allocations.owners(out)["ibfabric"]

    @property
    def links(self):
        """How many there are."""
        return sum(1 for _ in self.topology.links())

    def histogram(self):
        """What counts requests of the subnet manager as they come off its link, and the answers that it gets."""
        link = self.manager.ports[self.port]
        peer = self.topology.nodes[link.peer].name
        return (f"hist:keys=returning if (returning==0&&device==\"{peer}\"&&ingress=={link.peer_port})"
                f"||(returning==1&&device==\"{self.manager.name}\"&&ingress=={self.port})")

    def sweep(self, options="", settings=()):
        """Lets OpenSM bring it up."""
        self.guest.check(f"echo '{self.histogram()}' >{RECEIVED}/trigger")
        opensm.start(self.guest, self.manager.name, LOG, options, settings, self.port)
        opensm.wait(self.guest, LOG, "-> SUBNET UP", 300)

    def look(self):
        """What the fabric and OpenSM have to say of themselves, by names of files."""
        out = self.guest.check(f"cd {fabric.DEBUG}; for file in ports nodes counters {LOG} {RECEIVED}/hist; do\n"
                               "echo \"=== ${file##*/}\"; cat $file; done")
        return dict(part.split("\n", 1) for part in out.split("=== ")[1:])

    def is_up(self, seen):
        """Asserts that all links are active, all linked ports with a LID have one, and nobody complained."""
        assert re.findall("ERR [0-9A-F]{4}.*", seen["osm.log"]) == []
        assert [line.split()[1] for line in seen["ports"].splitlines()].count("Active") == 2 * self.links
        linked = {node.name for node in self.topology.nodes.values() if node.ports}
        lids = [lid for line in seen["nodes"].splitlines() for name, _, _, _, *more in [line.split()] if name in linked
                for lid in more if lid != "0"]
        assert len(lids) == len(set(lids)) >= len(linked)

    def smps(self, seen):
        """How many requests the subnet manager put on its link, those that it sent once more too, and answers to them."""
        counts = dict(re.findall(r"{ returning: +(\d) } hitcount: +(\d+)", seen["hist"]))
        return int(counts["0"]), int(counts["1"])

    def lost(self, seen):
        """The SMPs that got lost, by name.

        What else counts as discarded is not an SMP: the kernel of every HCA asks the subnet administration for its
        ClassPortInfo a second after it was given a LID, whether the links on the way are active or not.
        """
        asked, answered = self.smps(seen)
        dropped = sum(map(int, re.findall(r"vl15_dropped=(\d+)", seen["counters"])))
        found = {"unanswered": asked - answered, "VL15 dropped": dropped, "timeouts": seen["osm.log"].count("IB_TIMEOUT")}
        return {name: count for name, count in found.items() if count}

    def read_back(self):
        """What `ibfabric compare` tells of the description and of what ibnetdiscover finds, which says nothing else."""
        status, text, said = self.guest.run(f"ibnetdiscover -C {self.manager.name} -P {self.port}", timeout=600)
        assert (status, said) == (0, "")
        self.found.write_text(text)
        done = subprocess.run([SCRIPTS / "ibfabric", "compare", self.described, self.found], capture_output=True, text=True,
                              check=False)
        return done.stdout + done.stderr

    def unreached(self):
        """The HCAs that do not answer by LID, along forwarding tables."""
        _, lids = opensm.up(self.guest)
        ends = [(node, lids[f"{node.name}:{number}"]) for node in self.topology.nodes.values() if node.kind == "ca"
                for number in node.ports]
        out = self.guest.check(
            f"for lid in {' '.join(str(lid) for _, lid in ends)}; do\n"
            f"echo LID; smpquery -C {self.manager.name} -P {self.port} nodeinfo $lid; done", timeout=300)
        answers = out.split("LID\n")[1:]
        return [node.name for (node, _), answer in zip(ends, answers, strict=True)
                if f"\nGuid:............................{node.guid:#018x}\n" not in answer]

    def unload(self):
        """Removes it."""
        # The kernel warns when events go that still have a trigger.
        self.guest.check(f"{opensm.STOP}[ ! -e {RECEIVED} ] || echo '!{self.histogram()}' >{RECEIVED}/trigger\n{UNLOAD}",
                         timeout=600)


def prove(guest, name, text, folder, rows):
    """All that every fabric has to stand."""
    loaded = Fabric(guest, text, folder)
    try:
        far = hops(loaded.topology, loaded.manager)
        assert far <= MAX_HOPS
        loaded.sweep()
        seen = loaded.look()
        loaded.is_up(seen)
        assert loaded.lost(seen) == {}
        assert loaded.read_back() == ""
    finally:
        loaded.unload()
    count = len(loaded.topology.nodes)
    switches = sum(1 for node in loaded.topology.nodes.values() if node.kind == "switch")
    packets = sum(map(int, re.findall(r" xmit=(\d+)", re.sub(r"(?m)^\w+:0 .*", "", seen["counters"]))))
    rows(HEADING, f"{name:36} {switches:4} {count - switches:5} {loaded.links:6} {far:4} {loaded.smps(seen)[0]:6} {packets:8}"
         f" {0:5} {loaded.memory / count / 1024:8.1f}")


def prepare(guest):
    """A guest with the module and without a fabric."""
    guest.check("dmesg -n 1; modprobe -a configfs ib_umad; [ -d /sys/module/ib_smi ] || /src/scripts/load\n"
                f"{opensm.STOP}{UNLOAD}", timeout=300)
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
def test_public_descriptions(guest, shared, tmp_path, rows, name):
    prove(guest, name, public(shared, name), tmp_path, rows)


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
def test_fat_trees(guest, tmp_path, rows, levels, radix):
    prove(guest, f"fat tree, {levels} levels, radix {radix}", generated(generate.fat_tree, levels, radix), tmp_path, rows)


def test_a_chain_as_long_as_a_directed_route(guest, tmp_path, rows):
    """From one end of 62 switches to the other there are 63 links."""
    prove(guest, "chain of 62 switches", generated(generate.chain, 62, 0), tmp_path, rows)


def test_what_gets_lost_is_noticed(guest, tmp_path):
    """The switch next to the subnet manager does not answer once, and is asked again: the fabric comes up nevertheless."""
    loaded = Fabric(guest, generated(generate.fat_tree, 2, 4), tmp_path)
    faults = f"{fabric.CONFIG}/faults/{loaded.topology.nodes[loaded.manager.ports[loaded.port].peer].name}"
    try:
        guest.check(f"mkdir {faults} && echo 'nth 5' >{faults}/swallow_answers")
        loaded.sweep()
        seen = loaded.look()
        loaded.is_up(seen)
        assert loaded.lost(seen) == {"unanswered": 1}
    finally:
        guest.check(f"rmdir {faults}")
        loaded.unload()


@pytest.mark.parametrize("name", [name for name, nodes in PUBLIC if nodes > LARGE])
def test_large_public_descriptions(large_guest, shared, tmp_path, rows, name):
    prove(prepare(large_guest), name, public(shared, name), tmp_path, rows)


@pytest.mark.parametrize("levels, radix", [size for size in FAT_TREES if nodes_of(*size) > LARGE])
def test_large_fat_trees(large_guest, tmp_path, rows, levels, radix):
    name = f"fat tree, {levels} levels, radix {radix}"
    prove(prepare(large_guest), name, generated(generate.fat_tree, levels, radix), tmp_path, rows)


# Routing engines, each on a fabric that suits it. With QoS lanes are written too, which those for tori need.
TREE = functools.partial(generated, generate.fat_tree, 2, 4)
TORUS = functools.partial(generated, generate.torus, (3, 3), 1)
ENGINES = [("minhop", TREE), ("updn", TREE), ("ftree", TREE), ("lash", TORUS), ("dfsssp", TORUS), ("torus-2QoS", TORUS)]


def torus_config(topology):
    """What torus-2QoS has to be told: how large the torus is, and where three of the switches are."""
    switches = [node for node in topology.nodes.values() if node.kind == "switch"]
    # The last coordinate counts first, and there is no third one.
    first, along_y, along_x = switches[0], switches[1], switches[3]
    return f"torus 3 3 1\nxp_link {first.guid:#x} {along_x.guid:#x}\nyp_link {first.guid:#x} {along_y.guid:#x}"


@pytest.mark.parametrize("name, make", [
    pytest.param(name, make, id=name, marks=pytest.mark.long if number else ()) for number, (name, make) in enumerate(ENGINES)])
def test_routing_engines(guest, tmp_path, name, make):
    """The engine routes, does not fall back to another, and every HCA is reached by what it wrote."""
    loaded = Fabric(guest, make(), tmp_path)
    try:
        guest.check(f"cat >/tmp/torus.conf <<'END'\n{torus_config(loaded.topology)}\nEND")
        loaded.sweep(f"-R {name} -Q --torus_config /tmp/torus.conf")
        seen = loaded.look()
        loaded.is_up(seen)
        assert loaded.lost(seen) == {}
        assert set(opensm.engines(guest, LOG)) == {name}
        assert loaded.unreached() == []
    finally:
        loaded.unload()
