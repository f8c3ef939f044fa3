# SPDX-License-Identifier: GPL-2.0
"""The rules' own tests on the host, run by cargo and counted one by one."""

import os
import re
import subprocess

from guestlib import kernels

CASE = re.compile(r"^test (.+?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)(?:, (.*))?$")
OUTCOMES = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}


def cases(output):
    """The (outcome, name, reason) of each test that cargo ran."""
    for line in output.splitlines():
        found = CASE.match(line.strip())
        if found:
            yield OUTCOMES[found[2]], found[1], found[3] or ""


def test_rules(parts):
    source = kernels.folder() / "source"
    done = subprocess.run(
        ["cargo", "test", "--release", "--workspace", "--offline", "--locked", "--no-fail-fast"],
        cwd="/src", capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        env={**os.environ, "CARGO_TARGET_DIR": "/cache/cargo/test", "IB_SMI_LINUX": str(source)},
    )
    output = done.stdout + done.stderr
    for case in cases(done.stdout):
        parts.add(*case)
    parts.verify(output)
    assert done.returncode == 0, output


def test_targets_of_the_fuzzer():
    """For a moment each: that they build, run and find nothing."""
    done = subprocess.run(["/src/scripts/fuzz-host"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                          env={**os.environ, "FUZZ_SECONDS": "3"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(re.findall(r"ok +\w+: \d{4,} inputs", done.stderr)) == 3, done.stderr


def test_result_lines_are_understood():
    output = "test a::b ... ok\ntest c ... FAILED\ntest d ... ignored, takes an hour\ntest result: ok. 1 passed\n"
    assert list(cases(output)) == [("passed", "a::b", ""), ("failed", "c", ""), ("skipped", "d", "takes an hour")]
