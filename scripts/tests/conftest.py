# SPDX-License-Identifier: GPL-2.0
"""Guests for the tests, and totals that count what cargo and KUnit ran inside them.

The tests run inside the sysroot: `make test`, or `scripts/test -k name`.
"""

import collections
import contextlib
import json
import os
import sys
from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling

sys.path.insert(0, str(Path(__file__).parent.parent))

# pylint: disable=wrong-import-position
from guestlib import kernels  # noqa: E402
from guestlib.guest import Guest, new_results  # noqa: E402

# The kernel that most guests boot.
KERNEL = os.environ.get("IB_SMI_KERNEL", "stock")

# Whether what takes long is run too.
LONG = bool(os.environ.get("IB_SMI_LONG"))

OUTCOMES = ("passed", "failed", "skipped")
PARTS = pytest.StashKey()
# The cases that a report is of, as a property that a worker sends along.
CASES = "cases"
ROW = "row"


class Parts:
    """The results of the cases that one test ran by a test runner of its own."""

    def __init__(self):
        self.cases = []

    def add(self, outcome, name, reason=""):
        """Notes a case."""
        assert outcome in OUTCOMES
        self.cases.append((outcome, name, reason))

    def count(self, outcome):
        """How many cases had this outcome."""
        return sum(1 for case in self.cases if case[0] == outcome)

    def verify(self, output=""):
        """Fails the test when a case failed, or when none ran."""
        bad = [name for outcome, name, _ in self.cases if outcome == "failed"]
        assert not bad, f"failed: {', '.join(bad)}\n{output}"
        assert self.count("passed"), f"no case ran\n{output}"


@pytest.fixture
def parts(request):
    """Where a test notes the cases that it ran, which are counted in its place."""
    request.node.stash[PARTS] = Parts()
    return request.node.stash[PARTS]


@pytest.fixture
def rows(request):
    """Takes a row, by the heading of its table, to be printed when all tests are done."""
    return lambda heading, row: request.node.user_properties.append((ROW, (heading, row)))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Notes in its report which cases a test ran."""
    report = (yield).get_result()
    if report.when == "call" and PARTS in item.stash:
        report.user_properties.append((CASES, item.stash[PARTS].cases))


class Totals:
    """What was counted, and what was skipped inside tests."""

    def __init__(self):
        self.counts = dict.fromkeys(OUTCOMES, 0)
        self.skipped = []
        self.rows = {}
        self.seconds = {}

    def add(self, report):
        """Counts a test: its cases if it has any, and itself otherwise."""
        file = report.nodeid.split("::")[0]
        self.seconds[file] = self.seconds.get(file, 0) + report.duration
        if report.when != "call" and report.outcome == "passed":
            return
        for heading, row in (value for name, value in report.user_properties if name == ROW):
            self.rows.setdefault(heading, []).append(row)
        cases = dict(report.user_properties).get(CASES, []) if report.when == "call" else []
        for outcome, name, reason in cases:
            self.counts[outcome] += 1
            if outcome == "skipped":
                self.skipped.append((f"{report.nodeid}: {name}", reason))
        if not cases or (report.outcome == "failed" and all(outcome != "failed" for outcome, _, _ in cases)):
            self.counts[report.outcome] += 1


TOTALS = Totals()


def pytest_runtest_logreport(report):
    """Counts a test, where all reports come together."""
    TOTALS.add(report)


def pytest_collectreport(report):
    """Counts a file that cannot be read as a failure."""
    if report.failed:
        TOTALS.counts["failed"] += 1


def pytest_terminal_summary(terminalreporter):
    """Lists the cases that were skipped inside tests, with their reasons, and prints the tables and how long each file took."""
    for name, reason in TOTALS.skipped:
        terminalreporter.write_line(f"SKIPPED {name}: {reason or 'no reason given'}")
    for heading, lines in TOTALS.rows.items():
        terminalreporter.write_line(heading)
        for line in lines:
            terminalreporter.write_line(line)
    terminalreporter.write_line("Seconds by file:")
    for file, seconds in sorted(TOTALS.seconds.items(), key=lambda item: -item[1]):
        terminalreporter.write_line(f"{seconds:8.0f}  {file}")
    with contextlib.suppress(OSError):
        SECONDS.write_text(json.dumps(known_seconds() | TOTALS.seconds))


# How long each file took when it ran last. What takes longest begins first, so that no worker is left alone with it.
SECONDS = kernels.CACHE / "test-seconds"


def known_seconds():
    """What is known of that."""
    with contextlib.suppress(OSError, ValueError):
        return json.loads(SECONDS.read_text())
    return {}


class LongestFirst(collections.OrderedDict):
    """The files that wait for a worker."""

    def __init__(self):
        super().__init__()
        self.seconds = known_seconds()

    def popitem(self, last=True):
        file = max(self, key=lambda name: self.seconds.get(name, 0))
        return file, self.pop(file)


class Scheduling(LoadFileScheduling):
    """Gives them to workers in that order."""

    def __init__(self, config, log=None):
        super().__init__(config, log)
        self.workqueue = LongestFirst()


def pytest_xdist_make_scheduler(config, log):
    """Takes the place of `--dist loadfile`."""
    return Scheduling(config, log)


def pytest_unconfigure(config):
    """Prints the totals as the last line."""
    if not hasattr(config, "workerinput"):
        print(", ".join(f"{TOTALS.counts[outcome]} {outcome}" for outcome in OUTCOMES), flush=True)


def pytest_configure(config):
    """Names the markers."""
    config.addinivalue_line("markers", "debian(reason): needs Debian's own kernel")


def pytest_runtest_setup(item):
    """Skips what takes long unless that is asked for, and what needs Debian's kernel where the tests run on another."""
    if item.get_closest_marker("long") and not LONG:
        pytest.skip("takes long: 'make test-all'")
    marker = item.get_closest_marker("debian")
    if marker and not KERNEL.startswith("stock"):
        pytest.skip(f"not on the {KERNEL} kernel: {marker.args[0]}")


def processors(module):
    """How many processors the guest of a file has: two where things go on at once, or when there is time.

    Emulated on a host with no processors to spare, a guest of two takes twice the time for the same work.
    """
    return 2 if LONG else getattr(module, "PROCESSORS", 1)


def boot(kind, request):
    """A guest for one test file. Its results folder is named after both."""
    name = f"{request.module.__name__}-{kind}"
    return Guest(
        kind,
        smp=processors(request.module),
        results=new_results(name),
        expect=getattr(request.module, "EXPECTED_REPORTS", ()),
        warm=True,
    )


@pytest.fixture(scope="module")
def guest_stock(request):
    """A guest with Debian's kernel, or the one that is named in IB_SMI_KERNEL, shared by the tests of a file."""
    with boot(KERNEL, request) as guest:
        yield guest


@pytest.fixture(scope="module")
def guest_debug(request):
    """A guest with the debug kernel, shared by the tests of a file."""
    with boot("debug", request) as guest:
        yield guest


@pytest.fixture
def shared():
    """The folder of shared data beside the checkout."""
    folder = os.environ.get("IB_SMI_SHARED")
    if not folder:
        pytest.skip("no folder of shared data: put it beside the checkout, or name it in IB_SMI_SHARED")
    return Path(folder)
