# SPDX-License-Identifier: GPL-2.0
"""What several parties say of the same SMPs: the module's counters and its trace events, ib_mad's own trace events, and
the counters of the virtual fabric.

Events are counted by histograms within the kernel, since nobody could read so many.
"""

import collections
import re
from pathlib import Path

EVENTS = "/sys/kernel/tracing/events"
SMI = "/sys/kernel/debug/ib_smi"
FABRIC = "/sys/kernel/debug/ibfabric"
HEADER = Path(__file__).parents[2] / "include/trace/events/ib_smi.h"
POINTS = ("recv", "forward", "reply", "send")
DIRECTED_ROUTE = 0x81

# Event, keys (three at most), condition.
HISTOGRAMS = [
    *((f"ib_smi/ib_smi_{point}", keys, "") for point in POINTS for keys in ("device,rule,verdict", "device,port")),
    ("ib_smi/ib_smi_discard", "device,point,reason", ""),
    ("ib_smi/ib_smi_discard", "device,port", ""),
    ("ib_mad/ib_mad_recv_done_handler", "dev_index,mgmt_class", " if qp_num==0"),
    ("ib_mad/ib_mad_send_done_handler", "dev_index,wc_status", ""),
]
ENTRY = re.compile(r"^\{ (.*) \} hitcount: +(\d+)$")


class LostCount(Exception):
    """The kernel has not counted all events.

    Its histograms give up an event when the entry that it would be the second of is still being made by another
    processor after as many looks as there are entries (__tracing_map_insert), which a virtual processor that has to wait
    lets happen, or when they are full.
    """


def triggers(guest, form):
    """Writes to the trigger of every histogram."""
    lines = [f"echo '{form.format(keys=keys, condition=condition)}' >>{EVENTS}/{event}/trigger"
             for event, keys, condition in HISTOGRAMS]
    guest.check("\n".join(["set -e", *lines]))


def watch(guest):
    """Turns on all that tells of SMPs."""
    triggers(guest, "hist:keys={keys}:size=4096{condition}")
    guest.check(f"echo 1 >{EVENTS}/ib_smi/enable; echo 'module ib_smi +p' >/proc/dynamic_debug/control")


def unwatch(guest):
    """Turns it off. A module whose events have a trigger cannot be unloaded."""
    triggers(guest, "!hist:keys={keys}:size=4096{condition}")
    guest.check(f"echo 0 >{EVENTS}/ib_smi/enable; echo 'module ib_smi -p' >/proc/dynamic_debug/control")


def clear(guest):
    """Lets the histograms begin anew."""
    triggers(guest, "hist:keys={keys}:size=4096:clear{condition}")


def names(field):
    """The names of a field's numbers."""
    text = HEADER.read_text(encoding="utf-8")
    body = re.search(rf"define show_ib_smi_{field}\(number\)(.*?)\n\n", text, re.DOTALL)[1]
    return {int(number): name for number, name in re.findall(r'\{ (\d+), "([^"]+)" \}', body)}


def histograms(text):
    """The histograms of a file `hist`: for each its keys' names, and a counter of their values.

    Raises LostCount.
    """
    found = {}
    for line in text.splitlines():
        if line.startswith("# trigger info: hist:keys="):
            keys = line.split("keys=")[1].split(":")[0]
            found[keys] = collections.Counter()
        elif match := ENTRY.match(line):
            values = [part.split(":", 1)[1].strip() for part in match[1].split(", ")]
            found[keys][tuple(values)] = int(match[2])
        elif line.strip().startswith("Dropped:") and line.split()[1] != "0":
            raise LostCount(text)
    return found


def pairs(line):
    """`NAME:PORT key=N …`."""
    place, *words = line.split()
    return place, {name: int(value) for name, value in (word.split("=") for word in words)}


