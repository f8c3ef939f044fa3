# SPDX-License-Identifier: GPL-2.0
"""The module on Debian's kernel, on the virtual fabric: the rules at work on the real MAD layer.

The vectors are those of the specification's section 14.2.2; what is expected of each was written
down from there. An answer alone proves nothing in a fabric of one kernel, so posts on the wire are
counted too.
"""

import errno
import itertools
import subprocess

import pytest

import opensm
from smp import WAY, PERMISSIVE, follow, inject, make, short, tid_of

# All of it can go wrong on another kernel.
pytestmark = pytest.mark.kernel

PROCESSORS = 2
DEBUG = "/sys/kernel/debug"
CONFIG = "/sys/kernel/config/ibfabric"
FAULTS = f"{CONFIG}/faults"


def out(ptr, cnt, ipath=(), **more):
    """An SMP on the way out."""
    return make(ptr, cnt, ipath, **more)


def ret(ptr, cnt, ipath=(), rpath=(), **more):
    """An SMP on the way back."""
    return make(ptr, cnt, ipath, rpath, ret=True, **more)


LONG = (1,) * 63

# name, node, ingress port, SMP, (verdict, egress or LID, Hop Pointer), rule, reason
VECTORS = [
    ("V1 transit", "sw0", 1, out(1, 2, (1, 2)), ("forward", 2, 2), "C14-9:2", "-"),
    ("V2 transit egress 0", "sw0", 1, out(1, 2, (1, 0)), ("discard", None, None), "C14-9:2", "port-zero"),
    ("V3 transit egress n+1", "sw0", 1, out(1, 2, (1, 5)), ("discard", None, None), "C14-9:2", "no-such-port"),
    ("V4 end of path at switch", "sw0", 1, out(1, 1, (1,)), ("local", None, 2), "C14-9:3", "-"),
    ("V5 end of path at CA", "hca0", 1, out(2, 2, (1, 2)), ("local", None, 3), "C14-9:3", "-"),
    ("V6 transit at CA", "hca0", 1, out(1, 2, (1, 2)), ("discard", None, None), "C14-9:2", "ca-in-transit"),
    ("V7 63 hops, transit", "sw0", 1, out(62, 63, LONG), ("forward", 1, 63), "C14-9:2", "-"),
    ("V8 63 hops, last", "sw0", 1, out(63, 63, LONG), ("local", None, 64), "C14-9:3", "-"),
    ("V9 64 hops", "sw0", 1, out(1, 64, (1, 2)), ("discard", None, None), "C14-6", "hop-count"),
    ("C1 255 hops", "sw0", 1, out(255, 255, (1, 2)), ("discard", None, None), "C14-6", "hop-count"),
    ("C1 64 hops on the way back", "sw0", 1, ret(64, 64, (1, 2), (1, 2)), ("discard", None, None), "C14-6", "hop-count"),
    ("V11 past the end", "sw0", 1, out(3, 2, (1, 2)), ("local", None, 3), "C14-9:4", "-"),
    ("V12 far past the end", "sw0", 1, out(4, 2, (1, 2)), ("discard", None, None), "C14-9:5", "hop-pointer"),
    ("V13 not started", "sw0", 1, out(0, 2, (1, 2)), ("discard", None, None), "C14-9:1", "not-from-wire"),
    ("V14 start of the directed part", "sw0", 1, out(0, 2, (2, 2), slid=5), ("forward", 2, 1), "C14-9:1", "-"),
    ("V16 end, DrDLID at switch", "sw0", 1, out(1, 1, (1,), dlid=7), ("route", 7, 2), "C14-9:3", "-"),
    ("V17 end, DrDLID at CA", "hca0", 1, out(1, 1, (1,), dlid=7), ("discard", None, None), "C14-9:3", "ca-in-transit"),
    ("V18 no hop, from the wire", "sw0", 1, out(0, 0), ("local", None, 1), "C14-9:3", "-"),
    ("V20 return transit", "sw0", 2, ret(2, 2, (1, 2), (1, 1)), ("forward", 1, 1), "C14-13:2", "-"),
    ("V21 return egress 0", "sw0", 2, ret(2, 2, (1, 2), (0, 1)), ("discard", None, None), "C14-13:2", "port-zero"),
    ("V22 return egress n+1", "sw0", 2, ret(2, 2, (1, 2), (5, 1)), ("discard", None, None), "C14-13:2", "no-such-port"),
    ("V23 return end at CA", "hca0", 1, ret(1, 2, (1, 2), (1, 1)), ("local", None, 0), "C14-13:3", "-"),
    ("V24 return end at switch", "sw0", 1, ret(1, 2, (1, 2), (1, 1)), ("local", None, 0), "C14-13:3", "-"),
    ("V25 return end, DrSLID at switch", "sw0", 1, ret(1, 2, (1, 2), (1, 1), slid=5), ("route", 5, 0), "C14-13:3", "-"),
    ("V27 return start, DrDLID", "sw0", 2, ret(3, 2, (1, 2), (2, 1), dlid=7), ("forward", 1, 2), "C14-13:1", "-"),
    ("V29 return start, ingress in the path", "sw0", 1, ret(3, 2, (1, 2), (2, 1)), ("forward", 1, 2), "C14-13:1", "-"),
    ("V30 return start at CA", "hca0", 1, ret(3, 2, (1, 2), (2, 1)), ("discard", None, None), "C14-13:1", "ca-in-transit"),
    ("V31 return, over", "hca0", 1, ret(0, 2, (1, 2), (1, 1)), ("local", None, 0), "C14-13:4", "-"),
    ("V32 return without a hop", "sw0", 1, ret(0, 0), ("local", None, 0), "C14-13:4", "-"),
    ("V35 return transit, DrDLID", "sw0", 2, ret(2, 2, (1, 2), (1, 1), dlid=7), ("forward", 1, 1), "C14-13:2", "-"),
    ("V36 back out of the ingress port", "sw0", 1, out(1, 2, (1, 1)), ("forward", 1, 2), "C14-9:2", "-"),
]


