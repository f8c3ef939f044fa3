# SPDX-License-Identifier: GPL-2.0
"""What the devices of this host are called, and which LIDs they have."""

from .counters import SYSFS
from .event import PERMISSIVE


def words(pattern, folder):
    """The devices with what such a file of theirs says."""
    for file in sorted(folder.glob(pattern)):
        yield file.relative_to(folder).parts[0], file.read_text(encoding="utf-8", errors="replace").strip()


def guids(folder=SYSFS):
    """The devices by GUID."""
    return {int(text.replace(":", ""), 16): device for device, text in words("*/node_guid", folder)}


def descriptions(folder=SYSFS):
    """The node descriptions by device."""
    return dict(words("*/node_desc", folder))


def lids(folder=SYSFS):
    """The LIDs of all ports: of one with an LMC there are several."""
    found = set()
    for file in folder.glob("*/ports/*/lid"):
        try:
            first, lmc = int(file.read_text(), 0), int((file.parent / "lid_mask_count").read_text())
        except OSError:
            # Its device does not answer, or is gone.
            continue
        found |= set(range(first, first + (1 << lmc)))
    return found - {0, PERMISSIVE}
