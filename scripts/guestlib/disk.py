# SPDX-License-Identifier: GPL-2.0
"""The sysroot as a disk, which guests read.

A share would do too, but each open of a file is three messages to the host there, milliseconds in an emulated guest,
and a program opens dozens of files before it begins.
"""

import fcntl
import subprocess
from pathlib import Path

STAMP = Path("/etc/ib_smi.stamp")
# Of a file with holes, so that it may be generous.
SIZE = "16G"
# The sysroot without what is mounted in it.
MAKE = """
mount --bind / /mnt
mke2fs -q -t ext4 -O ^has_journal -m 0 -E root_owner=0:0 -d /mnt "$1" "$2"
"""


def build(cache, tell):
    """Makes the disk of this sysroot, unless the cache has it, and returns its path."""
    stat = STAMP.stat()
    name = f"sysroot-{STAMP.read_text().strip()}-{stat.st_mtime_ns:x}.ext4"
    image = Path(cache) / "disks" / name
    image.parent.mkdir(parents=True, exist_ok=True)
    with (image.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if image.exists():
            return image
        tell("making a disk of the sysroot for the guests (about 2.5 GB)")
        for old in image.parent.glob("sysroot-*"):
            old.unlink()
        partial = image.with_suffix(".new")
        subprocess.run(["unshare", "--mount", "sh", "-ec", MAKE, "sh", str(partial), SIZE], check=True)
        partial.rename(image)
    return image
