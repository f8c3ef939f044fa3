#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Fails every allocation of a task once, one after the other, inside a guest with the debug kernel.

    failnth.py load              loading ib_smi beside a fabric
    failnth.py fabric            loading ibfabric
    failnth.py configfs          each step of a node and a link that come
    failnth.py smp               an SMP over a switch, in the sender and in the kernel's workers

An allocation fails by /proc/TID/fail-nth; of those of a module's loading, from where its own code begins, or
from the one whose number is given. What is done has to fail with ENOMEM, or to work all the same, or to
lack something and say so in the kernel's log; and what it was done to has to be as before. Prints a line a
failure that was not so, and one in the end that counts.
"""

import contextlib
import errno
import functools
import os
import re
import subprocess
import sys
import time
import types
from pathlib import Path

from smp import load_script

stress = load_script("stress")

SCRIPTS = Path(__file__).resolve().parents[1]
MODULES = Path(os.environ["MODULES"])
CONFIG = Path("/sys/kernel/config/ibfabric")
SMI = Path("/sys/kernel/debug/ib_smi")
PATCH = Path("/sys/kernel/livepatch/ib_smi")
INJECTION = {"failslab": {"ignore-gfp-wait": "N", "verbose": "0"},
             "fail_page_alloc": {"ignore-gfp-wait": "N", "ignore-gfp-highmem": "Y", "min-order": "0", "verbose": "0"}}
KMSG = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
INIT_MODULE = 175
# More allocations than the kernel makes when it takes a module out.
TAKEN_OUT = 20
# Longer than anything takes.
ENOUGH = 20000


def run(*words):
    """Runs a command that must succeed, and returns its output."""
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def prepare():
    """Lets allocations that may wait fail too, but for pages of programs, without a report of each."""
    for name, settings in INJECTION.items():
        for knob, value in settings.items():
            (Path("/sys/kernel/debug") / name / knob).write_text(value)


class Nth:
    """The count of this task, or of others, until an allocation fails."""

    def __init__(self, tasks=("thread-self",)):
        self.files = [os.open(f"/proc/{task}/fail-nth", os.O_RDWR) for task in tasks]

    def set(self, number):
        """The so manyth allocation from now on fails."""
        for file in self.files:
            with contextlib.suppress(ProcessLookupError):
                os.write(file, b"%d" % number)

    def stop(self):
        """Nothing fails any more. Returns how many were left to go; 0 if one has failed."""
        left = []
        for file in self.files:
            # A worker may have gone.
            with contextlib.suppress(ProcessLookupError):
                left.append(int(os.pread(file, 32, 0)))
                os.write(file, b"0")
        return min(left)

    def close(self):
        """Needs the tasks no more."""
        for file in self.files:
            os.close(file)


def insert(name, words=""):
    """Loads a module. Returns an errno."""
    image = image_of(name)
    return stress.system_call(INIT_MODULE, image, len(image), words.encode())


@functools.cache
def image_of(name):
    """The bytes of a module, which need not be read each time."""
    return (MODULES / f"{name}.ko").read_bytes()


def write(path, text):
    """Writes to a file. Returns an errno."""
    try:
        file = os.open(path, os.O_WRONLY)
        try:
            os.write(file, text)
        finally:
            os.close(file)
    except OSError as error:
        return error.errno
    return 0


def mkdir(path):
    """Makes a folder. Returns an errno."""
    try:
        os.mkdir(path)
    except OSError as error:
        return error.errno
    return 0


def counted(do, number):
    """Does something with the so manyth allocation failing. Returns what came of it, and how many were left to go."""
    nth = Nth()
    nth.set(number)
    result = do()
    left = nth.stop()
    nth.close()
    return result, left


def before_init(do):
    """How many allocations the kernel makes of its own when it loads a module, by one that refuses a parameter, but for
    those when it takes that one out. The first times it makes more."""
    counts = []
    for _ in range(4):
        result, left = counted(do, ENOUGH)
        if result != errno.EINVAL:
            raise SystemExit(f"a module with a wrong parameter: {errno.errorcode.get(result, result)}")
        counts.append(ENOUGH - left)
    return min(counts) - TAKEN_OUT


def log():
    """The kernel's log since it was asked last."""
    records = []
    while True:
        # What was overwritten before it was read is not missed.
        with contextlib.suppress(BrokenPipeError):
            try:
                records.append(os.read(KMSG, 8192).decode(errors="replace"))
            except BlockingIOError:
                return "".join(records)


