# SPDX-License-Identifier: GPL-2.0
"""What to check next: commands, each with what it shows."""

from . import names
from .event import PERMISSIVE

# Why an SMP is discarded: where to look.
LOOK = {
    "hop-count": "the sender: no path has more than 63 hops",
    "hop-pointer": "the sender: it starts with Hop Pointer 0, and the SMI moves it",
    "wrong-port": "the port: send by the port that element 1 of the path names (smpquery -P), or change the path",
    "nowhere-to-go": "the sender: it must set DrSLID when it sends by LID",
    "not-returning": "the driver of this node: its SMA has to set D in an answer",
    "in-transition": "nothing: send again; 'ib-smi status' says whether the transition is over",
    "no-sma": "the driver of this node: it needs process_mad, or an agent of its own",
    "not-by-lid": "the sender: Hop Pointer and Hop Count say that the directed part is over",
    "no-agent": "the kernel log of that host: dmesg | grep ib_smi",
    "queue-full": "load: more SMPs come than the port can send; is somebody sweeping without pause?",
    "no-memory": "memory of that host: dmesg | grep -i 'out of memory\\|allocation failure'",
    "post-failed": "the driver of that node: dmesg",
    "send-failed": "the device or driver of that node: dmesg",
    "not-asked": "the sender: who answers must copy the TID of the request",
    "not-from-wire": "the sender: its SMI has to start the path",
}
SWALLOWED = "{}: not the cable, but the firmware, driver or SMI of that node"
# Commands that send what only InfiniBand has.
INFINIBAND = ("smpquery", "sminfo", "ibroute", "ibtracert", "ibnetdiscover", "ibqueryerrors")


def checks(request, finding, scene):
    """What to do next about a finding: (command, what it shows); no command where there is none."""
    advise = globals().get("after_" + finding.verdict.replace("-", "_"))
    found = advise(request, finding, scene) if advise else []
    return [(command, shows) for command, shows in found
            if command is None or not request.is_opa or not command.startswith(INFINIBAND)]


def start(request):
    """The options that name the sender."""
    origin = request.origin
    return f"-C {origin[0]} -P {origin[1]} " if origin and origin[1] else f"-C {origin[0]} " if origin else ""


def query(request, what, path):
    """A query by a path."""
    if request.is_opa:
        return f"dr-smp --opa {start(request)}--attribute {what} {names.path(path)}"
    return f"smpquery {start(request)}-D {what} {names.path(path)}"


def ask_node(request):
    """A query of the node that was asked; None if its path is not known."""
    path = prefix(request, request.count)
    return None if path is None else query(request, "nodeinfo", path)


def prefix(request, hops):
    """The first hops of a path; None if it is not known, or does not start at the sender."""
    return None if request.path is None or request.slid != PERMISSIVE else request.path[:max(hops, 0)]


def port_state(request, path, port):
    """A query of a port's state at the end of a path."""
    # Of Omni-Path's ports the modifier has the number too, in its high byte.
    return query(request, f"portinfo --modifier {1 << 24 | port:#x}", path) if request.is_opa else (
        f"{query(request, 'portinfo', path)} {port}")


def after_never_left(request, finding, _):
    """The sender is at fault."""
    yield from by_reason(request, finding)
    if finding.reason is None:
        yield None, "what the command itself says of the send, and the driver of that device: dmesg"
    yield "ib-smi status", "ports, agents and the module of this host"


def after_dropped(request, finding, _):
    """A rule says why."""
    yield from by_reason(request, finding)


def by_reason(request, finding):
    """What a reason calls for."""
    before = prefix(request, finding.hop)
    if finding.reason in ("no-such-port", "port-zero") and before is not None:
        yield query(request, "nodeinfo", before), f"NumPorts of {finding.device}: the path can leave by 1 to that"
    elif finding.reason == "ca-in-transit" and finding.hop == request.count:
        yield None, (f"the sender: {finding.device} is a CA, and sends nothing on by LID. DrDLID has to be permissive, or "
                     "the directed part has to end at a switch")
    elif finding.reason == "ca-in-transit" and before is not None:
        yield query(request, "nodeinfo", before), f"the path has to end at {finding.device}, which is a CA"
    elif finding.reason in LOOK:
        yield None, LOOK[finding.reason]


def after_never_arrived(request, finding, scene):
    """A link, a far end without a buffer, or something that picks packets out."""
    if finding.next and finding.next.startswith("LID"):
        lid = int(finding.next.split()[1], 16)
        before = prefix(request, finding.hop - 1)
        if before is not None:
            yield f"ibroute {start(request)}-D {names.path(before)}", (
                f"has the forwarding table of {finding.device} a port for {lid}?")
        yield f"ibtracert {request.slid if request.slid != PERMISSIVE else 'LID-OF-THE-SWITCH'} {lid}", "the way by LID"
        return
    yield from link(request, finding, scene)
    if finding.cause == "swallowed":
        yield None, SWALLOWED.format(finding.next)
    if finding.cause == "no-buffer":
        yield None, f"{finding.next}: VL15 has no flow control; send less at a time (OpenSM: max_wire_smps)"
    if scene.crossed_from(finding.device, finding.port):
        yield None, ("a node at the far end that picks SMPs out: does this one carry an M_Key, or is it a Set? Transit "
                     "must not look at either. Send it again without (smpquery without -y)")


def link(request, finding, scene):
    """The state of a link."""
    before = prefix(request, finding.hop - 1)
    if before is not None:
        yield port_state(request, before, finding.port), (
            f"LinkState and PhysLinkState of port {finding.port} of {finding.device}")
        if finding.cause not in ("no-link", "link-down"):
            yield query(request, "nodeinfo", request.path[:finding.hop]), "whether the far end answers at all"
    yield from in_virtual_fabric(finding, scene)


