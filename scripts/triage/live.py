# SPDX-License-Identifier: GPL-2.0
"""Traces this host: a tracing instance of one's own, which is gone afterwards, whatever happens.

An instance has its own ring buffer and its own switches: what others trace at the time is not touched.
"""

import os
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

from . import counters, ledger
from .source import SourceError, Trace, parse

TRACING = [Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing")]
PREFIX = "smi-triage-"
# An answer that comes after the command has given up is to be seen too.
LINGER = 0.5


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
    """Removes instances of runs that were killed."""
    for folder in instances.glob(f"{PREFIX}*"):
        pid = folder.name.removeprefix(PREFIX)
        if not pid.isdigit() or not Path(f"/proc/{pid}").exists():
            remove(folder)


def remove(folder):
    """Removes an instance. Its events are off first, and nobody reads it any more."""
    try:
        put(folder / "events/enable", 0)
        folder.rmdir()
    except (OSError, SourceError):
        # Somebody else is reading it, or it is gone.
        pass


@contextmanager
def instance(kilobytes):
    """A tracing instance with the events on."""
    folder = tracing() / "instances" / f"{PREFIX}{os.getpid()}"
    remove_stale(folder.parent)
    try:
        folder.mkdir()
        put(folder / "buffer_size_kb", kilobytes)
        # The clock of the ledger, and the same on all CPUs.
        put(folder / "trace_clock", "mono")
        put(folder / "events/ib_smi/enable", 1)
        yield folder
    finally:
        remove(folder)


@contextmanager
def signals():
    """Lets the signals that end a program unwind it instead."""
    def end(number, _):
        raise Interrupted(number)

    kinds = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    old = {number: signal.signal(number, end) for number in kinds}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


class Recording:
    """What was recorded while a command ran, or for a time."""

    def __init__(self, trace, entries, rose, status=None, cut=None):
        self.trace = trace
        # Lines of the ledger; None if this module keeps none.
        self.entries = entries
        self.counters = rose
        # The command's exit status.
        self.status = status
        # When it ended, in the clock of the trace, if that was before all were done.
        self.cut = cut


def record(kilobytes, wait):
    """Records while `wait()` runs, which returns the command's exit status, or None."""
    before, mark = counters.snapshot(), ledger.last()
    with signals(), instance(kilobytes) as folder:
        status = wait()
        put(folder / "tracing_on", 0)
        text = (folder / "trace").read_text(encoding="utf-8", errors="replace")
    now = time.clock_gettime(time.CLOCK_MONOTONIC)
    entries, rose = ledger.read(since=mark), counters.rise(before, counters.snapshot())
    return Recording(parse(text.splitlines(), "the trace"), entries, rose, status, now)


def booked():
    """The ledger without a trace."""
    entries = ledger.read()
    if entries is None:
        raise SourceError(f"{ledger.FILE} cannot be read: is this root, is the module loaded and debugfs mounted?")
    return Recording(Trace("the ledger"), entries, {})


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

    recording = record(kilobytes, wait)
    recording.cut = None
    return recording


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
