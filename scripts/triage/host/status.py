# SPDX-License-Identifier: GPL-2.0
"""The whole of what `ib-smi status` says, as data and as text."""

from dataclasses import asdict

from .devices import MAD, devices
from .kernel import kernel, livepatches
from .modules import CORE, modules, smi
from .tracing import tracing
from .trouble import PROBLEM, troubles


def status(host):
    """All there is to know, as a dictionary."""
    found = {"kernel": kernel(host), "module": smi(host), "livepatches": livepatches(host), "modules": modules(host),
             # A folder that ib_umad makes, be it a module or built in.
             "has_umad": host.exists(MAD), "devices": devices(host), "tracing": tracing(host)}
    found["refused"] = sorted(set(host.refused))
    found["troubles"] = [asdict(trouble) for trouble in troubles(found)]
    return found


def is_wrong(found):
    """Whether there is a problem."""
    return any(trouble["level"] == PROBLEM for trouble in found["troubles"])


def lines(found):
    """The status as text."""
    yield from of_kernel(found)
    yield from of_modules(found)
    yield from of_devices(found)
    yield from of_tracing(found)
    yield ""
    if not found["troubles"]:
        yield "Nothing looks wrong."
    for trouble in found["troubles"]:
        yield f"{trouble['level'].upper()}: {trouble['what']}"
        if trouble["do"]:
            yield f"    {trouble['do']}"


def of_kernel(found):
    """Kernel, module and livepatches."""
    yield f"kernel      {found['kernel']['release']} {found['kernel']['version'] or ''}".rstrip()
    taints = found["kernel"]["taints"]
    yield f"tainted     {''.join(taints)} ({'; '.join(taints.values())})" if taints else "tainted     no"
    module = found["module"]
    if module["loaded"]:
        same = {True: f"the same as {module['file']}", False: f"NOT {module['file']}",
                None: "not compared with a file"}[module["is_file"]]
        yield f"ib_smi      {module['state']}, build ID {(module['build_id'] or 'not told')[:12]}, {same}"
    else:
        yield f"ib_smi      not loaded{', built: ' + module['file'] if module['file'] else ''}"
    for patch in found["livepatches"]:
        state = "enabled" if patch["enabled"] else "disabled"
        yield f"livepatch   {patch['name']}: {state}{', in transition' if patch['transition'] else ''}"
        for name, part in patch["objects"].items():
            yield (f"            {name} {'patched' if part['patched'] else 'not patched'}: "
                   f"{', '.join(part['functions'])}")


def of_modules(found):
    """The modules in the order of loading."""
    names = [module["name"] + (f" ({module['taint']})" if module["taint"] else "") for module in found["modules"]]
    if names:
        yield f"modules     {' < '.join(names)}    (loaded from left to right)"
    else:
        yield f"modules     {CORE} is not loaded, or built in"


def of_devices(found):
    """The devices and their ports."""
    if not found["devices"]:
        yield "devices     none"
    for device in found["devices"]:
        more = "".join(f", {name} {device[key]}" for key, name in (
            ("driver", "driver"), ("firmware", "firmware"), ("board", "board")) if device[key])
        yield f"{device['name']:<11} {device['kind']} {device['guid']} \"{device['description']}\"{more}"
        for port in device["ports"]:
            yield f"  port {port['number']:<4} {of_port(port)}"


def of_port(port):
    """A port in a line."""
    words = [f"{port['state']} {port['phys_state']}", port["rate"] or "no rate"]
    if port["link_layer"] not in (None, "InfiniBand"):
        return ", ".join([*words, port["link_layer"]])
    words.append(f"LID {port['lid']}, SM LID {port['sm_lid']}")
    if port["qp0"] is not None:
        words.append(f"QP0 {port['qp0']}")
    words.append(" ".join(filter(None, (port["umad"], port["issm"]))) or "no umad")
    if port["is_sm"]:
        words.append("IsSM")
    return ", ".join([*words, *port["users"]])


def of_tracing(found):
    """Events, discards and the ledger."""
    tracing = found["tracing"]
    on = [name for name, is_on in tracing["events"].items() if is_on]
    state = {None: "told to root alone", False: "none"}.get(tracing["has_events"], ", ".join(on) + " on" if on else "off")
    yield (f"tracing     tracefs {tracing['tracefs'] or 'not mounted'}, debugfs "
           f"{'mounted' if tracing['debugfs'] else 'not mounted'}, events {state}")
    if tracing["discards"] is not None:
        counted = ", ".join(f"{name} {count}" for name, count in tracing["discards"].items())
        yield f"discards    {counted or 'none'}"
    if tracing["ledger"] is not None:
        counted = ", ".join(f"{count} {name}" for name, count in sorted(tracing["ledger"].items()))
        yield f"ledger      {counted or 'empty'}"
