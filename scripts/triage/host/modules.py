# SPDX-License-Identifier: GPL-2.0
"""The modules of RDMA in the order in which they were loaded, and the file that ib_smi came from."""

import os
from pathlib import Path

from . import elf

TOP = Path(__file__).resolve().parents[3]
CORE, UMAD, SMI = "ib_core", "ib_umad", "ib_smi"


def modules(host):
    """ib_core and all that builds on it, the first that was loaded first."""
    lines = [line.split() for line in (host.text("/proc/modules") or "").splitlines()]
    users = {words[0]: words[3].strip(",-").split(",") for words in lines if len(words) > 3}
    wanted = {SMI, "ibfabric"} | reach(users, CORE)
    # The newest is the first line.
    return [{"name": words[0], "users": [user for user in users[words[0]] if user],
             "taint": host.text(f"/sys/module/{words[0]}/taint") or ""}
            for words in reversed(lines) if words[0] in wanted]


def reach(users, start):
    """A module and all that use it, directly or not."""
    found, todo = set(), [start]
    while todo:
        name = todo.pop()
        if name and name not in found:
            found.add(name)
            todo += users.get(name, [])
    return found


def smi(host):
    """ib_smi itself: whether it is loaded, and whether what is in memory is the file on disk."""
    loaded = host.exists(f"/sys/module/{SMI}")
    memory = elf.build_id(host.data(f"/sys/module/{SMI}/notes/.note.gnu.build-id")) if loaded else None
    file, disk = built(host)
    return {"loaded": loaded, "state": host.text(f"/sys/module/{SMI}/initstate") if loaded else None,
            "taint": host.text(f"/sys/module/{SMI}/taint") if loaded else None, "build_id": memory,
            "file": file and str(file), "file_build_id": disk,
            "is_file": None if memory is None or disk is None else memory == disk}


def built(host):
    """The file that scripts/load would take on this kernel, and its build ID."""
    release = host.text("/proc/sys/kernel/osrelease") or ""
    folders = [Path(os.environ["MODULES"])] if os.environ.get("MODULES") else []
    folders += [TOP / "build" / release, *sorted((TOP / "build").glob("*"))]
    for folder in folders:
        file = folder / "ib_smi.ko"
        try:
            data = file.read_bytes()
        except OSError:
            continue
        if elf.information(data).get("vermagic", "").startswith(f"{release} "):
            return file, elf.build_id(elf.sections(data).get(".note.gnu.build-id"))
    return None, None
