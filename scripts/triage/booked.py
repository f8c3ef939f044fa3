# SPDX-License-Identifier: GPL-2.0
"""Finds what happened to a request of which the ledger alone tells, since nobody has traced it.

The ledger has the last that a node of this host did with the request or its answer, but not which of the
two it was: that is inferred from the path, and from the links as far as they are known.
"""

from . import names, returning
from .event import PERMISSIVE
from .links import because, link_state
from .verdict import Finding


def judge(entry, scene):
    """What the ledger says of a request."""
    finding = decide(entry, scene)
    finding.evidence.append(f"ledger: {entry.text}")
    return finding


def decide(entry, scene):
    """The finding by the state of the entry."""
    end = {"hop": 0, "device": entry.device, "port": entry.port}
    if entry.state == "answered":
        return answered(entry)
    if entry.state == "waiting":
        return Finding("waiting", "its answer was still waited for")
    if entry.state == "late":
        return returning.too_late(entry.late_ms, certain=False, **end)
    if entry.state == "refused":
        return Finding("never-left", f"{entry.device}:{entry.port} did not send it{why(entry)}", reason=entry.reason, **end)
    if entry.last is None:
        return Finding("unknown", "it was sent, no node here has seen it, and no answer came", certain=False, **end)
    return discarded(entry, scene) if entry.reason else gone(entry, scene)


def why(entry):
    """The reason of the last discard in words."""
    return f": {entry.reason}, {names.REASONS.get(entry.reason, 'which is not known here')}" if entry.reason else ""


def answered(entry):
    """The finding of a request that was answered in time."""
    if not entry.status:
        return Finding("ok", "answered, as the ledger says")
    return Finding("error-status", f"it was answered with status {entry.status:#06x}: {names.status(entry.status)}",
                   hop=names.last_hop(entry), way="response", status=entry.status)


def discarded(entry, scene):
    """The finding of a request, or an answer, that a node has discarded."""
    last, (way, place) = entry.last, seen(entry, scene)
    common = {"device": last.device, "port": last.port, "reason": entry.reason}
    if entry.reason in names.NOBODY and way == "request":
        return Finding("nobody-listens", f"it reached {last.device}{why(entry)}", hop=entry.count, **common)
    if last.point == "reply":
        return Finding("lost-on-return", f"{last.device} could not send the answer{why(entry)}", hop=entry.count, way=way,
                       **common)
    if way == "response":
        return Finding("lost-on-return", f"{last.device} dropped the answer{why(entry)}", hop=place, way=way, certain=False,
                       **common)
    return Finding("dropped", f"{last.device} dropped it, or its answer{why(entry)}", hop=place, certain=False, **common)


def gone(entry, scene):
    """The finding of a request, or an answer, that was seen last where all was well."""
    last, (way, place) = entry.last, seen(entry, scene)
    back = way == "response"
    common = {"device": last.device, "way": way, "certain": False}
    if last.verdict == "local" and back:
        return Finding("lost-on-return", returning.NOT_TAKEN, hop=place, port=last.port, **common)
    if last.verdict == "local":
        verdict = "nobody-listens" if entry.attr in names.SM_ATTRIBUTES else "silent"
        return Finding(verdict, f"{last.device}:{last.port} took it and did not answer", hop=entry.count, port=last.port,
                       **common)
    what = "its answer" if back else "it"
    if last.verdict == "route":
        return Finding("lost-on-return" if back else "unknown", f"{last.device} sent {what} on by LID, and no node here saw "
                       "it after that", hop=last.hop, **common)
    peer = scene.peer(last.device, last.egress)
    cause = link_state((last.device, last.egress), scene)
    known = scene.wiring.knows(last.device) or (peer is not None and peer[0] in scene.reporting)
    to = f"{peer[0]}:{peer[1]}" if peer else None
    return Finding("lost-on-return" if back else "never-arrived" if known else "unknown",
                   f"{what} left {last.device} by port {last.egress}, and {to or 'the next node'} did not see "
                   f"it{because(cause)}", hop=last.hop, port=last.egress, next=to, cause=cause, **common)


def seen(entry, scene):
    """Whether it was the request or the answer that was seen last, and how many hops from the sender."""
    last = entry.last
    # A rule that discards an SMP leaves its Hop Pointer as it came.
    came = entry.reason in names.BY_RULE
    out, back = (last.hop, last.hop - 1) if came else (last.hop - 1, last.hop)
    return ("response", back) if is_answer(entry, out, back, scene) else ("request", out)


def is_answer(entry, out, back, scene):
    """Whether it was the answer, at place `back`, and not the request, at place `out`."""
    last, path = entry.last, entry.path or ()
    if last.point not in ("recv", "forward"):
        return last.point == "reply"
    # From the wire, no request comes to where it starts, and no answer to where it was made.
    if out < 1:
        return True
    if back >= entry.count + (entry.dlid != PERMISSIVE):
        return False
    nodes = [(entry.device, 0), *scene.wiring.walk(entry.device, path)]
    if out < len(nodes) and nodes[out] == (last.device, last.ingress):
        return False
    if back < len(nodes) and nodes[back][0] == last.device:
        return True
    # It leaves by another port than the path says for that hop.
    return bool(last.egress) and path[out:out + 1] != (last.egress,)
