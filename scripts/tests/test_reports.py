# SPDX-License-Identifier: GPL-2.0
"""What counts as a fault in a console log."""

import pytest

from guestlib import reports

# First lines of reports as the kernel prints them, one of each kind.
OPENERS = [
    "------------[ cut here ]------------",
    "WARNING: possible circular locking dependency detected",
    "WARNING: inconsistent lock state",
    "WARNING: suspicious RCU usage",
    "BUG: KASAN: slab-out-of-bounds in ib_sa_add_one+0x1/0x2 [ib_core]",
    "BUG: KCSAN: data-race in a / b",
    "BUG: KFENCE: use-after-free read in a+0x1/0x2",
    "BUG: kernel NULL pointer dereference, address: 0000000000000000",
    "BUG: unable to handle page fault for address: ffffffffffffffff",
    "BUG: sleeping function called from invalid context at kernel/locking/mutex.c:1",
    "BUG: scheduling while atomic: sh/1/0x00000002",
    "BUG kmalloc-64 (Tainted: G): Poison overwritten",
    "watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [sh:1]",
    "Oops: Oops: 0002 [#1] SMP",
    "Oops: general protection fault, probably for non-canonical address 0x1: 0000 [#1] SMP",
    "Kernel panic - not syncing: Fatal exception",
    "UBSAN: array-index-out-of-bounds in a.c:1:2",
    "kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
    "INFO: task sh:1 blocked for more than 120 seconds.",
    "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
    "rcu: INFO: rcu_preempt self-detected stall on CPU",
    "INFO: trying to register non-static key.",
    "rust_kernel: panicked at rust/ib_smi.rs:1:2:",
    "Call Trace:",
]

# Lines of a healthy boot that look a little like trouble.
HARMLESS = [
    "debug: unmapping init [mem 0xffffffff83a00000-0xffffffff83bfffff]",
    "ib_smi: loading out-of-tree module taints kernel.",
    "livepatch: enabling patch 'ib_smi'",
    "calibrate_delay_direct() failed to get a good estimate for loops_per_jiffy.",
    "x86/mm: Checked W+X mappings: passed, no W+X pages found.",
    "rcu: Preemptible hierarchical RCU implementation.",
    "RAS: Correctable Errors collector initialized.",
    "# dr_cases: pass:3 fail:0 skip:0 total:3",
]

KASAN = """==================================================================
BUG: KASAN: slab-out-of-bounds in ib_sa_add_one+0x1/0x2 [ib_core]
Read of size 4 at addr ffff888000000000 by task insmod/1
Call Trace:
 <TASK>
 ib_sa_add_one+0x1/0x2
 </TASK>
Allocated by task 1:
=================================================================="""


@pytest.mark.parametrize("line", OPENERS)
@pytest.mark.parametrize("prefix", ["", "[    1.234567] ", "[   12.345678][    T1] "])
def test_opens_a_report(line, prefix):
    assert len(reports.find(f"{prefix}{line}\n")) == 1


@pytest.mark.parametrize("line", HARMLESS)
def test_harmless(line):
    assert not reports.find(f"[    1.234567] {line}\n")


def test_one_report_is_found_once():
    found = reports.find(KASAN + "\n[ 1.0] next\n" + KASAN)
    assert found == [KASAN.partition("\n")[2]] * 2


def test_expected_reports():
    other = "[    2.000000] WARNING: something else\n"
    assert not reports.unexpected(KASAN, [r"KASAN: .* in ib_sa_add_one"])
    assert reports.unexpected(KASAN + "\n" + other, [r"KASAN: .* in ib_sa_add_one"]) == ["WARNING: something else"]
