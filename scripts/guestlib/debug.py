# SPDX-License-Identifier: GPL-2.0
"""Kernels that watch themselves: how they are started, and what they are asked before they go."""

import re
import time

# Those with KASAN, lockdep and kmemleak.
KERNELS = ("debug",)

# All reports and not only the first; and with what it takes for kmemleak to see every leak.
ARGUMENTS = "kasan_multi_shot slab_debug=FZU"

# How much longer a kernel may take.
SLOWNESS = {"debug": 4, "kcsan": 6}

KMEMLEAK = "/sys/kernel/debug/kmemleak"

# kmemleak believes in a leak when the object is so old, in seconds, and did not change between two scans.
AGE = 5

# What is done first. On debug, KASAN is kept quiet about faults of mainline's that would have lockdep stop. KCSAN looks at
# one access in 250 and not in 4000, and waits longer for another, since an emulated processor does less meanwhile.
FIRST = {
    "debug": "[ ! -e $MODULES/quiet.ko ] || { modprobe ib_core && insmod $MODULES/quiet.ko; }",
    "kcsan": "cd /sys/module/kcsan/parameters && echo 250 >skip_watch && echo 200 >udelay_task && echo 100 >udelay_interrupt",
}


def prepare(guest):
    """Does what is done first."""
    if guest.kind in FIRST:
        guest.check(FIRST[guest.kind])


def last_words(guest):
    """What the kernel has to complain of that it says only when it is asked."""
    return leaks(guest) + sleepers(guest)


def leaks(guest):
    """The reports of kmemleak, one an object."""
    guest.check(f"echo scan >{KMEMLEAK}", timeout=300)
    time.sleep(AGE + 1)
    guest.check(f"echo scan >{KMEMLEAK}", timeout=300)
    found = guest.check(f"cat {KMEMLEAK}", timeout=300)
    return [text for text in re.split(r"^(?=unreferenced object)", found, flags=re.MULTILINE) if text.strip()]


def sleepers(guest):
    """Says so when lockdep does not look any more, which makes its silence worthless."""
    on = re.search(r"debug_locks: *(\d)", guest.check("cat /proc/lockdep_stats"))
    return [] if on and on[1] == "1" else ["lockdep does not look any more: 'Disabling lock debugging' tells when that began"]
