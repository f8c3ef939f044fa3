# SPDX-License-Identifier: GPL-2.0
"""The KUnit suites, and a cut through all else, on the debug kernel, for every run of the tests.

`make test-debug` runs the whole there.
"""

import pytest

import kunit
import test_send_queue
import test_smi
from test_smi import DEBUG

PROCESSORS = 2
CONFIG = "/sys/kernel/config/ibfabric"


def test_there_are_suites():
    assert {"kunit_rules", "kunit_smi"} <= set(kunit.MODULES), f"not in {kunit.BUILD}"


@pytest.mark.parametrize("name", kunit.MODULES)
def test_kunit(guest_debug, parts, tmp_path, name):
    kunit.run(guest_debug, parts, tmp_path, name)


KTAP = """[    1.0] KTAP version 1
[    1.0] 1..1
[    1.0]     KTAP version 1
[    1.0]     # Subtest: made_up
[    1.0]     1..3
[    1.0]     ok 1 good
[    1.0]     not ok 2 bad
[    1.0]     ok 3 later # SKIP no device
[    1.0] not ok 1 made_up
"""


def test_bad_cases_are_seen(tmp_path):
    """insmod returns 0 for this log."""
    found, _ = kunit.parse(KTAP, tmp_path)
    assert found == [
        ("passed", "made_up.good", ""),
        ("failed", "made_up.bad", ""),
        ("skipped", "made_up.later", "no device"),
    ]


def test_a_log_without_cases_has_none(tmp_path):
    found, _ = kunit.parse("[    1.0] KTAP version 1\n[    1.0] 1..0\n", tmp_path)
    assert not [case for case in found if case[0] == "passed"]


@pytest.fixture(name="pair")
def pair_fixture(guest_debug):
    """Two HCAs and a switch, with the module loaded."""
    guest_debug.check(
        "modprobe ib_umad; [ -d /sys/module/ibfabric ] || insmod $MODULES/ibfabric.ko topology=pair\n"
        "[ -d /sys/module/ib_smi ] || /src/scripts/load")
    return guest_debug


def test_every_vector(pair, parts):
    test_smi.test_every_vector(pair, parts)


def test_a_client_on_each_node(pair):
    for device, path, node in (("hca0", "0,1,2", "hca1"), ("sw0", "0,2", "hca1"), ("hca1", "0,1", "sw0"), ("hca0", "0", "hca0")):
        assert test_smi.guid(pair, node) in pair.check(f"/src/scripts/dr-smp -C {device} --timeout 2000 {path}")


def test_what_is_kept_can_be_read(pair):
    pair.check(f"cd {DEBUG}/ib_smi && grep -r . . >/dev/null && echo clear >ledger && echo off >ledger && echo on >ledger\n"
               f"cd {DEBUG}/ibfabric && cat nodes ports links posts counters lfts wire >/dev/null")


def test_what_finds_no_room_is_lost(pair):
    with test_send_queue.holding(pair):
        test_send_queue.test_what_finds_no_room_is_lost(pair)


def test_all_comes_and_goes_under_traffic(pair):
    pair.check(
        f"cd {CONFIG} && mkdir nodes/hca1 nodes/sw0 links/hca0:1-sw0:1 faults/sw0 faults/sw0/1\n"
        "echo '20 every 3' >faults/sw0/1/delay\n"
        "(while [ ! -e /tmp/stop ]; do ibnetdiscover -C hca0 >/dev/null 2>&1; done) &\n"
        "(sleep 1; echo 0 >nodes/hca1/live; echo 1 >nodes/hca1/live\n"
        " echo down >links/hca0:1-sw0:1/state; echo up >links/hca0:1-sw0:1/state\n"
        " rmdir faults/sw0/1 faults/sw0; echo 0 >nodes/sw0/live; echo 1 >nodes/sw0/live) & changes=$!\n"
        "/src/scripts/unload && /src/scripts/load || exit 1\n"
        "wait $changes; touch /tmp/stop; wait; rm /tmp/stop", timeout=180)
    assert test_smi.guid(pair, "hca1") in pair.check("/src/scripts/dr-smp -C hca0 --timeout 2000 0,1,2")


def test_all_goes(pair):
    pair.check(f"/src/scripts/unload && cd {CONFIG} && rmdir links/* nodes/* && rmmod ibfabric")
