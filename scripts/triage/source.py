# SPDX-License-Identifier: GPL-2.0
"""Where a trace comes from: a file of text, what `trace-cmd record` wrote, or the standard input."""

import re
import subprocess
import sys
from dataclasses import dataclass, field

from .event import EventError, read
from .printable import printable

# How a file of trace-cmd's begins.
TRACE_DAT = b"\x17\x08\x44tracing"
# `trace` says what its buffer did not hold, and at which place; trace-cmd words it otherwise.
WRITTEN = re.compile(r"# entries-in-buffer/entries-written: (\d+)/(\d+)")
LOST = re.compile(r"CPU:(\d+) \[(?:LOST (\d+) EVENTS|(\d+) EVENTS DROPPED|LOST EVENTS|EVENTS DROPPED)\]")
CPU = re.compile(r"\[(\d+)\]")


class SourceError(Exception):
    """A trace that cannot be read, and why."""


@dataclass
class Trace:
    """The events of a trace, and what else is to be known of it."""

    name: str
    events: list = field(default_factory=list)
    # Lines that are of something else.
    skipped: int = 0
    # Lines of ib_smi's events that cannot be read: (number, why).
    unreadable: list = field(default_factory=list)
    # How many events the ring buffer lost, and when: (from, to), as far as can be told.
    lost: int = 0
    gaps: list = field(default_factory=list)
    # By CPU: the time of its first and of its last event, and whether it lost some since.
    first: dict = field(default_factory=dict)
    last: dict = field(default_factory=dict)
    losing: dict = field(default_factory=dict)

    def feed(self, number, line):
        """Takes a line."""
        line = printable(line.rstrip("\r\n"))
        try:
            event = read(line, number)
        except EventError as error:
            self.unreadable.append((number, str(error)))
            return
        if event is not None:
            self.take(event, line)
        elif match := WRITTEN.match(line):
            # What was overwritten is older than what is left.
            self.miss("all", int(match[2]) - int(match[1]))
        elif match := LOST.search(line):
            self.miss(int(match[1]), int(match[2] or match[3] or 1))
        elif line.strip() and not line.lstrip().startswith("#"):
            self.skipped += 1

    def take(self, event, line):
        """Takes an event, before which its CPU may have lost some."""
        self.events.append(event)
        match = CPU.search(line)
        cpu = int(match[1]) if match else 0
        self.first.setdefault(cpu, event.time)
        if self.losing.pop(cpu, None):
            self.gaps.append((self.last.get(cpu, float("-inf")), event.time))
        self.last[cpu] = event.time

    def miss(self, cpu, count):
        """Notes that events of a CPU were lost here."""
        if count > 0:
            self.lost += count
            self.losing[cpu] = True

    def finish(self):
        """Puts the events in the order of time. Refuses a trace in which none can be read."""
        if self.unreadable and not self.events:
            number, why = self.unreadable[0]
            raise SourceError(f"{self.name}:{number}: {why}")
        self.events.sort(key=lambda event: event.time)
        if self.losing.pop("all", None):
            self.gaps.append((float("-inf"), max(self.first.values(), default=float("inf"))))
        self.gaps += [(self.last.get(cpu, float("-inf")), float("inf")) for cpu in self.losing]
        return self

    def has_gap(self, start, end):
        """Whether events were lost between two times."""
        return any(begins <= end and start <= ends for begins, ends in self.gaps)


def parse(lines, name="-"):
    """Reads a trace from text."""
    trace = Trace(name)
    for number, line in enumerate(lines, 1):
        trace.feed(number, line)
    return trace.finish()


def open_trace(file):
    """Reads a trace from a file, `-` being the standard input."""
    if file == "-":
        return parse(text(sys.stdin.buffer.read(), "the standard input").splitlines())
    with open(file, "rb") as stream:
        head = stream.read(len(TRACE_DAT))
        if head != TRACE_DAT:
            return parse(text(head + stream.read(), file).splitlines(), file)
    return parse(report(file).splitlines(), file)


def text(data, name):
    """The text of a file, which must be one."""
    if b"\0" in data:
        raise SourceError(f"{name} is neither text nor a file of 'trace-cmd record'")
    return data.decode(errors="replace")


def report(file):
    """What `trace-cmd report` makes of a file."""
    try:
        done = subprocess.run(["trace-cmd", "report", "-i", file], capture_output=True, check=False)
    except FileNotFoundError as error:
        raise SourceError(f"{file} is a file of trace-cmd's, which is not installed here: install it, or run "
                          f"'trace-cmd report -i {file} >FILE.txt' where it is") from error
    # Of a file whose head is cut off it says nothing at all, and ends well.
    if done.returncode or not done.stdout.strip():
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise SourceError(f"{file}: trace-cmd cannot read it: {said[-1].strip() if said else 'is the file cut off?'}")
    return done.stdout.decode(errors="replace")
