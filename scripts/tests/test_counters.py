# SPDX-License-Identifier: GPL-2.0
"""What the module counts and keeps of requests, in debugfs: it agrees with the events, and with itself."""

import collections
import re

import pytest

from sma import guid
from smp import follow, inject, make, tid_of
from test_smi import VECTORS

FOLDER = "/sys/kernel/debug/ib_smi"
WITHIN_A_NODE = {"hca0 1", "hca1 1", "sw0 0"}


def load(guest, topology="pair", options=""):
    """Puts a fabric up under the module, loaded anew."""
    guest.check(
        "modprobe ib_umad\n"
        "[ ! -d /sys/module/ib_smi ] || /src/scripts/unload\n"
        "[ ! -d /sys/module/ibfabric ] || rmmod ibfabric\n"
        f"insmod $MODULES/ibfabric.ko topology={topology}\n"
        f"/src/scripts/load {options}")


@pytest.fixture(name="fresh")
def fresh_fixture(guest_stock):
    """Two HCAs and a switch of four ports, with the module loaded anew."""
    load(guest_stock)
    return guest_stock


@pytest.fixture(name="pair")
def pair_fixture(guest_stock):
    """The same, with a ledger that is on and empty; what was counted before is still there."""
    there, _, _ = guest_stock.run(
        f"[ -d {FOLDER}/sw0 ] && [ ! -d {FOLDER}/sw1 ] && grep -q size=256 {FOLDER}/ledger")
    if there != 0:
        load(guest_stock)
    guest_stock.check(f"echo on >{FOLDER}/ledger; echo clear >{FOLDER}/ledger")
    return guest_stock


def counters(guest):
    """All counters: `DEVICE PORT decision POINT RULE VERDICT` or `DEVICE PORT discard REASON` by count."""
    lines = guest.check(f"cat {FOLDER}/counters").splitlines()
    return collections.Counter({line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines})


def told(events):
    """What counters should say of events."""
    found = collections.Counter()
    for event in (event for story in events.values() for event in story):
        place = "- -" if event["device"] == "-" else f"{event['device']} {event['port']}"
        if event["event"] == "discard":
            found[f"{place} discard {event['reason']}"] += 1
        else:
            found[f"{place} decision {event['event']} {event['rule']} {event['verdict']}"] += 1
    return found


def ledger(guest):
    """The first line of the ledger, and its requests, by TID."""
    head, *lines = guest.check(f"cat {FOLDER}/ledger").splitlines()
    words = [dict(word.split("=", 1) for word in line.split()) for line in lines]
    assert len({(entry["device"], entry["port"], entry["tid"]) for entry in words}) == len(words)
    return head, {int(entry["tid"], 16): entry for entry in words}


def send(guest, words):
    """Sends an SMP, whatever becomes of it, and returns its entry in the ledger, by the events' TID."""
    tids = list(follow(guest, f"/src/scripts/dr-smp {words} >/dev/null 2>&1 || true"))
    assert len(tids) == 1, tids
    return ledger(guest)[1][tids[0]]


@pytest.mark.kernel
def test_counters_are_what_events_tell(fresh):
    before = counters(fresh)
    assert not before, "a module that was just loaded has counted"
    rows = [(node, port, smp, "") for _, node, port, smp, *_ in VECTORS]
    events = inject(fresh, rows)
    assert counters(fresh) == told(events)
    # A discovery too: every SMP that comes in stays, goes on or is lost.
    before = counters(fresh)
    events = follow(fresh, "ibnetdiscover -C hca0 >/dev/null")
    grown = counters(fresh) - before
    assert grown == told(events)
    for place in WITHIN_A_NODE:
        on = sum(count for name, count in grown.items() if name.startswith(f"{place} decision forward"))
        came = sum(count for name, count in grown.items()
                   if name.startswith(f"{place} decision recv") and name.endswith((" forward", " route")))
        assert on == came


@pytest.mark.kernel
def test_the_files_of_a_port_are_the_whole(pair):
    inject(pair, [(node, port, smp, "") for _, node, port, smp, *_ in VECTORS])
    pair.check("smpquery -C hca0 -D nodeinfo 0,1,2 >/dev/null")
    for place in WITHIN_A_NODE:
        folder = f"{FOLDER}/{place.replace(' ', '/')}"
        lines = [f"{place} decision {line}" for line in pair.check(f"cat {folder}/decisions").splitlines()]
        lines += [f"{place} discard {line}" for line in pair.check(f"grep -v ' 0$' {folder}/discards").splitlines()]
        whole = pair.check(f"grep '^{place} ' {FOLDER}/counters").splitlines()
        assert lines == whole and lines
    total = collections.Counter()
    for name, count in counters(pair).items():
        if " discard " in name:
            total[name.split()[-1]] += count
    assert total == {name: int(count) for name, count in
                     (line.split() for line in pair.check(f"grep -v ' 0$' {FOLDER}/discards").splitlines())}


