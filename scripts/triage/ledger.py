# SPDX-License-Identifier: GPL-2.0
"""The ledger of ib_smi: a line for each directed-route request that this host has sent."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from .event import PERMISSIVE, lid

FILE = Path("/sys/kernel/debug/ib_smi/ledger")
HEAD = re.compile(r"(?P<switch>on|off) size=(?P<size>\d+) entered=(?P<entered>\d+) ")
WORD = re.compile(r"(\w+)=(\S*)")
PLACE = re.compile(r"(\w+)@(\S+):(\d+)")


@dataclass
class Last:
    """The last that was seen of a request or its answer: where, and what was decided there."""

    point: str
    device: str
    port: int
    ingress: int
    egress: int
    hop: int
    verdict: str


@dataclass
class Entry:
    """A line."""

    seq: int
    device: str
    port: int
    tid: int
    method: int
    attr: int
    mod: int
    path: tuple | None
    state: str
    rtt_us: int | None = None
    timeout_ms: int | None = None
    retries: int = 0
    status: int = 0
    # What was seen last, and the reason if that was a discard.
    last: Last | None = None
    reason: str | None = None
    text: str = ""
    slid: int = PERMISSIVE
    dlid: int = PERMISSIVE
    words: dict = field(default_factory=dict)

    @property
    def count(self):
        """The number of hops."""
        return int(self.words["hops"]) if self.words.get("hops", "").isdigit() else len(self.path or ())

    @property
    def is_opa(self):
        """Whether it is an Omni-Path SMP: its DrDLID has 32 bits."""
        return (number(self.words.get("drdlid")) or 0) > PERMISSIVE

    @property
    def late_ms(self):
        """By how much the answer was late."""
        if self.rtt_us is None or self.timeout_ms is None:
            return None
        return max(self.rtt_us / 1000 - self.patience_ms, 0)

    @property
    def patience_ms(self):
        """For how long an answer is waited for, all tries together; None if it is not known."""
        return None if self.timeout_ms is None else self.timeout_ms * (self.retries + 1)


def number(text):
    """A number, if it is one."""
    try:
        return int(text, 0)
    except (TypeError, ValueError):
        return None


def entry(line):
    """The entry in a line; None if the line is something else."""
    words = dict(WORD.findall(line))
    wanted = {name: number(words.get(name)) for name in ("seq", "port", "tid", "method", "attr", "mod")}
    if None in wanted.values() or "device" not in words or "state" not in words:
        return None
    path = words.get("path", "")
    elements = tuple(map(int, path.split(",")[1:])) if re.fullmatch(r"\d+(,\d+)*", path) else None
    # Of more than 63 hops it has as many as there is room for.
    if elements is not None and words.get("hops", str(len(elements))) != str(len(elements)):
        elements = None
    lids = {name: lid(words[word]) for name, word in (("slid", "drslid"), ("dlid", "drdlid"))
            if number(words.get(word)) is not None}
    return Entry(**wanted, device=words["device"], path=elements, state=words["state"], text=line.strip(), words=words,
                 rtt_us=number(words.get("rtt_us")), timeout_ms=number(words.get("timeout_ms")),
                 retries=number(words.get("retries")) or 0, status=number(words.get("status")) or 0,
                 last=seen_last(words), reason=None if words.get("reason", "-") == "-" else words["reason"], **lids)


def seen_last(words):
    """What a line says was seen last; None if it does not."""
    match = PLACE.fullmatch(words.get("last", ""))
    numbers = [number(words.get(name)) for name in ("in", "out", "hop")]
    if match is None or None in numbers or "verdict" not in words:
        return None
    return Last(match[1], match[2], int(match[3]), *numbers, words["verdict"])


def lines(file=FILE):
    """The lines of the file, of which the first is about the ledger itself."""
    return Path(file).read_text(encoding="utf-8", errors="replace").splitlines()


def read(file=FILE, since=-1):
    """The entries after a number; None if this module keeps no ledger."""
    try:
        return [found for line in lines(file) if (found := entry(line)) is not None and found.seq > since]
    except OSError:
        return None


def refusal():
    """Why the ledger cannot be read; None if it can."""
    if os.geteuid() != 0:
        return "the ledger needs root: try sudo"
    try:
        lines()
    except PermissionError:
        return "the kernel is locked down, and refuses the ledger: trace a command in its place"
    except OSError:
        return f"{FILE} cannot be read: is the module loaded and debugfs mounted?"
    return None


def lack():
    """Why the ledger can be without a request."""
    head = HEAD.match("".join(lines()[:1]))
    if head and head["size"] == "0":
        return "there is no ledger: the module was loaded with ledger=0"
    if head and head["switch"] == "off":
        return f"the ledger is off, and what is sent meanwhile is not in it: echo on >{FILE}"
    since = "it was cleared" if head and head["entered"] != "0" else "the module was loaded"
    return f"the ledger is empty: this host has sent no directed-route request since {since}"


def last(file=FILE):
    """The number of the last entry."""
    return max((found.seq for found in read(file) or ()), default=-1)


def join(requests, entries, make):
    """Gives requests their entries. Where no event tells of an entry, `make` makes a request of it."""
    waiting = {}
    for request in requests:
        origin = request.attempts[0].origin
        if origin is not None:
            waiting.setdefault((*origin, request.tid, request.attr, request.mod), []).append(request)
    # A TID can come again: the requests that were sent first are those of the entries that are first.
    for found in sorted(entries, key=lambda found: found.seq):
        fits = waiting.get((found.device, found.port, found.tid, found.attr, found.mod), [])
        fit = next((request for request in fits if found.path is None or found.path == request.path), None)
        if fit is None:
            requests.append(make(found))
        else:
            fits.remove(fit)
            fit.entry = found
    return requests
