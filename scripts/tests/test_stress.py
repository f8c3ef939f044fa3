# SPDX-License-Identifier: GPL-2.0
"""Loading and unloading under traffic, by scripts/stress: a few cycles here, and many by 'make stress'."""

import pytest


PROCESSORS = 2


@pytest.mark.parametrize("what", [
    pytest.param("", id="nothing else", marks=pytest.mark.long), pytest.param("links,nodes,reversals", id="all else")])
def test_a_few_cycles(guest_stock, what):
    guest_stock.check("[ ! -d /sys/module/ib_smi ] || /src/scripts/unload; dmesg -c >/dev/null\n"
                      "rmdir /sys/kernel/config/ibfabric/*/* 2>/dev/null; [ ! -d /sys/module/ibfabric ] || rmmod ibfabric")
    out = guest_stock.check(f"/src/scripts/stress --cycles 3 --with '{what}'", timeout=400)
    assert out.endswith("whole\n"), out