def test_only_root_reads_them(pair):
    modes = pair.check(f"find {FOLDER} -type f -printf '%m %U %P\\n'").splitlines()
    assert len(modes) == 3 + 3 * 3
    for line in modes:
        mode, owner, name = line.split()
        assert (mode, owner) == ("600" if name == "ledger" else "400", "0"), line
    assert pair.run(f"setpriv --reuid 65534 --clear-groups cat {FOLDER}/counters")[0] != 0


def test_the_queue_of_a_port(pair):
    for place in WITHIN_A_NODE:
        text = pair.check(f"cat {FOLDER}/{place.replace(' ', '/')}/queue")
        found = {name: int(count) for name, count in (line.split() for line in text.splitlines())}
        # ib_mad's defaults, send_queue_size and recv_queue_size, and the module's slots.
        assert (found["send_limit"], found["receive_limit"]) == (128 - 16, 512)
        assert found["receive_posted"] == 512
        assert [found[name] for name in ("send_posted", "send_waiting", "own_posted", "own_waiting")] == [0] * 4


@pytest.mark.kernel
def test_folders_follow_the_devices(fresh):
    def names():
        return set(fresh.check(f"ls {FOLDER}").split()) - {"counters", "discards", "ledger"}
    assert names() == {"hca0", "hca1", "sw0"}
    fresh.check("smpquery -C hca0 -D nodeinfo 0,1 >/dev/null; rdma dev set sw0 name renamed")
    assert names() == {"hca0", "hca1", "renamed"}
    assert fresh.check(f"cat {FOLDER}/renamed/0/decisions").splitlines() == ["recv C14-9:3 local 1", "reply C14-13:1 forward 1"]
    fresh.check("rdma dev set renamed name sw0; rmmod ibfabric")
    assert names() == set()
    assert not counters(fresh)


def test_answered(pair):
    entry = send(pair, "-C hca0 --tid 0x77 --timeout 5000 --retries 2 --modifier 7 --attribute portinfo 0,1")
    assert int(entry["rtt_us"]) > 0 and int(entry["age_us"]) >= int(entry["rtt_us"])
    expected = {"device": "hca0", "port": "1", "method": "0x01", "attr": "0x0015", "mod": "0x7", "hops": "1",
                "path": "0,1", "drdlid": "0xffff", "timeout_ms": "5000", "retries": "2", "state": "answered",
                # A switch of four ports has no port 7: the attribute modifier is not valid.
                "status": "0x1c", "last": "recv@hca0:1", "verdict": "local", "reason": "-"}
    assert {name: entry[name] for name in expected} == expected
    assert int(entry["tid"], 16) & 0xFFFFFFFF == 0x77


def test_answered_by_the_own_node(pair):
    entry = send(pair, "-C sw0 0")
    assert (entry["device"], entry["port"], entry["state"], entry["status"]) == ("sw0", "0", "answered", "0x0")


@pytest.mark.parametrize("path, state, last, reason", [
    ("0,1,9", "lost", "recv@sw0:0", "no-such-port"),
    ("0,1,3", "lost", "forward@sw0:0", "-"),
    ("0,1,2,1", "lost", "recv@hca1:1", "ca-in-transit"),
    ("0,2", "refused", "send@hca0:1", "no-such-port"),
])
def test_not_answered(pair, path, state, last, reason):
    entry = send(pair, f"-C hca0 --timeout 100 {path}")
    assert (entry["state"], entry["last"], entry["reason"], entry["path"]) == (state, last, reason, path)
    assert "rtt_us" not in entry and "status" not in entry


