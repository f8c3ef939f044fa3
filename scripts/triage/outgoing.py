# SPDX-License-Identifier: GPL-2.0
"""Finds what happened to a request that has no answer."""

from . import names, packets
from .links import because, beyond_lid, explain, note_crossings
from .misrouted import left_elsewhere
from .verdict import Finding


def judge(request, attempt, scene):
    """What happened to a request that has no answer."""
    last = attempt.out[-1]
    if last.discard is not None:
        return discarded(attempt, last)
    if last.leaves:
        return beyond(request, attempt, scene)
    return taken(request, attempt, last)


def discarded(attempt, step):
    """A finding of a request that a node has discarded."""
    event = step.discard
    why = names.REASONS.get(event.reason, "a reason that is not known here")
    common = {"hop": max(step.place, 0), "device": step.device, "port": step.first.port, "rule": event.rule,
              "reason": event.reason, "evidence": [event.text]}
    says = names.element_at_fault(event)
    if event.reason in names.NOBODY:
        return Finding("nobody-listens", f"it reached {step.where}, but {why}", **common)
    if step.first.kind == "send" or (step is attempt.out[0] and step.place <= 0 and not step.ingress):
        return Finding("never-left", f"{step.where} did not send it: {event.reason}, {why}{says}", **common)
    by = f"dropped it by rule {event.rule}" if event.reason in names.BY_RULE else "could not pass it on"
    return Finding("dropped", f"{step.where} {by}: {event.reason}, {why}{says}", **common)


def taken(request, attempt, last):
    """A finding of a request that was handed to an agent, and not answered as far as is seen."""
    common = {"hop": max(last.place, 0), "device": last.device, "port": last.port, "evidence": [last.last.text]}
    if request.method in names.UNANSWERED:
        return Finding("ok", f"delivered to {last.where}; {names.method(request.method)} is not answered")
    if attempt.is_sent and last is attempt.out[0]:
        if request.entry is not None and request.entry.state == "lost":
            return Finding("silent", f"the agents of {last.where}, the sender's own node, did not answer", **common)
        return Finding("ok", "for the sender's own node: no event tells of its answer")
    if request.attr in names.SM_ATTRIBUTES:
        return Finding("nobody-listens", f"it was delivered to {last.where}, where no subnet manager answered",
                       certain=False, **common)
    return Finding("silent", f"{last.where} took it and did not answer: its SMA refused to, as it must if the M_Key "
                   "does not fit, or is not working", **common)


def unsent(step):
    """A finding of a request that the SMI let go, and the device did not send."""
    end = f"{step.device}:{step.egress}"
    return Finding("never-left", f"{step.where} was to send it out by port {step.egress}, and that port has sent nothing: its "
                   "driver refused it, or the device failed", hop=0, device=step.device, port=step.egress,
                   evidence=[step.last.text, f"meanwhile {end} sent 0 packets"])


def beyond(request, attempt, scene):
    """A finding of a request that left a node, with nothing seen of it afterwards."""
    last = attempt.out[-1]
    if last.verdict == "route":
        return beyond_lid(last, scene)
    if (elsewhere := left_elsewhere(last, "request", scene)) is not None:
        return elsewhere
    hop = last.place + 1
    # What the path would meet at the far end.
    peer = scene.peer(last.device, last.egress)
    to = f"{peer[0]}:{peer[1]}" if peer else None
    finding = Finding("never-arrived", hop=hop, device=last.device, port=last.egress, next=to,
                      evidence=[last.last.text])
    left = f"it left {last.device} by port {last.egress}"
    # What a device did with its own SMP has no event.
    finding.certain = last.first.kind != "send" or scene.counted
    explain(finding, last, peer, peer, scene)
    if finding.cause is None and last.first.kind == "send" and packets.has_kept_still((last.device, last.egress), scene):
        return unsent(last)
    where = f"the MAD layer of {peer[0]}" if peer else "the MAD layer of the next node"
    finding.what = f"{left}, and {where} did not see it{because(finding.cause)}"
    note_crossings(finding, last, to, scene)
    if peer is not None and peer[0] not in scene.reporting:
        finding.verdict, finding.certain = "unknown", False
        finding.what = f"{left} for {to}, which is not in this trace, and no answer came{because(finding.cause)}"
    elif peer is None and not scene.wiring.knows(last.device):
        finding.verdict, finding.certain = "unknown", False
        finding.what = f"{left}, and no answer came{because(finding.cause)}"
    return finding
