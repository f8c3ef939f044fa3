# SPDX-License-Identifier: GPL-2.0
"""Hostile SMPs from umad and from the wire, with all on that tells of SMPs: no report of the kernel's, nothing stuck, and
books that agree.

`smi-fuzz` makes and throws them. IB_SMI_FUZZ_COUNT and IB_SMI_FUZZ_SEED are how many and which; `make fuzz` sets them.
"""

import collections
import os
import re
import sys
import time
import types

import pytest

import books
from smp import inject, short, tid_of
from test_smi import judged

COUNT = int(os.environ.get("IB_SMI_FUZZ_COUNT") or (1_000_000 if os.environ.get("IB_SMI_KERNEL") == "debug" else 20_000))
SEED = int(os.environ.get("IB_SMI_FUZZ_SEED") or 1)
FUZZ = "/src/build/smi-fuzz"
PROCESSORS = 2
CONFIG = "/sys/kernel/config/ibfabric"

# A fabric lives for so many SMPs, for those that set something wear it out.
CHAPTER = 50_000
# Under emulation, on a busy host, with a debug kernel.
SLOWEST = 20

# Nodes without links: what comes in is judged once, and that is known beforehand.
APART = "topology=none"
NODES = (("sw0", "switch", 4), ("sw1", "switch", 254), ("hca0", "ca", 1), ("hca1", "ca", 2))

Chapter = collections.namedtuple("Chapter", "side fabric words")
CHAPTERS = [
    Chapter("wire", APART, "--gentle"),
    Chapter("wire", "topology=pair", ""),
    Chapter("umad", "topology=pair", ""),
    Chapter("wire", "topology=chain switches=3 opa=1", "--opa"),
    Chapter("umad", "topology=chain switches=3 opa=1", "--opa"),
    Chapter("wire", f"{APART} opa=1", "--gentle --opa"),
    Chapter("wire", "topology=fattree", ""),
    Chapter("umad", "topology=direct", ""),
]