def load(guest, topology="pair"):
    """Puts a fabric up under the module."""
    guest.check(
        "modprobe ib_umad\n"
        "[ ! -d /sys/module/ibfabric ] || rmmod ibfabric\n"
        f"insmod $MODULES/ibfabric.ko topology={topology}\n"
        "[ -d /sys/module/ib_smi ] || /src/scripts/load")


@pytest.fixture(name="pair")
def pair_fixture(guest_stock):
    """Two HCAs and a switch of four ports, with the module loaded."""
    load(guest_stock)
    return guest_stock


@pytest.fixture(name="build")
def build_fixture(guest_stock):
    """Puts a fabric up under the module, as `load` does, and adds nodes, by name with kind and ports, and links."""
    def build(topology, nodes, links):
        load(guest_stock, topology)
        lines = [f"mkdir nodes/{name}; echo {kind} >nodes/{name}/type; echo {ports} >nodes/{name}/ports; "
                 f"echo 1 >nodes/{name}/live" for name, (kind, ports) in nodes.items()]
        guest_stock.check("\n".join(["set -e", f"cd {CONFIG}", *lines, *(f"mkdir links/{link}" for link in links)]))
        return guest_stock

    yield build
    guest_stock.check(f"cd {CONFIG} && rmdir links/* nodes/*")


def discards(guest):
    """The counters of discards, by reason."""
    lines = guest.check(f"cat {DEBUG}/ib_smi/discards").split("\n")
    return {name: int(count) for name, count in (line.split() for line in lines if line)}


def posts(guest):
    """Packets put on a wire so far."""
    return int(guest.check(f"sed -n 's/^total //p' {DEBUG}/ibfabric/posts"))


def lid(guest, device):
    """The LID of a device's first port."""
    return int(guest.check(f"cat /sys/class/infiniband/{device}/ports/[01]/lid").split()[0], 16)


def guid(guest, device):
    """The node GUID of a device."""
    return "0x" + guest.check(f"cat /sys/class/infiniband/{device}/node_guid").strip().replace(":", "")


def test_every_vector(pair, parts):
    events = inject(pair, [(node, port, smp, "") for _, node, port, smp, _, _, _ in VECTORS])
    for name, node, port, smp, expected, rule, reason in VECTORS:
        recv = [event for event in events.get(tid_of(smp), []) if event["event"] == "recv"
                and event["device"] == node and event["ingress"] == str(port)]
        got = [(*short(event), event["rule"], event["reason"]) for event in recv[:1]]
        parts.add("passed" if got == [(*expected, rule, reason)] else "failed", f"{name}: {got}")
    parts.verify()


