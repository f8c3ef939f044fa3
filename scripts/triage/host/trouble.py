# SPDX-License-Identifier: GPL-2.0
"""What looks wrong on a host, and what to do about it."""

from dataclasses import dataclass

from .kernel import GRAVE
from .modules import CORE, SMI, UMAD

PROBLEM, NOTE = "problem", "note"


@dataclass
class Trouble:
    """Something that is wrong, or merely to be known."""

    level: str
    what: str
    do: str = ""


def troubles(status):
    """All, the worst first."""
    found = [trouble for check in (of_kernel, of_module, of_livepatch, of_modules, of_devices, of_tracing)
             for trouble in check(status)]
    return sorted(found, key=lambda trouble: trouble.level != PROBLEM)


def of_kernel(status):
    """Taints that are not from the module, and what a kernel that is locked down refuses."""
    level = status["kernel"]["lockdown"]
    if level:
        yield Trouble(NOTE, f"the kernel is locked down ({level}): it loads signed modules alone, and refuses the ledger"
                      + (" and all tracing" if level == "confidentiality" else ""),
                      "'Signed modules' in Documentation/user-guide.rst")
    for letter, meaning in status["kernel"]["taints"].items():
        if letter in GRAVE:
            yield Trouble(PROBLEM, f"the kernel is tainted by {letter}: {meaning}",
                          "see dmesg; what it shows from then on may be wrong, until it is booted again")


def of_module(status):
    """Whether ib_smi is there, and is what is on disk."""
    module, switches = status["module"], [d["name"] for d in status["devices"] if d["kind"] == "switch"]
    if not module["loaded"]:
        if switches:
            names = ", ".join(switches[:4]) + (" …" if len(switches) > 4 else "")
            yield Trouble(PROBLEM, f"{SMI} is not loaded: with the stock SMI the switches here ({names}) answer no "
                          "directed route and pass none on", "scripts/load")
        else:
            yield Trouble(NOTE, f"{SMI} is not loaded: the stock SMI is at work", "scripts/load")
        if not status["kernel"]["has_livepatch"]:
            yield Trouble(PROBLEM if status["devices"] else NOTE, "this kernel has no livepatch: ib_smi cannot hook in",
                          "a kernel with CONFIG_LIVEPATCH")
    elif module["is_file"] is False:
        yield Trouble(PROBLEM, f"the module in memory is not the file {module['file']}: that was built later, or other "
                      "sources", "scripts/unload && scripts/load")


def of_livepatch(status):
    """Whether the functions are in place."""
    own = next((patch for patch in status["livepatches"] if patch["name"] == SMI), None)
    others = [patch for patch in status["livepatches"] if patch["name"] != SMI]
    if own is None:
        if status["module"]["loaded"]:
            yield Trouble(PROBLEM, f"{SMI} is loaded, but its livepatch is gone: another livepatch has replaced it, or "
                          "it was disabled", "scripts/unload, then scripts/load")
        return
    if own["transition"]:
        yield Trouble(PROBLEM, f"the livepatch is still being {'en' if own['enabled'] else 'dis'}abled: some SMPs are "
                      "dropped as in-transition", "wait; grep -H . /proc/*/task/*/patch_state says which tasks are left")
    elif not own["enabled"]:
        yield Trouble(PROBLEM, "the livepatch is disabled", "scripts/unload, then scripts/load")
    if not own["objects"] or not all(part["patched"] for part in own["objects"].values()):
        yield Trouble(PROBLEM, "the livepatch has patched nothing: ib_core is not loaded, or built in where the module "
                      "expects a module", f"modprobe {CORE}; else build against the tree of this kernel")
    mine = {name for part in own["objects"].values() for name in part["functions"]}
    for other in others:
        shared = sorted(mine & {name for part in other["objects"].values() for name in part["functions"]})
        if shared:
            yield Trouble(PROBLEM, f"the livepatch {other['name']} patches the same functions: {', '.join(shared)}; "
                          "the one that was enabled last is at work",
                          f"echo 0 >/sys/kernel/livepatch/{other['name']}/enabled")