def chapters():
    """(chapter, number of the first SMP, how many) until all are thrown."""
    size = min(CHAPTER, -(-COUNT // len(CHAPTERS)))
    for number, first in enumerate(range(0, COUNT, size)):
        yield CHAPTERS[number % len(CHAPTERS)], first, min(size, COUNT - first)


def remove(guest):
    """Removes the fabric, if there is one."""
    guest.check(f"[ -d /sys/module/ibfabric ] || exit 0; rmdir {CONFIG}/nodes/* 2>/dev/null; rmmod ibfabric")


def begin_anew(guest):
    """Unloads all, ib_core too, and loads it again with all on that tells of SMPs.

    A switch that went may have left an agent of ib_core's behind, and an SMP of the next chapter may name it: M14. Of a
    kernel with kmemleak, which would report it, ib_core stays, and so does the risk.
    """
    if guest.run("[ -d /sys/module/ib_smi ]")[0] == 0:
        if guest.watches_itself:
            return
        books.unwatch(guest)
        # Under all that came in nothing was left behind which would keep the modules.
        guest.check("/src/scripts/unload && modprobe -r ib_umad && [ ! -d /sys/module/ib_core ]")
    guest.check("modprobe ib_umad && modprobe configfs; /src/scripts/load ledger=4096")
    books.watch(guest)


def fabric(guest, words):
    """A new fabric."""
    remove(guest)
    begin_anew(guest)
    guest.check(f"insmod $MODULES/ibfabric.ko {words}")
    if words.startswith(APART):
        guest.check(f"set -e; cd {CONFIG}/nodes\n" + "\n".join(
            f"mkdir {name}; echo {kind} >{name}/type; echo {ports} >{name}/ports; echo {int('opa=1' in words)} >{name}/opa;"
            f" echo 1 >{name}/live" for name, kind, ports in NODES))


def throw(guest, chapter, first, count):
    """Throws a chapter. Returns what smi-fuzz says, by name, and what it expects of counters."""
    begun = time.monotonic()
    out = guest.check(f"{FUZZ} {chapter.side} --seed {SEED} --first {first} --count {count} {chapter.words}",
                      timeout=120 + count / SLOWEST)
    said, expected = {}, collections.Counter()
    for line in out.splitlines():
        name, _, number = line.rpartition(" ")
        if name.startswith("expect "):
            expected[tuple(name.split()[1:])] = int(number)
        else:
            said[name] = int(number)
    print(f"{time.strftime('%H:%M:%S')} {chapter.side} {chapter.fabric}: {count} from {first} of seed {SEED} in "
          f"{time.monotonic() - begun:.0f} s: {said}", file=sys.stderr, flush=True)
    return said, expected


# Reasons for which nothing but what has just come in is discarded here.
ARRIVALS = ("ca-in-transit", "not-from-wire", "no-listener")


def arrivals(counters):
    """Those of counters that count what comes in."""
    return collections.Counter({name: count for name, count in counters.items() if name[2:4] == ("decision", "recv")
                                or name[2] == "discard" and name[3] in ARRIVALS})


def traps(guest):
    """How many traps were sent so far."""
    return sum(map(int, re.findall(r" traps=(\d+)", guest.check(f"cat {books.FABRIC}/counters"))))


def settled(guest, before, injected):
    """The books, and what in them does not agree.

    Traps go on being sent, up to five at intervals that the SMPs have set. What was read while one was is no proof,
    so that it is read again, until it agrees, or does not though no trap was sent meanwhile.
    """
    quiet = 0
    for _ in range(100):
        sent = traps(guest)
        found = books.Books(guest)
        found.counters -= before
        wrong = books.compare(found, injected)
        if not wrong:
            break
        quiet += traps(guest) == sent
        if quiet == 5:
            break
    return found, wrong


@pytest.fixture(name="watched", scope="module")
def watched_fixture(guest_stock):
    """The module with all on that tells of SMPs, until the tests are over."""
    yield guest_stock
    books.unwatch(guest_stock)
    remove(guest_stock)
    guest_stock.check("/src/scripts/unload")


def attempt(guest, chapter, first, count):
    """Throws a chapter at a new fabric. Returns the books, what in them does not agree, and what `throw` returned."""
    fabric(guest, chapter.fabric)
    books.clear(guest)
    before = nobodys(guest)
    guest.check(f"echo clear >{books.SMI}/ledger")
    said, expected = throw(guest, chapter, first, count)
    return *settled(guest, before, said.get("injected", 0)), said, expected


def thrown(*chapter):
    """The same, thrown again, twice at most, where the kernel's histograms have lost count: then nothing is proven."""
    for _ in range(2):
        try:
            return attempt(*chapter)
        except books.LostCount as lost:
            print(f"the kernel has not counted all events:\n{lost}", file=sys.stderr, flush=True)
    return attempt(*chapter)


def test_hostile_smps(watched, parts):
    for chapter, first, count in chapters():
        found, wrong, said, expected = thrown(watched, chapter, first, count)
        if "gentle" in chapter.words:
            different = books.differences(arrivals(found.counters), arrivals(expected))
            wrong += [f"by the oracle: {name}: {counts}" for name, counts in different.items()]
        if said.get("overdue"):
            wrong.append(f"no answer and no timeout: {said['overdue']}")
        name = f"{chapter.side} {chapter.fabric}, {count} from {first} of seed {SEED}"
        parts.add("failed" if wrong else "passed", "\n  ".join([name, *wrong]))
        if wrong:
            # At once: what a kernel is asked before it goes takes minutes.
            print("\n  ".join([name, *wrong]), file=sys.stderr, flush=True)
            break
    parts.verify()


def test_each_decision(watched):
    """As dr-judge decides, by verdict, port or LID, Hop Pointer, rule and reason."""
    fabric(watched, APART)
    lines = [line.split() for line in watched.check(f"{FUZZ} wire --seed {SEED} --count 400 --gentle --print").splitlines()]
    kinds = {name: f"{'sw' if kind == 'switch' else 'ca'}={ports}" for name, kind, ports in NODES}
    smps = [(device, port, bytes.fromhex(text)) for device, port, text in lines]
    # What ib_mad asks about, and by a TID of its own.
    times = collections.Counter(tid_of(smp) for *_, smp in smps)
    smps = [row for row in smps if row[2][:2] == b"\x01\x81" and times[tid_of(row[2])] == 1]
    assert len(smps) > 250
    events = inject(watched, [(*row, "") for row in smps])
    decisions = judged(f"{kinds[device]} in={port} {smp.hex()}" for device, port, smp in smps)
    for (device, port, smp), decision in zip(smps, decisions):
        event = events[tid_of(smp)][0]
        assert (event["device"], event["ingress"]) == (device, port)
        assert (*short(event), event["rule"], event["reason"]) == decision, smp.hex()


def test_books_that_do_not_agree(watched):
    """What one party says otherwise is found out."""
    found, _, said, _ = thrown(watched, Chapter("wire", "topology=pair", ""), 0, 500)
    injected = said["injected"]
    assert not books.compare(found, injected)
    assert books.compare(found, injected + 1)
    recv = next(name for name in found.counters if name[2:4] == ("decision", "recv"))
    lost = next(name for name in found.counters if name[2] == "discard")
    entry = "device=hca0 state=waiting timeout_ms=20 retries=1"
    for what, name, more in ((found.counters, recv, 1), (found.counters, lost, 1), (found.received, "sw0", 1), (found.sent, "sw0", 1),
                             (found.ports["sw0:0"], "xmit", 1), (found.ports["sw0:1"], "xmit", 1), (found.ports["hca0:1"], "rcv", -1),
                             (found.ports["hca0:1"], "vl15_dropped", 1)):
        what[name] = what.get(name, 0) + more
        assert books.compare(found, injected), (name, more)
        what[name] -= more
    assert not books.compare(found, injected)
    found.ledger.append(entry)
    assert books.compare(found, injected)


def test_histograms_that_lost_count(monkeypatch):
    """Thrown again, twice at most: what they say is never taken for the truth."""
    lines = ["# trigger info: hist:keys=device,port:vals=hitcount:sort=hitcount:size=4096 [active]",
             "{ device: sw0                    , port:          0 } hitcount:        504", "Totals:", "    Dropped: "]
    text = "\n".join(lines)
    assert books.histograms(text + "0") == {"device,port": {("sw0", "0"): 504}}
    with pytest.raises(books.LostCount):
        books.histograms(text + "1")
    fabrics = []
    this = sys.modules[__name__]
    monkeypatch.setattr(this, "fabric", lambda _guest, words: fabrics.append(words))
    monkeypatch.setattr(this, "throw", lambda *_: ({"injected": 50}, "expected"))
    monkeypatch.setattr(this, "nobodys", lambda _: {})
    monkeypatch.setattr(this, "settled", lambda _guest, _before, injected: (books.histograms(next(hists)), [injected]))
    monkeypatch.setattr(books, "clear", lambda _: None)
    guest = types.SimpleNamespace(check=lambda _: "")
    hists = iter([text + "1", text + "1", text + "0"])
    assert thrown(guest, CHAPTERS[1], 0, 50) == (books.histograms(text + "0"), [50], {"injected": 50}, "expected")
    assert fabrics == ["topology=pair"] * 3
    hists = iter([text + "1"] * 3)
    with pytest.raises(books.LostCount):
        thrown(guest, CHAPTERS[1], 0, 50)
    assert fabrics == ["topology=pair"] * 6


def nobodys(guest):
    """What was counted of no port before."""
    lines = guest.check(f"grep '^- ' {books.SMI}/counters || true").splitlines()
    return collections.Counter({tuple(line.split()[:-1]): int(line.split()[-1]) for line in lines})