def test_waiting_then_lost(pair):
    pair.check("/src/scripts/dr-smp -C hca0 --tid 0x78 --timeout 5000 0,1,9 >/dev/null 2>&1 &\n"
               f"for i in $(seq 100); do grep -q tid=.*78 {FOLDER}/ledger && exit 0; sleep 0.2; done; exit 1")
    entry, = (entry for tid, entry in ledger(pair)[1].items() if tid & 0xFFFFFFFF == 0x78)
    # Or it is later than it should be, on a host that has much to do.
    assert entry["state"] == ("waiting" if int(entry["age_us"]) <= 5_000_000 else "lost")
    pair.check("sleep 5")
    entry, = (entry for tid, entry in ledger(pair)[1].items() if tid & 0xFFFFFFFF == 0x78)
    assert entry["state"] == "lost" and int(entry["age_us"]) > 5_000_000


def test_what_ib_mad_waits_for_as_good_as_ever(pair):
    """Numbers that are negative to it."""
    entry = send(pair, "-C hca0 --timeout 4294967295 0,1")
    assert (entry["state"], entry["timeout_ms"]) == ("answered", "4294967295")
    # The first try is lost, and it is sent again after a timeout.
    pair.check("/src/scripts/ibfabric fault hca0:1 drop='nth 1'")
    entry = send(pair, "-C hca0 --timeout 50 --retries 4294967295 0,1")
    pair.check("/src/scripts/ibfabric fault clear")
    assert (entry["state"], entry["retries"]) == ("answered", "4294967295") and int(entry["rtt_us"]) >= 50_000


def test_late(guest_stock):
    # Sixty-two switches take longer than a millisecond.
    load(guest_stock, "chain switches=62")
    path = guest_stock.check(chain_path(62)).strip()
    entry = send(guest_stock, f"-C hca0 --timeout 1 {path}")
    guest_stock.check("sleep 1")
    entry = ledger(guest_stock)[1][int(entry["tid"], 16)]
    assert entry["state"] == "late" and int(entry["rtt_us"]) > 1000


def chain_path(switches):
    """Prints the path through a chain, from its links."""
    return f"""python3 - <<'END'
links = {{}}
for line in open("/sys/kernel/debug/ibfabric/links"):
    a, b = line.split()[:2]
    for one, other in ((a, b), (b, a)):
        links.setdefault(one.split(":")[0], []).append((one.split(":")[1], other.split(":")[0]))
node, seen, path = "hca0", {{"hca0"}}, ["0"]
while node != "hca1":
    port, node = next((port, to) for port, to in links[node] if to not in seen)
    seen.add(node)
    path.append(port)
assert len(path) == {switches} + 2
print(",".join(path))
END"""


def test_combined_routes_that_begin_with_the_path_are_entered(pair):
    entry = send(pair, "-C hca0 --timeout 100 --dr-dlid 9 0,1")
    assert (entry["drdlid"], entry["state"]) == ("0x0009", "lost")


def test_a_ledger_of_four(guest_stock):
    load(guest_stock, options="ledger=4")
    assert ledger(guest_stock)[0] == "on size=4 entered=0 evicted=0 missed=0"
    # All of them wait, each with a TID of its own, for its own agent has asked.
    guest_stock.check("all=; for i in 1 2 3 4 5; do /src/scripts/dr-smp -C hca0 --timeout 60000 0,1,9 >/dev/null 2>&1 & all=\"$all $!\"\n"
                      f"until grep -q entered=$i {FOLDER}/ledger; do sleep 0.2; done; done; kill $all")
    head, entries = ledger(guest_stock)
    assert re.fullmatch(r"on size=4 entered=5 evicted=1 missed=0", head), head
    assert len(entries) == 4 and {entry["seq"] for entry in entries.values()} == {"1", "2", "3", "4"}


@pytest.mark.kernel
def test_switches(pair):
    file = f"{FOLDER}/ledger"
    pair.check(f"echo off >{file}; smpquery -C hca0 -D nodeinfo 0,1 >/dev/null")
    head, entries = ledger(pair)
    assert head.startswith("off size=256 entered=") and not entries
    pair.check(f"echo on >{file}; smpquery -C hca0 -D nodeinfo 0,1 >/dev/null")
    assert len(ledger(pair)[1]) == 1
    pair.check(f"echo clear >{file}")
    assert not ledger(pair)[1]
    for word in ("", "no", "on off", "x" * 100, "\\0377"):
        assert pair.run(f"printf '{word}\\n' >{file}")[0] != 0, word


@pytest.mark.parametrize("size, head", [
    ("0", "off size=0 entered=0 evicted=0 missed=0"), ("65536", "on size=65536 entered=0 evicted=0 missed=0")])
