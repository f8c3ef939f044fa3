# SPDX-License-Identifier: GPL-2.0
"""The devices of RDMA: their ports, and who has to do with QP0 there."""

import json
import re

CLASS = "/sys/class/infiniband"
MAD = "/sys/class/infiniband_mad"
IS_SM = 1 << 1


def devices(host):
    """All devices."""
    queue_pairs, files = smi_queue_pairs(host), mad_files(host)
    return [device(host, name, queue_pairs, files) for name in host.names(CLASS)]


def device(host, name, queue_pairs, files):
    """One device."""
    folder = f"{CLASS}/{name}"
    kind = (host.text(f"{folder}/node_type") or "").partition(":")[2].strip() or "unknown"
    driver = host.path(f"{folder}/device/driver")
    found = {
        "name": name, "kind": "switch" if kind.lower() == "switch" else kind,
        "guid": "0x" + (host.text(f"{folder}/node_guid") or "").replace(":", ""),
        "description": host.text(f"{folder}/node_desc") or "", "firmware": host.text(f"{folder}/fw_ver") or None,
        "board": host.text(f"{folder}/board_id") or host.text(f"{folder}/hca_type") or None,
        "driver": driver.resolve().name if driver.exists() else None,
        "ports": [port(host, name, int(number), queue_pairs, files)
                  for number in sorted(host.names(f"{folder}/ports"), key=int)]}
    return found


def port(host, name, number, queue_pairs, files):
    """One port."""
    folder = f"{CLASS}/{name}/ports/{number}"
    mask = int(host.text(f"{folder}/cap_mask") or "0", 16)
    own = files.get((name, number), {})
    return {
        "number": number, "state": word(host.text(f"{folder}/state")),
        "phys_state": word(host.text(f"{folder}/phys_state")),
        "rate": host.text(f"{folder}/rate"), "link_layer": host.text(f"{folder}/link_layer"),
        "lid": integer(host.text(f"{folder}/lid")), "sm_lid": integer(host.text(f"{folder}/sm_lid")),
        "is_sm": bool(mask & IS_SM), "umad": own.get("umad"), "issm": own.get("issm"),
        "users": own.get("users", []), "qp0": None if queue_pairs is None else queue_pairs.get((name, number), "none")}


def word(text):
    """The name behind a number: `4: ACTIVE`."""
    return None if text is None else text.partition(":")[2].strip() or text


def integer(text):
    """A number, if it is one."""
    try:
        return int(text, 0)
    except (TypeError, ValueError):
        return None


def smi_queue_pairs(host):
    """The states of QP0 by device and port, as the kernel tells them; None if it cannot be asked."""
    said = host.run("rdma", "-j", "resource", "show", "qp")
    try:
        entries = json.loads(said) if said is not None else None
    except ValueError:
        entries = None
    if entries is None:
        return None
    # The port of a switch, 0, is left out.
    return {(entry["ifname"], entry.get("port", 0)): entry.get("state", "?")
            for entry in entries if entry.get("type") == "SMI"}


def mad_files(host):
    """The files of ib_umad by device and port, with the programs that have them open."""
    found, places = {}, {}
    for entry in host.names(MAD):
        match = re.fullmatch(r"(umad|issm)\d+", entry)
        if not match:
            continue
        place = host.text(f"{MAD}/{entry}/ibdev"), integer(host.text(f"{MAD}/{entry}/port"))
        found.setdefault(place, {"users": []})[match[1]] = entry
        places[f"/dev/infiniband/{entry}"] = place
    for file, user in open_files(host, places):
        found[places[file]]["users"].append(f"{file.rpartition('/')[2]}: {user}")
    return found


def open_files(host, wanted):
    """Which programs have which of the wanted files open: (file, `opensm (123)`). Of others' only root is told."""
    if not wanted:
        return
    for pid in filter(str.isdigit, host.names("/proc")):
        seen = set()
        try:
            for entry in host.path(f"/proc/{pid}/fd").iterdir():
                seen.add(str(entry.readlink()))
        except OSError:
            continue
        for file in sorted(seen & wanted.keys()):
            yield file, f"{host.text(f'/proc/{pid}/comm')} ({pid})"
