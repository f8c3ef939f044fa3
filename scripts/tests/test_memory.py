# SPDX-License-Identifier: GPL-2.0
"""Every allocation of ours failed once, one by one, on the debug kernel: by scripts/tests/failnth.py."""

import pytest

from conftest import KERNEL
from guestlib.guest import Guest, new_results


@pytest.fixture(name="alone", scope="module")
def alone_fixture():
    """A guest with one processor: a transition of the livepatch is soon over there."""
    with Guest(KERNEL, smp=1, results=new_results("test_memory")) as guest:
        yield guest


@pytest.mark.skipif(KERNEL != "debug", reason="only the debug kernel can let allocations fail: 'make test-debug'")
@pytest.mark.parametrize("what", ["load", "fabric", "configfs", "smp"])
def test_each_allocation_fails_once(alone, what):
    status, out, err = alone.run(f"/src/scripts/tests/failnth.py {what}", timeout=3600)
    print(out)
    assert status == 0, out + err