class Walk:
    """Does something with each of its allocations failing, and looks at what became of it."""

    def __init__(self, name, do, undo, lacks, excuse=lambda missing: False):
        self.name, self.do, self.undo, self.lacks, self.excuse = name, do, undo, lacks, excuse
        self.bad = []
        self.outcomes = {"failed": 0, "worked": 0, "lacked": 0}

    def complain(self, number, text):
        """Notes a failure that was not as it should be."""
        self.bad.append(f"{self.name}, allocation {number}: {text}")
        print(self.bad[-1], flush=True)

    def judge(self, number, result):
        """Looks at what came of an allocation that failed."""
        if result not in (0, errno.ENOMEM):
            self.complain(number, f"{errno.errorcode.get(result, result)} instead of ENOMEM")
        missing = self.lacks(result == 0)
        told = log()
        if missing and result:
            self.complain(number, f"it failed and left behind {missing}")
        elif missing:
            self.outcomes["lacked"] += 1
            if not re.search(r"(ib_smi|ibfabric): .*(error|ENOMEM)|debugfs: out of", told) and not self.excuse(missing):
                self.complain(number, f"it lacks {missing} and nobody said so")
        else:
            self.outcomes["failed" if result else "worked"] += 1
        if result == 0:
            self.undo()
        if self.lacks(False):
            self.complain(number, f"undone, but there is {self.lacks(False)}")

    def through(self, first=1):
        """One allocation after the other, until none is left to fail."""
        for number in range(first, ENOUGH):
            log()
            result, left = counted(self.do, number)
            if left:
                if result == 0:
                    self.undo()
                else:
                    self.complain(number, f"{errno.errorcode.get(result, result)} although nothing failed")
                break
            self.judge(number, result)
            if number % 50 == 0:
                print(f"{self.name}: {number}, {self.outcomes}", flush=True)
        counts = ", ".join(f"{count} {name}" for name, count in self.outcomes.items())
        print(f"{self.name}: {number - first} allocations from {first}, {counts}", flush=True)
        if number == first:
            self.complain(number, "there is none to fail")


def unload():
    """Removes ib_smi."""
    # Without a shell, which takes longer than the livepatch does. It turns round a transition that is not over.
    stress.unload()


def smi_lacks(loaded):
    """What there is not of the module, or what there is if it is not loaded."""
    if not loaded:
        return [str(path) for path in (SMI, PATCH, Path("/sys/module/ib_smi")) if path.exists()]
    ports = [("hca0", 1), ("hca1", 1), ("sw0", 0)]
    files = [SMI / device / str(port) / name for device, port in ports for name in ("decisions", "discards", "queue")]
    files += [SMI / name for name in ("counters", "discards", "ledger")]
    missing = [str(file.relative_to(SMI)) for file in files if not file.exists()]
    missing += [f"slots of {device}" for device, port in ports if (SMI / device / str(port) / "queue").exists()
                and "own_posted" not in (SMI / device / str(port) / "queue").read_text()]
    return missing


def is_an_aid(missing):
    """Whether nothing is missing but files, without which all else works: debugfs does not always say so."""
    stress.settle()
    return not any(name.startswith("slots") for name in missing) and any(ask("2000") for _ in range(3))


def fabric_lacks(loaded):
    """What there is not of a pair, or what there is of a fabric if there is none."""
    if not loaded:
        there = [Path("/sys/kernel/debug/ibfabric"), CONFIG, Path("/sys/module/ibfabric"), Path("/sys/class/infiniband/sw0")]
        return [str(path) for path in there if path.exists()]
    names = {line.split()[0] for line in Path("/sys/kernel/debug/ibfabric/nodes").read_text().splitlines()} if \
        Path("/sys/kernel/debug/ibfabric/nodes").exists() else {"debugfs"}
    return sorted({"hca0", "hca1", "sw0"} ^ names)


def remove_fabric():
    """Removes ibfabric."""
    run("rmmod", "ibfabric")


def walk_load(first):
    """ib_smi beside a fabric."""
    run("insmod", MODULES / "ibfabric.ko", "topology=pair")
    walk = Walk("load", lambda: insert("ib_smi"), unload, smi_lacks, is_an_aid)
    walk.through(first or before_init(lambda: insert("ib_smi", "ledger=65537")))
    remove_fabric()
    return walk.bad


def walk_fabric(first):
    """ibfabric."""
    walk = Walk("fabric", lambda: insert("ibfabric", "topology=pair"), remove_fabric, fabric_lacks)
    walk.through(first or before_init(lambda: insert("ibfabric", "topology=ring")))
    return walk.bad


