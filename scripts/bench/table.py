# SPDX-License-Identifier: GPL-2.0
"""Makes figures of what was measured: `python3 table.py OUT RUN...`

Each RUN is a folder that scripts/bench/smi and scripts/bench/core have filled. A figure is the median of the runs,
with the least and the greatest behind it where they differ. Writes the tables of Documentation/benchmarks.rst
into the folder OUT, and prints them.
"""

import csv
import statistics
import sys
from functools import cache
from pathlib import Path

sys.dont_write_bytecode = True
import notes  # noqa: E402  # pylint: disable=wrong-import-position

CALLS = 100
MET, MISSED = "met", "missed"


class Figure:
    """A number that was measured in every run."""

    def __init__(self, values):
        self.values = list(values)

    def __add__(self, other):
        return Figure(a + b for a, b in zip(self.values, other.values))

    def __sub__(self, other):
        return Figure(a - b for a, b in zip(self.values, other.values))

    def __truediv__(self, other):
        return Figure(a / b for a, b in zip(self.values, other.values))

    def times(self, factor):
        """So many times as much."""
        return Figure(value * factor for value in self.values)

    @property
    def middle(self):
        """The figure."""
        return statistics.median(self.values)

    def text(self, digits=0):
        """The figure with its spread."""
        shown = [f"{value:,.{digits}f}" for value in (self.middle, min(self.values), max(self.values))]
        return shown[0] if shown[1] == shown[2] else f"{shown[0]} ({shown[1]} to {shown[2]})"

    def goal(self, most):
        """Whether it is as small as wanted."""
        return f"≤ {most:.2f}, {MET if self.middle <= most else MISSED}"


class Runs:
    """What was measured, by the name of the file."""

    def __init__(self, folders):
        self.folders = folders

    def numbers(self, file, name):
        """A number that was written down."""
        return Figure(dict(line.split() for line in (folder / file).read_text().splitlines())[name]
                      for folder in self.folders).converted()

    @cache
    def medians(self, name):
        """The medians of the pieces, in each run."""
        return [notes.medians(notes.read(folder / name)) for folder in self.folders]

    def part(self, name, kind, part, device=None):
        """A part of a kind of piece: at the only device that has such, at that with number `device` among them, or
        where a request is sent (`asker`) or answered (`target`)."""
        return Figure(self.pick(found, kind, device)[part] for found in self.medians(name))

    @staticmethod
    def pick(found, kind, device):
        """The medians of one kind of piece at one device."""
        places = {"asker": "request", "target": "answer", "switch": "hop"}
        if isinstance(device, str):
            device = next(at for what, at in found if what == places[device])
            return found[kind, device]
        return found[kind, sorted(at for what, at in found if what == kind)[device or 0]]

    def rounds(self, name):
        """How long a request takes until its answer, and how many there are in a second, of a thousand million
        instructions."""
        return [notes.rounds(notes.read(folder / name)) for folder in self.folders]


def converted(self):
    """The same as numbers."""
    return Figure(float(value) for value in self.values)


Figure.converted = converted


def core_table(runs):
    """The decision core on the host."""
    yield "", "mainline, C", "the rules, Rust", "ratio", "goal"
    for way, what in (("out", "on the way out"), ("back", "on the way back")):
        total = {}
        for step, asked in (("receive", "may it come in"), ("step", "what comes next"), ("port", "by which port"),
                            ("send", "may it go out")):
            mainline, rules = (runs.numbers("core", f"{who}-{way}-{step}") for who in ("mainline", "rules"))
            total = {"mainline": total["mainline"] + mainline, "rules": total["rules"] + rules} if total else {
                "mainline": mainline, "rules": rules}
            yield f"{what}: {asked}", mainline.text(), rules.text(), "", ""
        goal = f"≤ 72, {MET if total['rules'].middle <= 72 else MISSED}"
        ratio = total["rules"] / total["mainline"]
        yield f"{what}: all four", total["mainline"].text(), total["rules"].text(), ratio.text(2), goal


def compare(what, mainline, ours, goal=None):
    """A row of mainline's and ours."""
    ratio = ours / mainline
    return what, mainline.text(), ours.text(), ratio.text(2), "" if goal is None else ratio.goal(goal)


def redirection(runs):
    """Instructions of a call through a livepatch."""
    return runs.numbers("numbers", "redirections").times(1 / CALLS)


def from_receive(name, theirs, ours, goal):
    """The parts of what begins with a receive completion: up to the post, its completion, what follows the post."""
    yield compare(f"{name}: receive completion to post", theirs[0], ours[0])
    yield compare(f"{name}: send completion", theirs[1], ours[1])
    yield compare(f"{name}: both", theirs[0] + theirs[1], ours[0] + ours[1], goal)
    yield compare(f"{name}: both and what follows the post", theirs[0] + theirs[1] + theirs[2], ours[0] + ours[1] + ours[2])


