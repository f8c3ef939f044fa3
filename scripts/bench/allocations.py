#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Who allocated how much kernel memory while a command ran: allocations.py COMMAND...

Prints a line `MODULE BYTES` for each module, the kernel itself being `kernel`. What a driver allocates is
told from what the RDMA core allocates for it by the call stacks of allocations, which the kernel adds up: an
allocation is whose function is the first that is no allocator. Memory that is given back meanwhile is not
taken off.
"""

import collections
import re
import subprocess
import sys
from pathlib import Path

EVENTS = Path("/sys/kernel/tracing/events")
SIZES = (("kmem/kmalloc", "bytes_alloc"), ("vmalloc/alloc_vmap_area", "size"))
ALLOCATORS = re.compile(
    "^(__)?(k|v|kv)m?(re|c|z)?alloc|^__do_(k|krea)lloc|^__?kmalloc|^kmem_cache|alloc_vmap_area|vm_area|vmalloc|vrealloc"
    "|Kmalloc|Vmalloc|KVmalloc|ReallocFunc|rust_helper|^_R.*5alloc|trace_")


def watch(on, condition=""):
    """Lets the kernel add up allocations by call stack, all or those that meet a condition, or ends that."""
    for event, field in SIZES:
        text = f"hist:keys=common_stacktrace:vals={field}:size=16384"
        (EVENTS / event / "trigger").write_text(f"{text} {condition}".strip() if on else "!" + text)


def owner(frames):
    """The module of the first function that is no allocator."""
    frame = next((frame for frame in frames if not ALLOCATORS.search(frame)), "")
    module = re.search(r"\[(\w+)\]$", frame)
    return module.group(1) if module else "kernel"


def found():
    """Bytes by module, of the stacks that were added up."""
    total = collections.Counter()
    for event, field in SIZES:
        text = (EVENTS / event / "hist").read_text()
        for stack, count in re.findall(rf"common_stacktrace:\n(.*?)}} hitcount: +\d+ +{field}: +(\d+)", text, re.S):
            total[owner([frame.strip() for frame in stack.split("\n") if frame.strip()])] += int(count)
    return total


def main():
    """Runs the command, whose output goes to the standard error. Only what it allocates itself counts."""
    # It waits until it is watched.
    with subprocess.Popen(["sh", "-c", 'read -r _; exec "$@"', "sh", *sys.argv[1:]], stdin=subprocess.PIPE,
                          stdout=sys.stderr, text=True) as process:
        watch(True, f"if common_pid=={process.pid}")
        try:
            process.communicate("go\n")
            total = found()
        finally:
            watch(False)
    for module, count in total.most_common():
        print(module, count)
    return process.returncode


if __name__ == "__main__":
    sys.exit(main())