def in_virtual_fabric(finding, scene):
    """What the virtual fabric says of a port."""
    if scene.told is not None and scene.told.virtual and finding.port:
        virtual = "/sys/kernel/debug/ibfabric"
        yield (f"grep {finding.device}:{finding.port} {virtual}/links {virtual}/counters",
               "in the virtual fabric: is there a link, and what do its ends count?")


def after_misrouted(request, finding, _):
    """A switch at fault."""
    before = prefix(request, finding.hop - (finding.way == "request"))
    if finding.way == "request" and request.origin and finding.device == request.origin[0] and finding.hop == 1:
        yield None, "the sender: what goes a directed route from its start on has to be addressed to the permissive LID"
    elif before is not None:
        yield query(request, "nodeinfo", before), f"who {finding.device} is; its firmware or SMI is at fault"
    yield "ibnetdiscover >FILE; smi-triage --fabric FILE …", "the same, judged by the cables that were discovered"


def after_wrong_node(request, _, __):
    """A path, or a fabric that is not as described."""
    if ask := ask_node(request):
        yield ask, "GUID of the node that answers"
    yield "ibnetdiscover", "the cables as they are now"


def after_error_status(request, finding, _):
    """An SMA that refuses."""
    number = finding.status >> 2 & 7
    if number == 7 and request.attr == names.PORT_INFO:
        yield ask_node(request), (f"NumPorts: the modifier was {request.mod:#x}. For PortInfo it is the port: 1 to "
                                  "NumPorts, and 0 on a switch alone; ports count from 1")
    elif number == 7:
        yield None, f"the modifier {request.mod:#x}, or in a Set the values: the SMA does not take them"
    elif number == 3:
        yield ask_node(request), "NodeType: a CA has no SwitchInfo and no forwarding tables"
    elif finding.status & 1:
        yield None, "nothing: the SMA is busy; ask again"
    else:
        yield None, "the sender: class version and method"


def after_silent(request, _, __):
    """An M_Key, most often."""
    if ask := ask_node(request):
        yield ask, "whether it answers anything"
    if ask and not request.is_opa:
        yield ask.replace("nodeinfo", "-y M_KEY portinfo"), (
            "with the right M_Key (8 bytes): Mkey and ProtectBits. At levels 2 and 3 a Get without it is not answered, a "
            "Set at no level")
    yield None, "OpenSM's log of traps: trap 256 is a wrong M_Key"


def after_nobody_listens(request, finding, _):
    """Somebody has to be started."""
    if request.attr in names.SM_ATTRIBUTES or request.method in names.UNANSWERED:
        yield f"sminfo {'-C ' + request.origin[0] if request.origin else ''}".strip(), "where the subnet manager is"
        yield None, f"start one on {finding.device}, or ask another port"
        return
    yield "ib-smi status", f"on the host of {finding.device}: is there an agent on QP0 of this port?"


def after_lost_on_return(request, finding, scene):
    """The way back."""
    if finding.reason in LOOK:
        yield None, LOOK[finding.reason]
    if finding.cause == "return-path":
        yield None, ("the nodes between that which recorded the element and that which found it changed: the Return "
                     "Path is written on the way out alone, and only read on the way back")
    elif finding.reason is None and finding.port and finding.hop and (path := prefix(request, finding.hop)) is not None:
        yield port_state(request, path, finding.port), (
            f"the state of the port by which the answer left {finding.device}, if that still answers")
        yield from in_virtual_fabric(finding, scene)
    if finding.cause == "no-buffer":
        yield None, f"{finding.next}: it had no receive buffer; send less at a time"
    elif finding.cause == "swallowed":
        yield None, SWALLOWED.format(finding.next)
    elif scene.counters == {}:
        yield f"ibqueryerrors {'-C ' + request.origin[0] if request.origin else ''}".strip(), (
            "VL15Dropped, errors and discards of ports on the way")


def after_late(request, finding, _):
    """A timeout that is too short, or a link or a node that is slow."""
    yield "smpquery -t MS …; OpenSM: transaction_timeout", "a longer timeout"
    before, after = finding.held_up or (None, None)
    if before is not None and before.device != after.device:
        if (path := prefix(request, before.place)) is not None and before.egress:
            yield port_state(request, path, before.egress), (
                f"the link from {before.where} to {after.where}, and what else goes over it")
    elif ask := ask_node(request):
        yield ask + "    # again and again", (
            "whether it is always slow: the RespTimeValue of its PortInfo is what it promises")


def after_unknown(request, finding, _):
    """The trace does not reach as far: ask hop by hop."""
    path = prefix(request, request.count)
    if path and finding.hop is not None and finding.hop <= len(path):
        ways = " ".join(names.path(path[:hops]) for hops in range(finding.hop, len(path) + 1))
        ask = query(request, "nodeinfo", ()).rsplit(" ", 1)[0]
        ask = ask.replace("smpquery", "smpquery -t 200").replace("--opa", "--opa --timeout 200")
        yield f"for p in {ways}; do {ask} $p >/dev/null 2>&1 && echo $p answers || echo $p does not; done", (
            "the first that does not answer is the hop at fault")
    elif finding.next and finding.next.startswith("LID"):
        yield f"smpquery nodeinfo {int(finding.next.split()[1], 16)}", "whether there is a way by LID"
    yield "smi-triage --watch 10s", "the same on the hosts on the way, where they run this module too"
    yield "ibqueryerrors", "VL15Dropped, errors and discards of ports on the way"