class Books:
    """What all say of the fabric that there is now."""

    def __init__(self, guest):
        events = sorted({event for event, *_ in HISTOGRAMS})
        files = [f"{SMI}/counters", f"{SMI}/ledger", f"{FABRIC}/counters", *(f"{EVENTS}/{event}/hist" for event in events)]
        out = guest.check("rdma dev\n" + "\n".join(f"echo '== {file}'; cat {file}" for file in files))
        devices, *parts = out.split("== ")
        texts = dict(part.split("\n", 1) for part in parts)
        # `0: hca0: node_type ca …`
        index = {line.split(":")[0]: line.split(":")[1].strip() for line in devices.splitlines()}
        self.hists = {event: histograms(texts[f"{EVENTS}/{event}/hist"]) for event in events}
        self.counters = collections.Counter()
        for line in texts[f"{SMI}/counters"].splitlines():
            name, _, count = line.rpartition(" ")
            self.counters[tuple(name.split())] = int(count)
        self.ports = dict(map(pairs, texts[f"{FABRIC}/counters"].splitlines()))
        self.ledger = texts[f"{SMI}/ledger"].splitlines()
        self.received = {index[number]: count for (number, cls), count in
                         self.hists["ib_mad/ib_mad_recv_done_handler"]["dev_index,mgmt_class"].items()
                         if int(cls) == DIRECTED_ROUTE}
        self.sent = {index[number]: count for (number, status), count in
                     self.hists["ib_mad/ib_mad_send_done_handler"]["dev_index,wc_status"].items() if status == "0"}

    def decisions(self):
        """(device, point, rule, verdict) by count, of the counters and of the events."""
        counted, told = collections.Counter(), collections.Counter()
        for (device, _, kind, *rest), count in self.counters.items():
            if kind == "decision":
                counted[(device, *rest)] += count
        rules, verdicts = names("rule"), names("verdict")
        for point in POINTS:
            for (device, rule, verdict), count in self.hists[f"ib_smi/ib_smi_{point}"]["device,rule,verdict"].items():
                told[(device, point, rules[int(rule)], verdicts[int(verdict)])] += count
        return counted, told

    def discards(self):
        """(device, reason) by count, of the counters and of the events."""
        counted, told = collections.Counter(), collections.Counter()
        for (device, _, kind, *rest), count in self.counters.items():
            if kind == "discard":
                counted[(device, *rest)] += count
        for (device, _, reason), count in self.discards_at().items():
            told[(device, reason)] += count
        return counted, told

    def discards_at(self):
        """(device, point, reason) by count, of the events."""
        points, reasons = names("point"), names("reason")
        return collections.Counter({
            (device, points[int(point)], reasons[int(reason)]): count for (device, point, reason), count in
            self.hists["ib_smi/ib_smi_discard"]["device,point,reason"].items()})

    def by_port(self):
        """(device, port) by count of all decisions, and of all discards, of the counters and of the events."""
        counted, told = collections.Counter(), collections.Counter()
        for (device, port, kind, *_), count in self.counters.items():
            counted[(device, port.replace("-", "0"), kind)] += count
        for event, hists in self.hists.items():
            if event.startswith("ib_smi/"):
                kind = "discard" if event.endswith("discard") else "decision"
                for (device, port), count in hists["device,port"].items():
                    told[(device, port, kind)] += count
        return counted, told


def waiting(books):
    """Entries of the ledger that still wait, though they would not by their timeouts."""
    found = []
    for line in books.ledger[1:]:
        entry = dict(word.split("=", 1) for word in line.split())
        if entry["state"] == "waiting" and int(entry["timeout_ms"]) * (1 + int(entry["retries"])) < 60_000:
            found.append(line)
    return found


def differences(one, other):
    """What two counters do not agree about."""
    return {name: (one[name], other[name]) for name in {*one, *other} if one[name] != other[name]}


def total(counter, device, *rest):
    """The sum of what begins with these words; None stands for any."""
    words = (device, *rest)
    return sum(count for name, count in counter.items()
               if all(word in (None, part) for word, part in zip(words, name)))


def compare(books, injected):
    """All that has to agree; `injected` datagrams were put before ports. Returns what does not, in words."""
    wrong = []

    def same(what, one, other):
        if one != other:
            wrong.append(f"{what}: {one}, {other}")

    for what, (counted, told) in (("decisions", books.decisions()), ("discards", books.discards()),
                                  ("by port", books.by_port())):
        same(f"{what}, counters and events", {}, differences(counted, told))
    counted, _ = books.decisions()
    lost = books.discards_at()
    same("decisions at no known port", 0, total(counted, "-"))
    for device in sorted({name.split(":")[0] for name in books.ports}):
        came = total(counted, device, "recv")
        same(f"{device}: SMPs that ib_mad has got, and decisions about them", books.received.get(device, 0), came)
        on = sum(total(counted, device, "recv", None, verdict) for verdict in ("forward", "route"))
        same(f"{device}: SMPs to be passed on, and decisions about passing on", on, total(counted, device, "forward"))
        # In is out, local, or dropped.
        gone = total(lost, device, "recv") - lost[(device, "recv", "no-listener")]
        local = total(counted, device, "recv", None, "local")
        same(f"{device}: in, and local + dropped + out", came, local + gone + on)
        if (zero := books.ports.get(f"{device}:0")) is not None:
            posted = sum(total(counted, device, point, None, verdict)
                         for point in ("forward", "reply") for verdict in ("forward", "route"))
            failed = sum(lost[(device, point, "send-failed")] for point in ("forward", "reply"))
            # Traps are the fabric's own.
            posted += books.sent.get(device, 0) - failed + zero["traps"]
            same(f"{device}: SMPs that were sent, and that left port 0", posted, zero["xmit"])
    outer = [port for name, port in books.ports.items() if not name.endswith(":0")]
    same("packets put on wires and injected, and packets that came in",
         sum(port["xmit"] for port in outer) + injected, sum(port["rcv"] for port in outer))
    same("SMPs that found no receive buffer", 0, sum(port["vl15_dropped"] for port in books.ports.values()))
    same("waiting in the ledger", [], waiting(books))
    return wrong
