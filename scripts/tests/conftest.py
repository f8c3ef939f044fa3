# SPDX-License-Identifier: GPL-2.0
"""Guests for the tests, and totals that count what cargo and KUnit ran inside them.

The tests run inside the sysroot: `make test`, or `scripts/test -k name`.
"""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

# pylint: disable=wrong-import-position
from guestlib.guest import Guest, new_results  # noqa: E402

OUTCOMES = ("passed", "failed", "skipped")
TOTALS = pytest.StashKey()
PARTS = pytest.StashKey()
ROWS = pytest.StashKey()


def pytest_configure(config):
    """Starts the totals."""
    config.stash[TOTALS] = dict.fromkeys(OUTCOMES, 0)
    config.stash[ROWS] = {}


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
    return lambda heading, row: request.config.stash[ROWS].setdefault(heading, []).append(row)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Counts a test: its cases if it has any, and itself otherwise."""
    report = (yield).get_result()
    totals = item.config.stash[TOTALS]
    if report.when == "call" or report.outcome != "passed":
        cases = item.stash.get(PARTS, Parts())
        if report.when != "call" or not cases.cases:
            totals[report.outcome] += 1
            return
        for outcome in OUTCOMES:
            totals[outcome] += cases.count(outcome)
        if report.outcome == "failed" and not cases.count("failed"):
            totals["failed"] += 1
        item.config.stash.setdefault(PARTS, []).extend(
            (f"{item.nodeid}: {name}", reason) for outcome, name, reason in cases.cases if outcome == "skipped"
        )


# Test files that could not be read.
UNREADABLE = []


def pytest_collectreport(report):
    """Counts a file that cannot be read as a failure."""
    if report.failed:
        UNREADABLE.append(report.nodeid)


def pytest_terminal_summary(terminalreporter, config):
    """Prints the tables, and the cases that were skipped inside tests, with their reasons."""
    for heading, lines in config.stash[ROWS].items():
        for line in (heading, *lines):
            terminalreporter.write_line(line)
    for name, reason in config.stash.get(PARTS, []):
        terminalreporter.write_line(f"SKIPPED {name}: {reason or 'no reason given'}")


def pytest_unconfigure(config):
    """Prints the totals as the last line."""
    totals = config.stash[TOTALS]
    totals["failed"] += len(UNREADABLE)
    print(", ".join(f"{totals[outcome]} {outcome}" for outcome in OUTCOMES), flush=True)


def boot(kind, request):
    """A guest for one test file. Its results folder is named after both."""
    name = f"{request.module.__name__}-{kind}"
    return Guest(
        kind,
        results=new_results(name),
        expect=getattr(request.module, "EXPECTED_REPORTS", ()),
    )


@pytest.fixture(scope="module")
def guest_stock(request):
    """A guest with Debian's kernel, shared by the tests of a file."""
    with boot("stock", request) as guest:
        yield guest


@pytest.fixture(scope="module")
def guest_test(request):
    """A guest with the test kernel, shared by the tests of a file."""
    with boot("test", request) as guest:
        yield guest


@pytest.fixture
def shared():
    """The folder of shared data beside the checkout."""
    folder = os.environ.get("IB_SMI_SHARED")
    if not folder:
        pytest.skip("no folder of shared data: put it beside the checkout, or name it in IB_SMI_SHARED")
    return Path(folder)
