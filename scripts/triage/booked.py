# SPDX-License-Identifier: GPL-2.0
"""Finds what happened to a request of which the ledger alone tells, since nobody has traced it.

The ledger has the last that a node of this host did with the request or its answer, but not which of the
two it was: that is inferred from the path.
"""

from . import names, returning
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
        return returning.too_late(entry.late_ms, **end)
    if entry.state == "refused":
        return Finding("never-left", f"{entry.device}:{entry.port} did not send it{why(entry)}", reason=entry.reason, **end)
    if entry.last is None:
        return Finding("unknown", "it was sent, no node here has seen it, and no answer came", certain=False, **end)
    return discarded(entry) if entry.reason else gone(entry, scene)


def why(entry):
    """The reason of the last discard in words."""
    return f": {entry.reason}, {names.REASONS.get(entry.reason, 'which is not known here')}" if entry.reason else ""


def answered(entry):
    """The finding of a request that was answered in time."""
    if not entry.status:
        return Finding("ok", "answered, as the ledger says")
    return Finding("error-status", f"it was answered with status {entry.status:#06x}: {names.status(entry.status)}",
                   hop=entry.count, way="response", status=entry.status)


def discarded(entry):
    """The finding of a request, or an answer, that a node has discarded."""
    last = entry.last
    common = {"device": last.device, "port": last.port, "reason": entry.reason}
    if entry.reason in names.NOBODY:
        return Finding("nobody-listens", f"it reached {last.device}{why(entry)}", hop=entry.count, **common)
    if last.point == "reply":
        return Finding("lost-on-return", f"{last.device} could not send the answer{why(entry)}", hop=entry.count,
                       way="response", **common)
    return Finding("dropped", f"{last.device} dropped it, or its answer{why(entry)}", hop=last.hop, certain=False, **common)


def gone(entry, scene):
    """The finding of a request, or an answer, that was seen last where all was well."""
    last = entry.last
    common = {"device": last.device, "certain": False}
    if last.verdict == "local":
        verdict = "nobody-listens" if entry.attr in names.SM_ATTRIBUTES else "silent"
        return Finding(verdict, f"{last.device}:{last.port} took it and did not answer", hop=entry.count, port=last.port,
                       **common)
    if last.verdict == "route":
        return Finding("unknown", f"{last.device} sent it on by LID, and no node here saw it after that", hop=last.hop,
                       **common)
    back = last.point == "reply" or not is_request(entry)
    peer = scene.peer(last.device, last.egress)
    cause = link_state((last.device, last.egress), scene)
    seen = scene.wiring.knows(last.device) or (peer is not None and peer[0] in scene.reporting)
    to = f"{peer[0]}:{peer[1]}" if peer else None
    verdict = "lost-on-return" if back else "never-arrived" if seen else "unknown"
    what = "its answer" if back else "it"
    return Finding(verdict, f"{what} left {last.device} by port {last.egress}, and {to or 'the next node'} did not see "
                   f"it{because(cause)}", hop=last.hop, port=last.egress, next=to, cause=cause,
                   way="response" if back else "request", **common)


def is_request(entry):
    """Whether what left last was the request: by the port that the path names for that hop."""
    hop = entry.last.hop
    return bool(entry.path) and 1 <= hop <= len(entry.path) and entry.path[hop - 1] == entry.last.egress
