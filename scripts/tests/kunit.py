# SPDX-License-Identifier: GPL-2.0
"""The KUnit suites, for the tests that run them in a guest.

insmod succeeds even when cases fail, and a run without cases is `ok` too, so the log is parsed by
the kernel's own tool and the cases are counted.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

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


def run(guest, parts, folder, name):
    """Runs a suite."""
    found, output = parse(load(guest, name), folder)
    for case in found:
        parts.add(*case)
    parts.verify(output)
    guest.check(f"rmmod {name}")
