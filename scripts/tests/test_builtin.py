# SPDX-License-Identifier: GPL-2.0
"""ib_core built into the kernel: a livepatch under the wrong name would load and patch nothing."""

from pathlib import Path

import pytest

from conftest import boot
from test_smi import guid, load, posts


@pytest.fixture(name="guest", scope="module")
def guest_fixture(request):
    """A guest with ib_core built into its kernel."""
    if not (Path("/boot/vmlinux-builtin").exists() and Path("/src/build/builtin/ib_smi.ko").exists()):
        pytest.skip("no kernel with ib_core built in is set up: 'make test-builtin' does it, in 12 minutes")
    with boot("builtin", request) as guest:
        yield guest


def test_it_patches_the_kernel_itself(guest):
    load(guest, "chain switches=3")
    assert guest.check("cat /sys/kernel/livepatch/ib_smi/vmlinux/patched").strip() == "1"


def test_switches_pass_on(guest):
    load(guest, "chain switches=3")
    before = posts(guest)
    assert guid(guest, "hca1") in guest.check("smpquery -C hca0 -D nodeinfo 0,1,5,8,6")
    assert posts(guest) - before == 8


def test_it_unloads(guest):
    load(guest, "pair")
    guest.check("/src/scripts/unload")
    assert guest.run("smpquery -C hca0 -t 100 -D nodeinfo 0,1")[0] != 0
