# SPDX-License-Identifier: GPL-2.0
"""ib_core built into the kernel: a livepatch under the wrong name would load and patch nothing.

ib_cm is built in then too, which does not bear a switch; so the fabric here is of HCAs alone.
"""

from pathlib import Path

import pytest

from conftest import boot
from smp import follow
from test_smi import load


@pytest.fixture(name="guest", scope="module")
def guest_fixture(request):
    """A guest with ib_core built into its kernel."""
    if not (Path("/boot/vmlinux-builtin").exists() and Path("/src/build/builtin/ib_smi.ko").exists()):
        pytest.skip("no kernel with ib_core built in is set up: 'make test-builtin' does it, in 12 minutes")
    with boot("builtin", request) as guest:
        load(guest, "direct")
        yield guest


def test_it_patches_the_kernel_itself(guest):
    assert guest.check("cat /sys/kernel/livepatch/ib_smi/vmlinux/patched").strip() == "1"


def test_it_handles_smps(guest):
    (story, *_) = follow(guest, "smpquery -C hca0 -D nodeinfo 0,1 >/dev/null").values()
    assert [(e["event"], e["device"], e["rule"]) for e in story] == [
        ("send", "hca0", "C14-9:1"), ("recv", "hca1", "C14-9:3"),
        ("reply", "hca1", "C14-13:1"), ("recv", "hca0", "C14-13:3")]


def test_a_switch_is_refused(guest):
    guest.check("rmmod ibfabric")
    guest.dmesg(clear=True)
    assert guest.run("insmod $MODULES/ibfabric.ko topology=pair")[0] != 0
    assert "ib_cm" in guest.dmesg()
    guest.check("insmod $MODULES/ibfabric.ko topology=direct")


def test_it_unloads(guest):
    guest.check("/src/scripts/unload && smpquery -C hca0 -D nodeinfo 0,1")