def test_sizes(guest_stock, size, head):
    load(guest_stock, options=f"ledger={size}")
    assert ledger(guest_stock)[0] == head
    assert guest_stock.run(f"echo on >{FOLDER}/ledger")[0] == (1 if size == "0" else 0)
    guest_stock.check("smpquery -C hca0 -D nodeinfo 0,1 >/dev/null")


@pytest.mark.kernel
def test_a_size_out_of_range(guest_stock):
    guest_stock.check("[ ! -d /sys/module/ib_smi ] || /src/scripts/unload")
    guest_stock.dmesg(clear=True)
    assert guest_stock.run("insmod $MODULES/ib_smi.ko ledger=65537")[0] != 0
    assert "ledger=65537 is out of range: it can be 0 to 65536" in guest_stock.dmesg()
    assert guest_stock.run("[ -d /sys/module/ib_smi ] || [ -d /sys/kernel/debug/ib_smi ]")[0] != 0


def test_reading_holds_up_nobody(pair):
    # Readers go round while a discovery runs, and no note is lost.
    pair.check(f"touch /tmp/go; for i in 1 2; do while [ -e /tmp/go ]; do cat {FOLDER}/ledger {FOLDER}/counters >/dev/null; done & done\n"
               "for i in 1 2 3; do ibnetdiscover -C hca0 >/dev/null || break; done; rm /tmp/go; wait; [ $i = 3 ]")
    head, entries = ledger(pair)
    assert head.endswith("missed=0")
    assert {entry["state"] for entry in entries.values()} == {"answered"}


def test_nobody_listens(pair):
    trap = make(2, 2, (1, 2), (1, 2), method=0x05, attr=0x02)
    rows = [("hca0", 1, trap, ""), ("sw0", 1, make(1, 1, (1,), (1,), method=0x05, attr=0x02), "")]
    before = counters(pair)
    events = inject(pair, rows)
    for device, port, smp, _ in rows:
        names = [(event["event"], event["verdict"], event["reason"]) for event in events[tid_of(smp)]]
        assert names == [("recv", "local", "-"), ("discard", "discard", "no-listener")], device
    grown = counters(pair) - before
    assert (grown["hca0 1 discard no-listener"], grown["sw0 0 discard no-listener"]) == (1, 1)
    # To itself, where there is no subnet manager to ask.
    events = follow(pair, "/src/scripts/dr-smp -C hca0 --timeout 100 --attribute sminfo 0 >/dev/null 2>&1 || true")
    (names,) = [[(event["event"], event["reason"]) for event in story] for story in events.values()]
    assert names == [("send", "-"), ("discard", "no-listener")]


def test_somebody_listens(pair):
    pair.check("echo force_log_flush TRUE >/tmp/osm.conf\n"
               f"opensm -B -F /tmp/osm.conf -g {guid(pair, 'hca0') + 1:#x} -f /tmp/osm.log >/dev/null;"
               " for i in $(seq 120); do grep -q 'SUBNET UP' /tmp/osm.log && exit 0; sleep 0.5; done; cat /tmp/osm.log; exit 1", timeout=120)
    try:
        trap = make(2, 2, (1, 2), (1, 2), method=0x05, attr=0x02)
        events = inject(pair, [("hca0", 1, trap, "")])
        first, *others = [(event["event"], event["verdict"]) for event in events[tid_of(trap)]]
        # What follows is its TrapRepress.
        assert first == ("recv", "local") and "discard" not in {event for event, _ in others}
        pair.check("/src/scripts/dr-smp -C hca0 --attribute sminfo 0 >/dev/null")
    finally:
        pair.check("pkill -x opensm; while pgrep -x opensm >/dev/null; do sleep 0.2; done")


@pytest.mark.parametrize("module, file, undo", [
    ("ib_smi", "ib_smi/counters", "/src/scripts/load"), ("ib_smi", "ib_smi/hca0/1/queue", "/src/scripts/load"),
    ("ibfabric", "ibfabric/inject", "insmod $MODULES/ibfabric.ko topology=pair")])
def test_an_open_file_keeps_its_module(pair, module, file, undo):
    """To close it calls what would no longer be there."""
    take = "/src/scripts/unload" if module == "ib_smi" else "rmmod ibfabric"
    status, _, err = pair.run(f"exec 9>>/sys/kernel/debug/{file}; {take}", timeout=90)
    assert status and "is in use" in err, err
    pair.check(f"{take}; {undo}")
