# SPDX-License-Identifier: GPL-2.0
"""Finds what the kernel complains about in its console log."""

import re

# A line that opens a report. Every kernel facility that the tests rely on to speak up is here.
OPENER = re.compile(
    r"""
      -{8,}\[\ cut\ here
    | ^WARNING:                                        # WARN() and lockdep
    | ^(=+\ )?BUG[:\ ]                                 # oops, KASAN, KCSAN, KFENCE, slab, atomic sleep
    | ^(watchdog:\ )?BUG:\ (soft|hard)\ lockup
    | ^watchdog:\ .*(hard\ LOCKUP|lockup)
    | ^Oops: | ^Oops\  | general\ protection\ fault | ^kernel\ BUG\ at | ^Internal\ error
    | ^Kernel\ panic | ^double\ fault | ^traps:\ PANIC
    | ^UBSAN: | \bKASAN: | \bKCSAN: | \bKFENCE: | \bKMSAN:
    | ^kmemleak:\ .*new\ suspected\ memory\ leaks | ^unreferenced\ object
    | ^INFO:\ task\ .*blocked\ for\ more
    | ^(rcu:\ )?INFO:\ rcu\w*\ .*(stall|detected)
    | ^INFO:\ trying\ to\ register\ non-static\ key
    | ^rust_kernel:\ panicked
    | ^Call\ Trace: | ^ODEBUG: | ^DMA-API:.*(error|not) | ^refcount_t:
    | ^list_(add|del)\ corruption | ^Bad\ page\ (state|map)
    """,
    re.VERBOSE,
)

# KCSAN sees many races of mainline's. Those with a function of ours among the callers are looked at.
OURS = re.compile(r"\[(ib_smi|ibfabric|plant)\]")

# The prefix that printk puts before a line: a time and, in some configurations, a caller.
PREFIX = re.compile(r"^(<\d+>)?(\[ *\d+\.\d+\](\[ *[TC]\d+\])? )?")

LONGEST = 120


def closer(line):
    """What the last line of a report looks like that opens with this line."""
    if re.search(r"cut here|^Oops|general protection|^kernel BUG|^BUG: (unable|kernel NULL)", line):
        return re.compile(r"---\[ end ")
    if line.startswith("Kernel panic"):
        return re.compile(r"---\[ end Kernel panic")
    if re.search(r"^=+ |\b(KASAN|KCSAN|KFENCE):", line):
        return re.compile(r"^={20,}$")
    if re.search(r"^(kmemleak|unreferenced object|rust_kernel|UBSAN|refcount_t)", line):
        return None
    return re.compile(r"^ *</TASK>|---\[ end ")


def find(console):
    """The reports in a console log, each as the text of its lines without their prefixes."""
    reports, current, end = [], None, None
    for raw in console.splitlines():
        line = PREFIX.sub("", raw.rstrip("\r"))
        if current is None:
            if not OPENER.search(line):
                continue
            current, end = [line], closer(line)
        else:
            current.append(line)
        if end is None or len(current) >= LONGEST or (len(current) > 1 and end.search(line)):
            reports.append("\n".join(current))
            current = None
    if current is not None:
        reports.append("\n".join(current[:40]))
    return reports


def unexpected(console, expected=()):
    """The reports that none of the regular expressions matches, without the races of mainline's."""
    patterns = [re.compile(pattern, re.MULTILINE) for pattern in expected]
    return [text for text in find(console) if not any(pattern.search(text) for pattern in patterns)
            and ("BUG: KCSAN: data-race" not in text or OURS.search(text))]