def hop_table(runs):
    """A hop, an answer and a request in the guest."""
    yield "", "mainline", "ib_smi", "ratio", "goal"
    mend = redirection(runs)
    mainline = [runs.part("hop-mended", "hop", 0) - mend, runs.part("hop-mended", "sent", 0, "switch"),
                runs.part("hop-mended", "hop", 1)]
    for name, with_ledger in (("hop-ours", "switch hop"), ("hop-unnoted", "switch hop, ledger off")):
        ours = [runs.part(name, "hop", 0), runs.part(name, "sent", 0, "switch"), runs.part(name, "hop", 1)]
        yield from from_receive(with_ledger, mainline, ours, 0.4)
    for name, with_ledger in (("ca-ours", "CA's answer"), ("ca-unnoted", "CA's answer, ledger off")):
        stock, ours = ([runs.part(of, "answer", 0), runs.part(of, "sent", 0, "target"), runs.part(of, "answer", 1)]
                       for of in ("ca-stock", name))
        yield from from_receive(with_ledger, stock, ours, 1)
    # Between two HCAs, the send and the answer would be completed together; the mend is for switches and answers.
    for name, with_ledger in (("hop-ours", "CA's request"), ("hop-unnoted", "CA's request, ledger off")):
        stock, ours = ([runs.part(of, "request", 0) + runs.part(of, "request", 1), runs.part(of, "sent", 0, "asker"),
                        runs.part(of, "answered", 0) + runs.part(of, "answered", 1)] for of in ("hop-mended", name))
        yield compare(f"{with_ledger}: call that posts it", stock[0], ours[0])
        yield compare(f"{with_ledger}: send completion", stock[1], ours[1])
        yield compare(f"{with_ledger}: receive completion of the answer", stock[2], ours[2])
        yield compare(f"{with_ledger}: all", stock[0] + stock[1] + stock[2], ours[0] + ours[1] + ours[2], 1)
    yield "a call through a livepatch, above a direct one", "", mend.text(1), "", ""


EVENTS = (
    ("ib_smi_recv", "hop", "switch", "ib_mad_handle_ib_smi"),
    ("ib_smi_forward", "hop", "switch", "ib_mad_handle_ib_smi"),
    ("ib_smi_reply", "answer", "target", "ib_mad_handle_ib_smi"),
    ("ib_smi_send", "request", "asker", "ib_mad_ib_send_mad"),
)

THEIRS = (
    ("ib_mad_handle_ib_smi", "hop", "switch"), ("ib_mad_recv_done_handler", "hop", "switch"),
    ("ib_mad_ib_send_mad", "request", "asker"), ("ib_mad_send_done_handler", "sent", "asker"),
)


def event_cost(runs, event, kind, place):
    """What an event takes that is on."""
    on, off = (runs.part(name, kind, 0, place) + runs.part(name, kind, 1, place) for name in (f"event-{event}", "hop-ours"))
    return on - off


def event_table(runs):
    """Events that are on."""
    yield "event", "instructions", "compared with", "its instructions", "ratio", "goal"
    theirs = {event: event_cost(runs, event, kind, place) for event, kind, place in THEIRS}
    for event, kind, place, other in EVENTS:
        ours = event_cost(runs, event, kind, place)
        ratio = ours / theirs[other]
        yield event, ours.text(), other, theirs[other].text(), ratio.text(2), ratio.goal(0.5)
    for event in ("ib_mad_recv_done_handler", "ib_mad_send_done_handler"):
        yield event, theirs[event].text(), "", "", "", ""


def chain_table(runs):
    """Chains of switches."""
    yield ("switches", "devices", "request to answer", "SMPs a second", "with 16 under way", "hop at the first switch",
           "at the last")
    for switches in (1, 8, 62):
        alone, window = runs.rounds(f"one-{switches}"), runs.rounds(f"window-{switches}")
        latency = Figure(one[0] for one in alone)
        name = f"one-{switches}"
        yield (str(switches), str(switches + 2), latency.text(), (Figure([1e9] * len(alone)) / latency).text(),
               Figure(many[1] for many in window).text(), runs.part(name, "hop", 0, 0).text(), runs.part(name, "hop", 0, -1).text())


def load_table(runs):
    """Loading, and memory."""
    yield "", "figure"
    for name, what in (("insmod", "insmod returns"), ("settled", "the livepatch is complete"),
                       ("first", "the first SMP through a switch is answered")):
        yield f"{what}, after", f"{runs.numbers('numbers', name).times(1e-6).text()} ms"
    yield "the module itself", f"{runs.numbers('numbers', 'size').times(1 / 1024).text()} kB"
    yield "allocated once, the ledger for 256 requests among it", f"{runs.numbers('numbers', 'fixed-ib_smi').times(1 / 1024).text(1)} kB"
    each = runs.numbers("numbers", "port-ib_smi"), runs.numbers("numbers", "port-ib_core")
    yield "allocated for each port", f"{each[0].times(1 / 1024).text(1)} kB"
    yield "by ib_core, for the agents of each port", f"{each[1].times(1 / 1024).text(1)} kB"


TABLES = {"core": core_table, "hop": hop_table, "events": event_table, "chains": chain_table, "load": load_table}


def show(rows):
    """Prints a table."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("    " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def main():
    """Makes all tables."""
    out, runs = Path(sys.argv[1]), Runs([Path(name) for name in sys.argv[2:]])
    out.mkdir(exist_ok=True)
    for name, make in TABLES.items():
        rows = list(make(runs))
        print(f"{name}:")
        show(rows)
        with (out / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    main()
