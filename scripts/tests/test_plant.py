# SPDX-License-Identifier: GPL-2.0
"""Faults on purpose, on the kernels that look for such: each kind is seen, so that its silence elsewhere means something."""

import pytest

from conftest import KERNEL
from guestlib import debug, reports
from guestlib.guest import Guest, new_results
from smp import make

pytestmark = pytest.mark.skipif(KERNEL not in ("debug", "kcsan"), reason="takes minutes: 'make test-debug', 'make test-kcsan'")
debug_only = pytest.mark.skipif(KERNEL == "kcsan", reason="not what KCSAN looks for")

# The fault's number in modules/plant.rs, what has to be set before, and how the report begins. A report of KASAN
# ends lockdep, so that those come last.
RACES = [(11, "", r"^BUG: KCSAN: data-race in .*(.|\n)*\[plant\]")]
FAULTS = RACES if KERNEL == "kcsan" else [
    (5, "", r"^WARNING: possible circular locking dependency detected"),
    (4, "", r"^BUG: sleeping function called from invalid context"),
    (6, "", r"^UBSAN: shift-out-of-bounds in .*faults\.c"),
    (8, "", r"^ODEBUG: object \S+ is on stack"),
    (9, "echo 2 >/proc/sys/kernel/watchdog_thresh", r"^watchdog: BUG: soft lockup"),
    (10, "echo 10 >/proc/sys/kernel/watchdog_thresh; echo 4 >/proc/sys/kernel/hung_task_timeout_secs",
     r"^INFO: task insmod:\d+ blocked for more than 4 seconds"),
    (7, "", r"^UBSAN: array-index-out-of-bounds in .*faults\.c"),
    (1, "", r"^BUG: KASAN: slab-out-of-bounds in .*\[plant\]"),
    (2, "", r"^BUG: KASAN: slab-use-after-free in .*\[plant\]"),
]


@pytest.fixture(name="planted", scope="module")
def planted_fixture():
    """A guest of its own, whose reports are looked at here."""
    guest = Guest(KERNEL, results=new_results("test_plant"))
    guest.start()
    yield guest
    guest.stop()


@pytest.mark.parametrize("number, before, pattern", FAULTS, ids=lambda value: str(value) if isinstance(value, int) else "")
def test_each_fault_is_reported(planted, number, before, pattern):
    planted.check(before or "true")
    seen = len(reports.find(planted.console))
    # The fault was there, and the module is not loaded for that.
    assert "Operation canceled" in planted.run(f"insmod $MODULES/plant.ko fault={number}", timeout=60)[2]
    planted.settle()
    found = reports.find(planted.console)[seen:]
    assert reports.unexpected("\n".join(found), [pattern]) != found, found


@debug_only
def test_leaks_are_found_and_lockdep_is_known_to_sleep(planted):
    assert debug.sleepers(planted)
    assert debug.leaks(planted) == []
    planted.run("insmod $MODULES/plant.ko fault=3")
    found = debug.leaks(planted)
    # Registers and stacks may hold one or the other still.
    assert len(found) >= 6 and all('comm "insmod"' in text and "do_init_module" in text for text in found), found


@debug_only
def test_known_faults_of_mainline_are_kept_quiet():
    """None is reported with the module that keeps KASAN quiet, and each is without it; and lockdep sleeps then."""
    guest = Guest("debug", results=new_results("test_plant-known"))
    guest.start()
    try:
        # A Trap to the own node is for an agent.
        trap = make(0, 0, method=0x05).hex()
        pair = ("modprobe ib_umad; insmod $MODULES/ibfabric.ko topology=pair\n"
                "smpquery -C hca0 -t 100 -D nodeinfo 0,1; rmmod ibfabric; insmod $MODULES/ibfabric.ko topology=direct opa=1\n"
                f"/src/scripts/dr-smp -C hca0 --timeout 100 --raw {trap}; rmmod ibfabric")
        guest.run(pair)
        guest.settle()
        assert reports.find(guest.console) == [] and debug.sleepers(guest) == []
        guest.check("rmmod quiet")
        guest.run(pair)
        guest.settle()
        found = reports.find(guest.console)
        assert [text for text in found if "in ib_sa_add_one" in text.splitlines()[0]], found
        assert [text for text in found if "agent_send_response" in text], found
        assert [text for text in found if "in ib_post_send_mad" in text.splitlines()[0] and "size 2048" in text], found
        assert debug.sleepers(guest)
    finally:
        guest.stop()