def of_modules(status):
    """What has to be loaded."""
    names = {module["name"] for module in status["modules"]}
    if not status["devices"]:
        if CORE not in names and not status["module"]["loaded"]:
            yield Trouble(NOTE, "no RDMA here: ib_core is not loaded (or is built in), and there is no device",
                          "load the driver of the adapter, such as mlx5_ib, or ibfabric")
        else:
            yield Trouble(NOTE, "there is no RDMA device",
                          "load the driver of the adapter, such as mlx5_ib, or ibfabric")
        return
    layers = {port["link_layer"] for device in status["devices"] for port in device["ports"]}
    if "InfiniBand" in layers and not status["has_umad"]:
        yield Trouble(PROBLEM, f"{UMAD} is not loaded: smpquery, opensm and the like cannot send", f"modprobe {UMAD}")


def of_devices(status):
    """Ports that carry nothing, or have no subnet manager."""
    for device in status["devices"]:
        for port in device["ports"]:
            if port["link_layer"] != "InfiniBand":
                continue
            yield from of_port(f"{device['name']}:{port['number']}", device, port)
            if status["has_umad"] and not port["umad"]:
                yield Trouble(NOTE, f"{device['name']}:{port['number']} has no umad: it has no SMI", "")


ADVICE = {
    "Polling": "there is no peer at the other end, or no cable: check both ends",
    "Disabled": "it was disabled: ibportstate -D 0 PORT enable, or that at the other end",
    "Sleep": "it sleeps: ibportstate -D 0 PORT enable",
    "LinkErrorRecovery": "errors on the link: check cable and connectors, ibqueryerrors",
}


def of_port(name, device, port):
    """A port that is not Active, or has no subnet manager."""
    if port["state"] == "DOWN":
        yield Trouble(PROBLEM, f"{name} is DOWN, {port['phys_state']}: SMPs neither leave nor come",
                      ADVICE.get(port["phys_state"], "check the cable and the port at the other end"))
    elif port["state"] in ("INIT", "ARMED"):
        yield Trouble(NOTE, f"{name} is {port['state']}: no subnet manager has brought it up; directed routes work all "
                      "the same", "start opensm somewhere in the subnet, or see its log")
    elif port["state"] == "ACTIVE" and not port["sm_lid"] and device["kind"] != "switch":
        yield Trouble(NOTE, f"{name} is ACTIVE, but has no SM LID: no subnet manager looks after it",
                      "sminfo; start opensm")
    if port["qp0"] == "none" and port["issm"]:
        yield Trouble(PROBLEM, f"{name} has no QP0: the MAD layer does not serve it",
                      "dmesg: did ib_core fail to open it?")
    elif port["qp0"] == "none" and port["umad"]:
        yield Trouble(NOTE, f"{name} has no SMI: no SMP goes through this port", "")
    elif port["qp0"] not in (None, "none", "RTS"):
        yield Trouble(PROBLEM, f"QP0 of {name} is in state {port['qp0']}, and cannot send", "dmesg; reload its driver")


def of_tracing(status):
    """Whether SMPs can be seen."""
    tracing = status["tracing"]
    if not tracing["tracefs"]:
        yield Trouble(PROBLEM if status["module"]["loaded"] else NOTE, "tracefs is not mounted: no event can be seen",
                      "mount -t tracefs nodev /sys/kernel/tracing")
    if not tracing["debugfs"]:
        yield Trouble(PROBLEM if status["module"]["loaded"] else NOTE, "debugfs is not mounted: no counter can be seen",
                      "mount -t debugfs nodev /sys/kernel/debug")
    if tracing["has_events"] and not any(tracing["events"].values()):
        yield Trouble(NOTE, "the events are off", "smi-triage turns them on for itself; by hand: "
                      f"echo 1 >{tracing['tracefs']}/events/ib_smi/enable")
    if any(tracing["events"].values()) and not tracing["tracing_on"]:
        yield Trouble(PROBLEM, "events are on, but the ring buffer takes nothing",
                      f"echo 1 >{tracing['tracefs']}/tracing_on")
    if tracing["triggers"]:
        yield Trouble(NOTE, f"triggers are set: {', '.join(tracing['triggers'])}; the module cannot be unloaded with "
                      "them", "write each to its file once more, with ! before it")
    if tracing["discards"]:
        counted = ", ".join(f"{name} {count}" for name, count in tracing["discards"].items())
        yield Trouble(NOTE, f"SMPs were discarded since the module was loaded: {counted}",
                      "smi-triage --watch 10s says where and why, if it goes on")
    if status["refused"]:
        yield Trouble(NOTE, "not all of it may be read by this user", "as root it tells more")
