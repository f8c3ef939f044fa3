# SPDX-License-Identifier: GPL-2.0
"""Runs in a guest: writes hostile text to the attributes in configfs of a node, a port and their faults, and makes
directories of hostile names. Prints what was refused and is another value all the same, then how much was taken and refused.
"""

import itertools
import random
from pathlib import Path

CONFIG = Path("/sys/kernel/config/ibfabric")
NUMBERS = (0, 1, 2, 63, 64, 254, 255, 256, 65535, 65536, 2**31, 2**32, 2**63, 2**64 - 1, 2**64, 10**30)
TEXTS = [
    b"", b"\n", b" ", b"\0", b"\xff" * 16, b"%s%n%p", b"../..", b"x" * 64, b"x" * 65, b"9" * 4000, b"\t1", b"1\n1",
    b"1 2", b"+1", b"--1", b"0x", b"0b2", b"1e3", "٣".encode(), b"on", b"off", b"all", b"switch", b"nth 0", b"every 0",
    b"percent 101", b"percent 1 seed", b"1:1," * 9 + b"1:1", b":", b"1:", b"0x10=", b"0 set 256", b"256 xor 1", b"+1 all",
    b"way=", b"attr=0x10000", b"class=gmp attr=1", b"4x", b"NDR", b"router"]
TEXTS += [form % number for number in NUMBERS for form in (b"%d", b"-%d", b"0x%x")]
NAMES = [
    "a" * 15, "a" * 63, "a" * 64, "a" * 255, "%s", "a%d", ".x", "-", " ", "a b", "\udcff", "sw0", "hca0", "a:1-a:1", "a:0-a:255",
    "a:1", ":-:", "a:1-sw0:99999999999999999999", "sw0:1-sw0:1", "sw0:1-sw0:2", "0", "255", "256", "1", "00", "-1", "٣"]


def read(file):
    """What an attribute says."""
    try:
        return file.read_bytes()
    except OSError:
        return None


def attributes(folder):
    """All attributes that can be written, but for what would take the node away."""
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.stat().st_mode & 0o200 and file.name != "live":
            yield file


def write(file, text, counts):
    """Writes a text; what is refused changes nothing."""
    before = read(file)
    try:
        with open(file, "wb", buffering=0) as stream:
            stream.write(text)
        counts["taken"] += 1
    except OSError:
        counts["refused"] += 1
        # The number of hits goes on by itself.
        if (after := read(file)) != before and b"hits=" not in (after or b""):
            print(f"changed: {file}: {text!r}: {before!r}, {after!r}")


def make(folder, name, counts):
    """Makes a directory and removes it again."""
    try:
        (folder / name).mkdir()
    except (OSError, ValueError):
        counts["refused"] += 1
        return
    counts["taken"] += 1
    for file, text in itertools.product(attributes(folder / name), TEXTS[:8]):
        write(file, text, counts)
    (folder / name).rmdir()


def main():
    """Goes through all."""
    chance, counts = random.Random(5), {"taken": 0, "refused": 0}
    for folder in ("nodes/h", "nodes/h/1", "faults/sw0", "faults/sw0/0", "faults/sw0/1"):
        (CONFIG / folder).mkdir()
    for file in (*attributes(CONFIG / "nodes/h"), *attributes(CONFIG / "faults")):
        for text in TEXTS + [chance.randbytes(chance.randint(1, 40)) for _ in range(10)]:
            write(file, text, counts)
    for parent, name in itertools.product(("nodes", "nodes/h", "links", "faults", "faults/sw0"), NAMES):
        make(CONFIG / parent, name, counts)
    for folder in ("nodes/h/1", "nodes/h", "faults/sw0/1", "faults/sw0/0", "faults/sw0"):
        (CONFIG / folder).rmdir()
    print(f"{counts['taken']} taken, {counts['refused']} refused")


if __name__ == "__main__":
    main()
