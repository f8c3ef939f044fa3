# SPDX-License-Identifier: GPL-2.0
"""The KUnit suites, in the debug kernel.

insmod succeeds even when cases fail, and a run without cases is `ok` too, so the log is parsed by
the kernel's own tool and the cases are counted.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from guestlib import kernels

BUILD = Path("/src/build/debug")
MODULES = sorted(path.stem for path in BUILD.glob("kunit_*.ko"))
OUTCOMES = {"PASS": "passed", "SKIP": "skipped"}


def parse(log, folder):
    """The (outcome, name, reason) of each case in a log, by the kernel's parser, and what that printed."""
    tool = kernels.folder() / "source/tools/testing/kunit/kunit.py"
    lines, result = folder / "log", folder / "json"
    lines.write_text(log)
    done = subprocess.run(
        [sys.executable, "-B", tool, "parse", f"--json={result}", lines],
        capture_output=True, text=True, check=False, cwd=folder,
    )
    assert result.exists(), done.stdout + done.stderr
    # The machine-readable form lacks the reasons.
    reasons = dict(re.findall(r"\[SKIPPED\] (\S+) \((.*)\)", done.stdout))
    return list(walk(json.loads(result.read_text()), reasons)), done.stdout


def walk(group, reasons, path=()):
    """The cases of a group and of the groups in it."""
    for inner in group.get("sub_groups", []):
        yield from walk(inner, reasons, (*path, inner["name"]))
    for case in group.get("test_cases", []):
        outcome = OUTCOMES.get(case["status"], "failed")
        yield outcome, ".".join((*path, case["name"])), reasons.get(case["name"], "")


def load(guest, name):
    """Loads a suite with the modules that it needs, and returns what the kernel said meanwhile."""
    guest.check(
        f"for need in $(modinfo -F depends $MODULES/{name}.ko | tr , ' '); do"
        " modprobe -q $need || insmod $MODULES/$need.ko || exit 1; done"
    )
    guest.dmesg(clear=True)
    guest.check(f"insmod $MODULES/{name}.ko", timeout=300)
    return guest.dmesg()


def test_there_are_suites():
    if not list(Path("/src/kunit").glob("*")):
        pytest.skip("the project has no KUnit suites yet")
    assert MODULES, f"no kunit_*.ko in {BUILD}"


@pytest.mark.parametrize("name", MODULES)
def test_suite(guest_debug, parts, tmp_path, name):
    log = load(guest_debug, name)
    found, output = parse(log, tmp_path)
    for case in found:
        parts.add(*case)
    parts.verify(output)
    guest_debug.check(f"rmmod {name}")


KTAP = """[    1.0] KTAP version 1
[    1.0] 1..1
[    1.0]     KTAP version 1
[    1.0]     # Subtest: made_up
[    1.0]     1..3
[    1.0]     ok 1 good
[    1.0]     not ok 2 bad
[    1.0]     ok 3 later # SKIP no device
[    1.0] not ok 1 made_up
"""


def test_bad_cases_are_seen(tmp_path):
    """insmod returns 0 for this log."""
    found, _ = parse(KTAP, tmp_path)
    assert found == [
        ("passed", "made_up.good", ""),
        ("failed", "made_up.bad", ""),
        ("skipped", "made_up.later", "no device"),
    ]


def test_a_log_without_cases_has_none(tmp_path):
    found, _ = parse("[    1.0] KTAP version 1\n[    1.0] 1..0\n", tmp_path)
    assert not [case for case in found if case[0] == "passed"]