def judged(lines, *options):
    """What dr-judge says of its lines: verdict, port or LID, Hop Pointer as it leaves; rule, reason."""
    done = subprocess.run(["/src/build/dr-judge", *options], input="\n".join(lines), capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        said = dict(word.split("=", 1) for word in line.split())
        where = {"forward": said["egress"], "route": said["lid"]}.get(said["verdict"])
        hop = None if said["verdict"] == "discard" else int(said["hop"].split(",")[1])
        yield said["verdict"], None if where is None else int(where, 0), hop, said["rule"], said["reason"]


def at_the_limit():
    """Hop Counts around 63 with Hop Pointers around both, in both directions; the paths are full."""
    for cnt, ptr, way in itertools.product((63, 64, 255), (0, 1, 63, 64, 255), (False, True)):
        yield make(ptr, cnt, LONG, LONG, ret=way)


def check_c1(events, smp, expected):
    """One decision as expected, and of what has too many hops nothing else."""
    assert (*short(events[0]), events[0]["rule"], events[0]["reason"]) == expected
    if smp[7] > 63:
        assert expected == ("discard", None, None, "C14-6", "hop-count")
        assert [event["event"] for event in events[1:]] == ["discard"]


def test_c1_hop_counts_at_the_limit_from_the_wire(pair):
    nodes = (("sw0", "sw=4"), ("hca0", "ca=1"))
    rows = [(*node, smp) for node in nodes for smp in map(make_again, at_the_limit())]
    events = inject(pair, [(device, 1, smp, "") for device, _, smp in rows])
    for (_, _, smp), expected in zip(rows, judged(f"{kind} in=1 {smp.hex()}" for _, kind, smp in rows)):
        check_c1(events[tid_of(smp)], smp, expected)
    assert "hca1" in pair.check("smpquery -C hca0 -D nodedesc 0,1,2")


def test_c1_hop_counts_at_the_limit_from_umad(pair):
    smps = list(at_the_limit())
    # By the low word of the TID: the kernel names the agent in the high word of a request's.
    events = {tid & 0xFFFFFFFF: story for tid, story in follow(
        pair, "/src/scripts/dr-smp -C hca0 --timeout 1 --raw " + " ".join(smp.hex() for smp in smps)
        + " >/dev/null 2>&1; sleep 0.5").items()}
    for smp, expected in zip(smps, judged((f"ca=1 out=1 {smp.hex()}" for smp in smps), "--send")):
        story = events[tid_of(smp)]
        assert story[0]["event"] == "send"
        # An answer that its own node has not asked for is dropped by the module and not by a rule.
        if expected[0] == "local" and smp[4] & 0x80:
            expected = ("discard", None, None, expected[3], "not-asked")
        check_c1(story, smp, expected)
    assert "hca1" in pair.check("smpquery -C hca0 -D nodedesc 0,1,2")


def wires(guest, smp):
    """The ways over links that SMPs with the TID of that one have gone, in order: from, to, and the bytes."""
    lines = (line.split() for line in guest.check(f"cat {DEBUG}/ibfabric/wire").splitlines())
    sent = ((start, end, bytes.fromhex(data)) for _, start, end, _, _, data in lines)
    return [row for row in sent if row[2][1] == 0x81 and row[2][12:16] == smp[12:16]]


def test_c2_the_way_back_is_that_of_the_return_path(build):
    """Three switches, entered by port 3 and left by port 7. By the Initial Path, the way back would end at hca1 again."""
    switches = ("sw0", "sw1", "sw2")
    guest = build("none capture=100", {"hca0": ("ca", 1), "hca1": ("ca", 1), **dict.fromkeys(switches, ("switch", 8))},
                  ("hca0:1-sw0:3", "sw0:7-sw1:3", "sw1:7-sw2:3", "sw2:7-hca1:1"))
    smp = make(0, 4, (1, 7, 7, 7))
    out = guest.check(f"/src/scripts/dr-smp -C hca0 --hex --raw {smp.hex()}")
    assert f"node_guid {guid(guest, 'hca1')}" in out
    # Element 0 is reserved; each node has recorded its ingress port on the way out, and nobody anything on the way back.
    recorded = (0, 3, 3, 3, 1)
    answer = bytes.fromhex(out.split("hex ")[1])
    assert answer[128:192] == smp[128:192] and answer[192:256] == bytes(recorded).ljust(64, b"\0")
    there = [("hca0:1", "sw0:3"), ("sw0:7", "sw1:3"), ("sw1:7", "sw2:3"), ("sw2:7", "hca1:1")]
    back = [(end, start) for start, end in reversed(there)]
    assert [(start, end, data[192:]) for start, end, data in wires(guest, smp)] == [
        *((*way, bytes(recorded[:hop]).ljust(64, b"\0")) for hop, way in enumerate(there, 1)),
        *((*way, answer[192:]) for way in back)]


@pytest.mark.parametrize("path, reason", [("0,1,0,2", "port-zero"), ("0,1,5", "no-such-port"), ("0,1,255", "no-such-port")])
def test_c3_a_path_by_no_port_ends_at_the_switch(pair, path, reason):
    before = posts(pair)
    (story,) = follow(pair, f"/src/scripts/dr-smp -C hca0 --timeout 50 {path} >/dev/null 2>&1; sleep 0.5").values()
    assert [(event["event"], event["device"], event["reason"]) for event in story] == [
        ("send", "hca0", "-"), ("recv", "sw0", reason), ("discard", "sw0", reason)]
    assert posts(pair) - before == 1


def test_every_discard_has_an_event_and_a_count(pair):
    rows = [(node, port, make_again(smp), reason) for _, node, port, smp, _, _, reason in VECTORS if reason != "-"]
    before = discards(pair)
    events = inject(pair, [(node, port, smp, "") for node, port, smp, _ in rows])
    after = discards(pair)
    for node, _, smp, reason in rows:
        told = [event["reason"] for event in events[tid_of(smp)] if event["event"] == "discard" and event["device"] == node]
        assert told == [reason]
    for reason in {reason for *_, reason in rows}:
        assert after[reason] - before[reason] == sum(1 for *_, r in rows if r == reason), reason


def make_again(smp):
    """The same SMP with a TID of its own."""
    return smp[:8] + make(0, 0)[8:16] + smp[16:]


@pytest.mark.parametrize("path, node, hops", [("0", "hca0", 0), ("0,1", "sw0", 1), ("0,1,2", "hca1", 2)])
def test_smpquery(pair, path, node, hops):
    before = posts(pair)
    text = pair.check(f"smpquery -C hca0 -D nodeinfo {path}")
    assert f"Guid:............................{guid(pair, node)}" in text
    assert posts(pair) - before == 2 * hops


def test_ibnetdiscover_finds_every_node(pair):
    text = pair.check("ibnetdiscover -C hca0")
    for node in ("sw0", "hca0", "hca1"):
        assert guid(pair, node)[2:] in text


@pytest.mark.parametrize("what, options, path, node, count", [
    ("leading", "--lid {sw0} --dr-slid {hca0}", "0,2", "hca1", 4),
    ("trailing", "--dr-dlid {hca1}", "0,1", "hca1", 4),
    ("both", "--lid {sw0} --dr-slid {hca0} --dr-dlid {hca1}", "0,2", "hca1", None),
    ("no hop, to the switch", "--lid {sw0} --dr-slid {hca0}", "0", "sw0", 2),
    ("no hop, on to a CA", "--lid {sw0} --dr-slid {hca0} --dr-dlid {hca1}", "0", "hca1", 4),
])
def test_combined_route(pair, what, options, path, node, count):
    lids = {device: lid(pair, device) for device in ("sw0", "hca0", "hca1")}
    before = posts(pair)
    command = f"/src/scripts/dr-smp -C hca0 --timeout 500 {options.format(**lids)} {path}"
    if what == "both":
        # The directed part ends at a CA, which cannot route on: it must be dropped there.
        status, _, _ = pair.run(command)
        assert status == 2
        return
    text = pair.check(command)
    assert f"node_guid {guid(pair, node)}" in text
    # C14-10.1.1: both LIDs come back as they were.
    for option, key in (("--dr-slid", "drslid"), ("--dr-dlid", "drdlid")):
        words = options.format(**lids).split()
        sent = int(words[words.index(option) + 1]) if option in words else PERMISSIVE
        assert f"{key} 0x{sent:04x}" in text
    assert posts(pair) - before == count


def test_m10_a_client_on_a_switch(pair):
    assert guid(pair, "hca1") in pair.check("/src/scripts/dr-smp -C sw0 0,2")
    assert guid(pair, "hca0") in pair.check("/src/scripts/dr-smp -C sw0 0,1")


def test_m11_no_agent_gets_an_answer_it_did_not_ask_for(pair):
    # Agents of this host are numbered from 1 up: name each of the first 64 in the high TID word.
    rows = [(node, 1, make(0, 0, high_tid=agent), "") for agent in range(1, 65) for node in ("sw0", "hca0")]
    # The way back of a request without the D bit cleared ends the same way.
    rows += [("hca0", 1, make(0, 2, ret=True, method=1, high_tid=agent), "") for agent in range(1, 65)]
    before = discards(pair)
    events = inject(pair, rows)
    after = discards(pair)
    assert after["nowhere-to-go"] - before["nowhere-to-go"] == 128
    for _, _, smp, _ in rows:
        assert not [event for event in events[tid_of(smp)] if event["event"] == "send"]
        replies = [event for event in events[tid_of(smp)] if event["event"] == "reply"]
        assert all(event["verdict"] == "discard" for event in replies)
    assert "hca1" in pair.check("smpquery -C hca0 -D nodedesc 0,1,2")


def test_m11_nor_one_from_a_client_of_this_host(pair):
    before = discards(pair)
    smps = [make(0, 2, ret=True, high_tid=agent) for agent in range(1, 33)]
    status, _, _ = pair.run("/src/scripts/dr-smp -C hca0 --raw " + " ".join(smp.hex() for smp in smps))
    assert status == 3
    assert discards(pair)["not-asked"] - before["not-asked"] == len(smps)
    assert "hca1" in pair.check("smpquery -C hca0 -D nodedesc 0,1,2")


def test_m11_nor_in_any_other_form(pair):
    before = discards(pair)
    out = pair.check("python3 -B /src/scripts/tests/unasked.py")
    lines = out.strip().splitlines()
    assert len(lines) == 7
    for line in lines:
        assert line.endswith(", 0 received"), out
    # A TrapRepress is for the SMA of the node, which takes it (C14-9:3).
    assert "a TrapRepress: taken, 0 received" in lines
    assert discards(pair)["not-asked"] - before["not-asked"] == 6


def test_an_sm_on_the_own_node_is_answered_to(pair):
    # SMInfo is for a subnet manager: the request goes to OpenSM's agent on the same port, whose answer
    # comes back to sminfo, which did ask.
    out = pair.check(
        "port=0x$(sed 's/://g; s/0$/1/' /sys/class/infiniband/hca0/node_guid)\n"
        "opensm -g $port -f /tmp/opensm.log >/dev/null 2>&1 & manager=$!\n"
        "for try in $(seq 60); do sminfo -C hca0 -t 200 -D 0 2>/dev/null && break; sleep .5; done\n"
        "kill $manager; wait $manager; true", timeout=120)
    # Whatever it is about at that moment: its state is told by its own words.
    assert "SMINFO_MASTER" in out or "SMINFO_DISCOVER" in out


def test_a_reply_leaves_a_ca_by_the_port_it_came_in(pair):
    # Past its end with a Return Path of the sender's making: the CA has no such port.
    smp = out(3, 2, (1, 2))
    events = inject(pair, [("hca0", 1, smp[:192] + bytes((0, 1, 7)) + smp[195:], "")])[tid_of(smp)]
    assert [short(event)[0] for event in events if event["event"] == "reply"] == ["discard"]


def test_the_way_there_and_back(pair):
    events = follow(pair, "smpquery -C hca0 -D nodedesc 0,1,2 >/dev/null")
    (story,) = [story for story in events.values() if story[0]["attr"] == "0x0010"]
    steps = [(e["event"], e["device"], e["way"], int(e["before"]), int(e["after"]), e["rule"]) for e in story]
    assert steps == WAY


def test_c23_a_link_that_is_down_on_the_way(build):
    """Link 2 of 3: the last that is told of the request is the port that it was to leave by, at hop 2."""
    guest = build("none", {"hca0": ("ca", 1), "hca1": ("ca", 1), "sw0": ("switch", 8), "sw1": ("switch", 8)},
                  ("hca0:1-sw0:2", "sw0:5-sw1:4", "sw1:8-hca1:1"))
    guest.check(f"echo down >{CONFIG}/links/sw0:5-sw1:4/state")
    events = follow(guest, "smpquery -C hca0 -t 100 -D nodedesc 0,1,5,8 >/tmp/out 2>&1; echo $? >/tmp/status")
    assert int(guest.check("cat /tmp/status")) != 0, guest.check("cat /tmp/out")
    (story,) = events.values()
    assert {event["device"] for event in story} == {"hca0", "sw0"}
    last = story[-1]
    assert (last["event"], last["device"], *short(last)) == ("forward", "sw0", "forward", 5, 2)
    # It has reached the link that is down, and nothing has come out of it.
    assert guest.check(f"grep '^sw0:5 ' {DEBUG}/ibfabric/ports").split()[1:3] == ["Down", "Polling"]
    lost = dict(word.split("=") for word in guest.check(f"grep '^sw0:5 ' {DEBUG}/ibfabric/counters").split()[1:])
    tries = sum(1 for event in story if event["event"] == "forward")
    assert (int(lost["xmit_discards"]), int(lost["xmit"])) == (tries, 0)


@pytest.mark.parametrize("fault, reason", [("smi_posts", "post-failed"), ("smi_sends", "send-failed")])
def test_what_the_device_cannot_send_is_told(pair, fault, reason):
    pair.check(f"cd {FAULTS} && mkdir -p sw0/0 && echo 1 >sw0/0/{fault}")
    before = discards(pair)
    events = follow(pair, "smpquery -C hca0 -t 200 -D nodedesc 0,1,2 >/dev/null; true")
    told = [event for story in events.values() for event in story if event["event"] == "discard"]
    assert [(event["device"], event["reason"]) for event in told] == [("sw0", reason)]
    assert discards(pair)[reason] - before[reason] == 1
    # The queue pair works again.
    assert "hca1" in pair.check("smpquery -C hca0 -D nodedesc 0,1,2")
    pair.check(f"rmdir {FAULTS}/sw0/0 {FAULTS}/sw0")


def test_a_two_port_ca_answers_by_the_port_that_was_asked(guest_stock):
    load(guest_stock, "direct")
    for port in (1, 2):
        before = posts_by_port(guest_stock)
        guest_stock.check(f"smpquery -C hca0 -P {port} -D nodeinfo 0,{port}")
        after = posts_by_port(guest_stock)
        used = sorted(name for name, count in after.items() if count != before[name] and ":" in name)
        # The links are crossed: hca0:1 hca1:2, hca0:2 hca1:1.
        assert used == [f"hca0:{port}", f"hca1:{3 - port}"]
    # Past its end, with a Return Path of the sender's making that names the other port.
    smp = out(3, 2, (1, 2))
    events = inject(guest_stock, [("hca0", 1, smp[:192] + bytes((0, 1, 2)) + smp[195:], "")])[tid_of(smp)]
    assert [(e["verdict"], e["reason"]) for e in events if e["event"] == "reply"] == [("discard", "wrong-port")]


def test_c10_each_of_four_ports_answers_what_came_in_by_it(build):
    """One SMP in by each port of an HCA, all at once. The links are crossed: port N of hca0 is at port 5 - N of hca1."""
    ports = (1, 2, 3, 4)
    guest = build("none capture=100", {"hca0": ("ca", 4), "hca1": ("ca", 4)}, [f"hca0:{port}-hca1:{5 - port}" for port in ports])
    smps = {port: make(1, 1, (5 - port,)) for port in ports}
    inject(guest, [("hca0", port, smp, "") for port, smp in smps.items()])
    for port, smp in smps.items():
        (start, end, answer), = wires(guest, smp)
        assert (start, end) == (f"hca0:{port}", f"hca1:{5 - port}")
        # It has D set and is for who has asked, and both the Return Path and NodeInfo.LocalPortNum name the port.
        assert (answer[3], answer[4] >> 7, answer[6], answer[193], answer[64 + 36]) == (0x81, 1, 1, port, port)


def posts_by_port(guest):
    """Packets put on the wire by each port so far."""
    lines = guest.check(f"cat {DEBUG}/ibfabric/posts").split("\n")
    return {name: int(count) for name, count in (line.split() for line in lines if line)}


def test_unloading_with_a_trigger_set(pair):
    trigger = "/sys/kernel/tracing/events/ib_smi/ib_smi_discard/trigger"
    pair.check(f"echo 'hist:key=reason' >{trigger}")
    status, _, err = pair.run("/src/scripts/unload")
    assert status != 0 and "remove the trigger first" in err
    pair.check(f"echo '!hist:key=reason' >{trigger} && /src/scripts/unload")


def test_loading_and_unloading(pair):
    assert pair.run("rmmod ib_smi")[0] != 0, "the kernel keeps a livepatch that is enabled"
    pair.check("/src/scripts/unload")
    assert pair.run("smpquery -C hca0 -t 100 -D nodeinfo 0,1")[0] != 0
    pair.check("/src/scripts/load && smpquery -C hca0 -D nodeinfo 0,1")
    # Under traffic: what is lost in a transition is asked for again.
    pair.check(
        "while [ ! -e /tmp/stop ]; do ibnetdiscover -C hca0 >/dev/null 2>&1; done & \n"
        "for cycle in 1 2 3; do /src/scripts/unload && /src/scripts/load || exit 1; done\n"
        "touch /tmp/stop; wait; rm /tmp/stop; smpquery -C hca0 -D nodeinfo 0,1", timeout=180)


def test_a_chain_of_62_switches(guest_stock):
    load(guest_stock, "chain switches=62")
    nodes = [line.split() for line in guest_stock.check(f"cat {DEBUG}/ibfabric/nodes").splitlines()]
    assert len(nodes) == 64
    text = guest_stock.check("ibnetdiscover -C hca0", timeout=240)
    for _, _, node_guid, *_ in nodes:
        assert node_guid[2:] in text
    far = route(guest_stock, "hca0", "hca1")
    assert len(far) == 63
    before = posts(guest_stock)
    found = guest_stock.check(f"/src/scripts/dr-smp -C hca0 0,{','.join(map(str, far))}")
    assert f"node_guid {guid(guest_stock, 'hca1')}" in found
    assert posts(guest_stock) - before == 126


def test_c11_a_chain_longer_than_a_directed_route(build):
    """65 switches: sw62 is 63 hops away from hca0, which is as far as a directed route goes, and sw63 is out of reach."""
    # The parameters make 62 of them, with hca1 at port 8 of the last.
    guest = build("chain switches=62 preset=0", {f"sw{number}": ("switch", 8) for number in (62, 63, 64)},
                  ("sw61:8-hca1:1", "sw62:5-sw63:4", "sw63:8-sw64:3"))
    guest.check(f"cd {CONFIG}/links && rmdir sw61:8-hca1:1 && mkdir sw61:8-sw62:2 sw64:6-hca1:1")
    near, far = route(guest, "hca0", "sw62"), route(guest, "hca0", "sw63")
    assert (len(near), far[:-1]) == (63, near)
    path, beyond = (f"0,{','.join(map(str, ports))}" for ports in (near, far))
    before = posts(guest)
    assert f"node_guid {guid(guest, 'sw62')}" in guest.check(f"/src/scripts/dr-smp -C hca0 {path}")
    assert posts(guest) - before == 126
    # One hop more is refused by the tool, and by the kernel; before a switch it is dropped.
    status, _, said = guest.run(f"smpquery -C hca0 -D nodedesc {beyond}")
    assert status != 0 and "hop count 64" in said
    status, _, said = guest.run(f"/src/scripts/dr-smp -C hca0 --raw {make(0, 64, near).hex()}")
    assert (status, said) == (3, f"dr-smp: not sent: [Errno {errno.EINVAL}] Invalid argument\n")
    assert posts(guest) - before == 126
    smp = make(63, 64, near)
    story = inject(guest, [("sw62", 2, smp, "")])[tid_of(smp)]
    assert [(event["event"], event["device"], event["reason"]) for event in story] == [
        ("recv", "sw62", "hop-count"), ("discard", "sw62", "hop-count")]
    # What walks along the chain comes to its end, and has found all that is in reach.
    reached = {"hca0", *(f"sw{number}" for number in range(63))}
    names = {words[2]: words[0] for words in map(str.split, guest.check(f"cat {DEBUG}/ibfabric/nodes").splitlines())}
    assert len(names) == 67
    # A kernel that watches itself may take a second for the way there and back.
    text = guest.check(f"ibnetdiscover -C hca0 -t {guest.patience(1000)}", timeout=240)
    assert {name for node, name in names.items() if f"guid={node.replace('0x0', '0x')}" in text} == reached
    log = sweep(guest, "hca0")
    assert "SUBNET UP" in log and "Exiting SM" in log
    lids = opensm.up(guest)[1]
    assert {port.split(":")[0] for port, number in lids.items() if number} == reached


def sweep(guest, device):
    """Lets OpenSM sweep once from a device, and end. Returns what it logs."""
    guest.run(f"rm -f /tmp/osm.log; opensm -o -t {guest.patience(200)} -g {opensm.port_guid(guest, device):#x}"
              " -f /tmp/osm.log")
    return guest.check("cat /tmp/osm.log")


def route(guest, start, end):
    """The egress ports of the shortest way between two nodes."""
    links = {}
    for line in guest.check(f"cat {DEBUG}/ibfabric/links").splitlines():
        (a, a_port), (b, b_port) = (name.split(":") for name in line.split())
        links.setdefault(a, []).append((int(a_port), b))
        links.setdefault(b, []).append((int(b_port), a))
    ways = {start: []}
    queue = [start]
    for node in queue:
        for port, peer in links[node]:
            if peer not in ways:
                ways[peer] = [*ways[node], port]
                queue.append(peer)
    return ways[end]


@pytest.fixture(name="ethernet")
def ethernet_fixture(pair):
    """Beside the fabric, a port of the kernel's own software RDMA over Ethernet, which has QP1 and no SMI."""
    pair.dmesg(clear=True)
    pair.check("modprobe -a dummy rdma_rxe && ip link add eth9 type dummy && ip link set eth9 up\n"
               "rdma link add rxe0 type rxe netdev eth9")
    yield pair
    pair.check("rdma link del rxe0 && ip link del eth9")


# Registers an agent for both classes of SMPs on QP0, and one for performance management on QP1; prints the errors.
REGISTER = """
import os, struct, sys
from fcntl import ioctl
from smp import load_script
tool = load_script("dr-smp")
for qpn, cls in ((0, 0x81), (0, 0x01), (1, 0x04)):
    file = os.open(tool.find_port(sys.argv[1], None), os.O_RDWR)
    try:
        ioctl(file, tool.REGISTER_AGENT, bytearray(struct.pack("=I4I4B4x", 0, 0, 0, 0, 0, qpn, cls, 1, 0)))
        print(0)
    except OSError as error:
        print(error.errno)
"""


def register(guest, device):
    """What becomes of it at a device."""
    out = guest.check(f"cd /src/scripts/tests && python3 -B - {device} <<'END'\n{REGISTER}END")
    return [int(line) for line in out.split()]


@pytest.mark.parametrize("module", ["without", "with"])
def test_c7_a_port_without_smi(ethernet, module):
    """It came when the module was there already, and is there when the module comes."""
    guest = ethernet
    if module == "without":
        guest.check("/src/scripts/unload")
    found = {}
    for line in guest.check("grep -H . /sys/class/infiniband_mad/*/ibdev").splitlines():
        name, device = line.split("/")[4], line.rpartition(":")[2]
        found.setdefault(device, []).append(name.rstrip("0123456789"))
    assert {device: sorted(names) for device, names in found.items()} == {
        "rxe0": ["umad"], **dict.fromkeys(("hca0", "hca1", "sw0"), ["issm", "umad"])}
    # Refused, and QP1 of the same port is there.
    assert register(guest, "rxe0") == [errno.EPROTONOSUPPORT, errno.EPROTONOSUPPORT, 0]
    # The tools say so, and end.
    status, said, _ = guest.run("smpquery -C rxe0 -D nodeinfo 0 2>&1")
    assert status != 0 and "Failed to open 'rxe0'" in said
    assert "SM MAD Controller bind failed" in sweep(guest, "rxe0")
    # Other ports work, as far as the stock SMI goes.
    assert register(guest, "hca0") == [0, 0, 0]
    if module == "without":
        assert "hca0" in guest.check("smpquery -C hca0 -D nodedesc 0")
        guest.check("/src/scripts/load")
    assert "hca1" in guest.check("smpquery -C hca0 -D nodedesc 0,1,2")
    assert "SUBNET UP" in sweep(guest, "hca0")
    # What has no SMI is nothing to complain of.
    assert [line for line in guest.dmesg().splitlines() if "ib_smi: " in line and "rxe0" in line] == []


def test_ib_cm_and_switches_are_kept_apart(guest_stock):
    guest_stock.check("[ ! -d /sys/module/ibfabric ] || rmmod ibfabric")
    guest_stock.check("modprobe ib_cm")
    guest_stock.dmesg(clear=True)
    assert guest_stock.run("insmod $MODULES/ibfabric.ko topology=pair")[0] != 0
    assert "modprobe -r ib_cm" in guest_stock.dmesg()
    guest_stock.check("modprobe -r ib_cm && insmod $MODULES/ibfabric.ko topology=pair")
    assert guest_stock.run("modprobe ib_cm")[0] != 0
    guest_stock.check("rmmod ibfabric && modprobe ib_cm && modprobe -r ib_cm")


@pytest.mark.parametrize("words", ["topology=ring", "topology=chain switches=0", "topology=chain switches=63"])
def test_bad_parameters(guest_stock, words):
    guest_stock.check("[ ! -d /sys/module/ibfabric ] || rmmod ibfabric")
    guest_stock.dmesg(clear=True)
    status, _, _ = guest_stock.run(f"insmod $MODULES/ibfabric.ko {words}")
    assert status != 0
    assert "can be" in guest_stock.dmesg()


@pytest.mark.parametrize("size", [0, 5000])
def test_a_module_that_is_cut_off(guest_stock, size):
    guest_stock.check("[ ! -d /sys/module/ib_smi ] || /src/scripts/unload")
    status, _, err = guest_stock.run(f"head -c {size} $MODULES/ib_smi.ko >/tmp/cut.ko; /src/scripts/load /tmp/cut.ko; "
                                     "status=$?; rm /tmp/cut.ko; exit $status")
    assert status == 1 and "/tmp/cut.ko is no module, or has been cut off" in err
