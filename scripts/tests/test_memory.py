# SPDX-License-Identifier: GPL-2.0
"""Every allocation of ours failed once, one by one, on the debug kernel: by scripts/tests/failnth.py."""

import pytest

from conftest import KERNEL


@pytest.mark.skipif(KERNEL != "debug", reason="only the debug kernel can let allocations fail: 'make test-debug'")
@pytest.mark.parametrize("what", ["load", "fabric", "configfs", "smp"])
def test_each_allocation_fails_once(guest_stock, what):
    status, out, err = guest_stock.run(f"/src/scripts/tests/failnth.py {what}", timeout=1500)
    print(out)
    assert status == 0, out + err
