# SPDX-License-Identifier: GPL-2.0
"""Traces this host: a tracing instance of one's own, which is gone afterwards, whatever happens.

An instance has its own ring buffer and its own switches: what others trace at the time is not touched.
"""

import fcntl
import os
import re
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path

from . import counters, ledger
from .source import SourceError, Trace, parse

TRACING = [Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing")]
PREFIX = "smi-triage-"
# An answer that comes after the command has given up is to be seen too.
LINGER = 0.5
# A program has taken an MAD that came in: an answer in time, for nothing else gets as far.
TAKEN = "events/ib_umad/ib_umad_read_recv"
TAKEN_LINE = re.compile(r"^.* ib_umad_read_recv: .* tid 0x(\w+) .*\n", re.MULTILINE)
# A process has made an agent, by which it sends. In KB, enough for hundreds of them on each CPU.
AGENT_MADE = "events/ib_mad/ib_mad_create_agent/enable"
SMALL = 64
# The signals that end a program.
ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Interrupted(Exception):
    """A signal that ends the run, by its number."""


def tracing():
    """The folder of tracefs."""
    if os.geteuid() != 0:
        raise SourceError("tracing needs root: try sudo, or record elsewhere and give the file")
    for folder in TRACING:
        if (folder / "instances").is_dir():
            break
    else:
        raise SourceError("tracefs is not mounted: mount -t tracefs nodev /sys/kernel/tracing")
    if not (folder / "events/ib_smi").is_dir():
        raise SourceError("there are no events of ib_smi: the module is not loaded (scripts/load)")
    try:
        (folder / "tracing_on").read_bytes()
    except PermissionError as error:
        raise SourceError("the kernel is locked down (confidentiality), and nothing can be traced; "
                          "there are the counters in /sys/kernel/debug/ib_smi, and dynamic debug") from error
    return folder


def put(file, value):
    """Writes a file of tracefs."""
    try:
        file.write_text(f"{value}\n")
    except OSError as error:
        raise SourceError(f"{file}: {error.strerror}") from error


def remove_stale(instances):
    """Removes instances of runs that were killed. The kernel keeps those that a run still holds open."""
    for folder in instances.glob(f"{PREFIX}*"):
        try:
            folder.rmdir()
        except OSError:
            # At work, or gone.
            pass


def remove(folder):
    """Removes an instance of one's own. Its events are off first."""
    try:
        put(folder / "events/enable", 0)
        folder.rmdir()
    except (OSError, SourceError):
        # Somebody else is reading it.
        pass


def make(instances):
    """Makes an instance. Returns its folder, and a file of it that keeps it from being removed while it is open."""
    lock = os.open(instances, os.O_RDONLY)
    try:
        # Nobody else takes it for stale before the file is open.
        fcntl.flock(lock, fcntl.LOCK_EX)
        remove_stale(instances)
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=instances))
        return folder, (folder / "tracing_on").open("rb")
    finally:
        os.close(lock)


@contextmanager
def instance(kilobytes):
    """A tracing instance."""
    folder, held = make(tracing() / "instances")
    try:
        with held:
            put(folder / "buffer_size_kb", kilobytes)
            # The clock of the ledger, and the same on all CPUs.
            put(folder / "trace_clock", "mono")
            yield folder
    finally:
        remove(folder)


@contextmanager
def own_agents():
    """An instance with the agents of this process, and of those that it starts from then on."""
    with instance(SMALL) as folder:
        put(folder / "options/event-fork", 1)
        put(folder / "set_event_pid", own_pid(folder))
        put(folder / AGENT_MADE, 1)
        yield folder


def own_pid(folder):
    """The number of this process as the kernel has it, which in a container is another."""
    put(folder / "trace_marker", PREFIX)
    return re.search(r"-(\d+) +\[", contents(folder))[1]


def agents(folder):
    """The agents in an instance, by the high halves of their TIDs."""
    return {int(number, 16) for number in re.findall(r" hi_tid (0x\w+)", contents(folder))}


def contents(folder):
    """What an instance has recorded."""
    return (folder / "trace").read_text(encoding="utf-8", errors="replace")


@contextmanager
def signals():
    """Lets the signals that end a program unwind it instead, and only while it waits. What is ignored stays so."""
    def end(number, _):
        raise Interrupted(number)

    kinds = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    held = signal.pthread_sigmask(signal.SIG_BLOCK, kinds)
    old = {number: signal.signal(number, end) for number in kinds}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


@contextmanager
def waiting():
    """Lets signals through meanwhile."""
    held = signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


class Recording:
    """What was recorded while a command ran, or for a time."""

    def __init__(self, trace, entries, rose, status=None, cut=None, own=None, taken=None):
        self.trace = trace
        # Lines of the ledger; None if this module keeps none.
        self.entries = entries
        # None where nothing was counted before and after.
        self.counters = rose
        # The command's exit status.
        self.status = status
        # When it ended, in the clock of the trace, if that was before all were done.
        self.cut = cut
        # The agents of the command, by the high halves of their TIDs; None if there was no command.
        self.own = own
        # The TIDs of answers that programs have taken; None if that is not known.
        self.taken = taken


def record(kilobytes, wait, also=nullcontext):
    """Records while `wait()` runs, which returns the command's exit status, or None. `also` is `own_agents` for a command."""
    before, mark = counters.snapshot(), ledger.last()
    with signals(), instance(kilobytes) as folder, also() as own:
        put(folder / "events/ib_smi/enable", 1)
        has_umad = (folder / TAKEN).is_dir()
        if has_umad:
            put(folder / TAKEN / "enable", 1)
        with waiting():
            status = wait()
        put(folder / "tracing_on", 0)
        # All of the same moment: to read the trace can take longer than an answer.
        now = time.clock_gettime(time.CLOCK_MONOTONIC)
        entries, rose = ledger.read(since=mark), counters.rise(before, counters.snapshot())
        text, own = contents(folder), own and agents(own)
    taken = {int(tid, 16) for tid in TAKEN_LINE.findall(text)} if has_umad else None
    return Recording(parse(TAKEN_LINE.sub("", text).splitlines(), "the trace"), entries, rose, status, now, own, taken)


def booked():
    """The ledger without a trace."""
    if why := ledger.refusal():
        raise SourceError(why)
    return Recording(Trace("the ledger"), ledger.read(), None)


def run(command, kilobytes, output=None):
    """Records while a command runs. Its output is passed on."""
    def wait():
        with start(command, output) as process:
            try:
                status = process.wait()
                settle()
                return status
            except BaseException:
                process.terminate()
                raise

    return record(kilobytes, wait, own_agents)


def start(command, output):
    """Starts a command."""
    try:
        return subprocess.Popen(command, stdout=output)
    except OSError as error:
        raise SourceError(f"{command[0]}: {error.strerror}") from error


def settle():
    """Waits for answers that come too late."""
    time.sleep(LINGER)


def watch(seconds, kilobytes):
    """Records for a time; Ctrl-C ends it sooner."""
    def wait():
        try:
            time.sleep(seconds)
        except Interrupted as interrupted:
            if interrupted.args[0] != signal.SIGINT:
                raise

    return record(kilobytes, wait)