def walk_configfs(_first):
    """A node and a link that come by configfs, step by step, with ib_smi loaded."""
    run("insmod", MODULES / "ibfabric.ko", "topology=pair")
    run(SCRIPTS / "load")
    node, link, fault = CONFIG / "nodes/sw9", CONFIG / "links/sw9:1-sw0:4", CONFIG / "faults/sw9"

    def there(path):
        return lambda done: [] if path.exists() == done else [str(path)]

    def live(done):
        return [] if Path("/sys/class/infiniband/sw9").exists() == done else ["sw9"]

    def knob(path):
        return lambda done: [] if (path.read_text().split(" hits")[0] != "off") == done else [str(path)]

    bad = []
    for name, do, undo, lacks in [
        ("mkdir of a node", lambda: mkdir(node), node.rmdir, there(node)),
        ("mkdir of a port", lambda: mkdir(node / "1"), (node / "1").rmdir, there(node / "1")),
        ("live", lambda: write(node / "live", b"1"), lambda: write(node / "live", b"0"), live),
        ("mkdir of a link", lambda: mkdir(link), link.rmdir, there(link)),
        ("faults of a node", lambda: mkdir(fault), fault.rmdir, there(fault)),
        ("faults of a port", lambda: mkdir(fault / "1"), (fault / "1").rmdir, there(fault / "1")),
        ("drop", lambda: write(fault / "1/drop", b"nth 5"), lambda: write(fault / "1/drop", b"off"), knob(fault / "1/drop")),
        ("wrong_port", lambda: write(fault / "wrong_port", b"1:2 nth 5"), lambda: write(fault / "wrong_port", b"off"),
         knob(fault / "wrong_port")),
    ]:
        walk = Walk(name, do, undo, lacks)
        walk.through()
        bad += walk.bad
        # The next step needs it.
        if name == "mkdir of a node":
            node.mkdir()
            (node / "type").write_text("switch\n")
            (node / "ports").write_text("4\n")
        elif do() != 0:
            raise SystemExit(f"{name} does not work any more")
    (fault / "1").rmdir()
    fault.rmdir()
    link.rmdir()
    (node / "1").rmdir()
    node.rmdir()
    unload()
    remove_fabric()
    return bad


def workers():
    """The kernel's threads that handle completions and events."""
    names = ((path.parent.name, path.read_text()) for path in Path("/proc").glob("[0-9]*/comm"))
    return [task for task, name in names if name.startswith("kworker/u")]


def ask(timeout="300"):
    """Asks the far HCA over the switch. Returns whether it has answered."""
    return subprocess.run([SCRIPTS / "dr-smp", "-C", "hca0", "--timeout", timeout, "0,1,2"],
                          capture_output=True, check=False).returncode == 0


def walk_smp(_first):
    """An SMP over a switch and its answer, with allocations of the sender or of the workers failing."""
    dr_smp = load_script("dr-smp")
    run("insmod", MODULES / "ibfabric.ko", "topology=pair")
    run(SCRIPTS / "load")
    bad = []
    file = os.open(dr_smp.find_port("hca0", 1), os.O_RDWR)
    agent = dr_smp.register(file)
    options = types.SimpleNamespace(timeout=300, retries=0, lid=dr_smp.PERMISSIVE)
    smp = bytes((1, 0x81, 1, 1, 0, 0, 0, 2)) + bytes(8) + bytes((0, 0x11)) + bytes(14) + b"\xff" * 4 + bytes(92) + \
        bytes((0, 1, 2)) + bytes(125)
    for who, tasks in (("the sender", lambda: ["thread-self"]), ("the workers", workers)):
        count = 0
        for number in range(1, 60):
            nth = Nth(tasks())
            nth.set(number)
            try:
                answer = dr_smp.post(file, agent, smp, options) and dr_smp.receive(file, options)
            except OSError as error:
                answer = None
                if error.errno != errno.ENOMEM:
                    bad.append(f"smp, {who}, allocation {number}: {error}")
                    print(bad[-1], flush=True)
            left = nth.stop()
            nth.close()
            time.sleep(0.4)
            while dr_smp.select.select([file], [], [], 0)[0]:
                dr_smp.os.read(file, 4096)
            if not any(ask("2000") for _ in range(3)):
                bad.append(f"smp, {who}, allocation {number}: nothing gets through any more")
                print(bad[-1], flush=True)
                break
            count += not answer
            if left and who == "the sender":
                break
        print(f"smp, {who}: {number} allocations, {count} without an answer", flush=True)
    os.close(file)
    unload()
    remove_fabric()
    return bad


WALKS = {"load": walk_load, "fabric": walk_fabric, "configfs": walk_configfs, "smp": walk_smp}


def main():
    """Walks, and returns this program's status."""
    run("modprobe", "ib_umad")
    prepare()
    bad = WALKS[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    print(f"{len(bad)} bad", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
