# SPDX-License-Identifier: GPL-2.0
"""Where the cache has which kernel, by scripts/pins: as `linux_of` of scripts/lib.sh."""

import os
import re
from pathlib import Path

CACHE = Path(os.environ.get("IB_SMI_CACHE", "/cache"))
PINS = Path(__file__).parents[1] / "pins"


def stock():
    """The releases of Debian's kernels, by name."""
    return dict(re.findall(r"^(stock(?:-[^=]*)?)=(.*)$", PINS.read_text(), re.MULTILINE))


def folder(kind="stock"):
    """The folder with a kernel's source, and with its build folder. Others than Debian's are built from `stock`."""
    pins = stock()
    series = ".".join(pins.get(kind, pins["stock"]).split(".")[:2])
    return CACHE / f"linux-{series}"
