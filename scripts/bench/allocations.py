# SPDX-License-Identifier: GPL-2.0
"""Who allocates how much kernel memory.

What a driver allocates is told from what the RDMA core allocates for it by the call stacks of allocations,
which the kernel adds up: an allocation is whose function is the first that is no allocator. Memory that is
given back meanwhile is not taken off.
"""

import collections
import re
from pathlib import Path

EVENTS = Path("/sys/kernel/tracing/events")
SIZES = (("kmem/kmalloc", "bytes_alloc"), ("vmalloc/alloc_vmap_area", "size"))
ALLOCATORS = re.compile(
    "^(__)?(k|v|kv)m?(re|c|z)?alloc|^__do_(k|krea)lloc|^__?kmalloc|^kmem_cache|alloc_vmap_area|vm_area|vmalloc|vrealloc"
    "|Kmalloc|Vmalloc|KVmalloc|ReallocFunc|rust_helper|^_R.*5alloc|trace_")


def triggers(condition=""):
    """What lets the kernel add up allocations by call stack, all or those that meet a condition: (event, text) pairs."""
    for event, field in SIZES:
        yield event, f"hist:keys=common_stacktrace:vals={field}:size=16384 {condition}".strip()


def watch(on, condition=""):
    """Lets the kernel do so, or ends that."""
    for event, text in triggers(condition if on else ""):
        (EVENTS / event / "trigger").write_text(text if on else "!" + text)


def owner(frames):
    """The module of the first function that is no allocator."""
    frame = next((frame for frame in frames if not ALLOCATORS.search(frame)), "")
    module = re.search(r"\[(\w+)\]$", frame)
    return module.group(1) if module else "kernel"


def owners(text):
    """Bytes by module, from the stacks that the kernel added up."""
    total = collections.Counter()
    for stack, count in re.findall(r"common_stacktrace:\n(.*?)} hitcount: +\d+ +\w+: +(\d+)", text, re.S):
        total[owner([frame.strip() for frame in stack.split("\n") if frame.strip()])] += int(count)
    return total


def found():
    """Bytes by module, since the kernel watches."""
    return owners("".join((EVENTS / event / "hist").read_text() for event, _ in SIZES))
