# SPDX-License-Identifier: GPL-2.0
"""The kernel: its version, its taints, its livepatches, whether it is locked down."""

import re

TAINTS = {
    0: ("P", "a proprietary module was loaded"), 1: ("F", "a module was loaded by force"),
    2: ("S", "the processor is out of its specification"), 3: ("R", "a module was unloaded by force"),
    4: ("M", "the processor reported a machine check"), 5: ("B", "a bad page was met"),
    6: ("U", "a program has asked for it"), 7: ("D", "the kernel has died: an oops or a BUG"),
    8: ("A", "an ACPI table was overridden"), 9: ("W", "the kernel has warned"),
    10: ("C", "a staging driver was loaded"), 11: ("I", "the firmware has a bug that is worked around"),
    12: ("O", "a module from outside of the kernel's tree was loaded"),
    13: ("E", "a module without a signature was loaded"), 14: ("L", "a soft lockup has occurred"),
    15: ("K", "a livepatch was loaded"), 16: ("X", "the distribution's own"), 17: ("T", "structures are randomised"),
    18: ("N", "an in-kernel test was run"), 19: ("J", "firmware was reached by fwctl")}
# Those after which nothing that the kernel says can be relied on, and the lesser one of a warning.
GRAVE = "FRMBDLW"


def kernel(host):
    """Version and taints."""
    number = int(host.text("/proc/sys/kernel/tainted") or 0)
    return {
        "release": host.text("/proc/sys/kernel/osrelease"), "version": host.text("/proc/sys/kernel/version"),
        "lockdown": lockdown(host), "has_livepatch": host.exists("/sys/kernel/livepatch"),
        "taints": {TAINTS[bit][0]: TAINTS[bit][1] for bit in TAINTS if number >> bit & 1}}


def lockdown(host):
    """By which level the kernel is locked down; None if it is not, or does not say."""
    found = re.search(r"\[(\w+)\]", host.text("/sys/kernel/security/lockdown") or "")
    return found[1] if found and found[1] != "none" else None


def livepatches(host):
    """All livepatches, with what they patch."""
    found = []
    base = "/sys/kernel/livepatch"
    for name in host.names(base):
        folder = f"{base}/{name}"
        objects = {}
        for part in host.names(folder):
            if host.exists(f"{folder}/{part}/patched"):
                functions = [entry.partition(",")[0] for entry in host.names(f"{folder}/{part}") if "," in entry]
                objects[part] = {"patched": host.text(f"{folder}/{part}/patched") == "1", "functions": functions}
        found.append({"name": name, "enabled": host.text(f"{folder}/enabled") == "1",
                      "transition": host.text(f"{folder}/transition") == "1", "objects": objects})
    return found
