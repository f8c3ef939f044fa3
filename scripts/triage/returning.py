# SPDX-License-Identifier: GPL-2.0
"""Finds what happened to an answer."""

from . import names
from .event import PERMISSIVE
from .links import addressee, because, beyond_lid, explain, no_route, note_counters, note_crossings
from .misrouted import left_elsewhere
from .verdict import Finding

# The bit of a method that makes it an answer.
RESPONSE = 0x80
NOT_TAKEN = "the answer came back to the sender's node, and the MAD layer did not take it for one"


def judge(request, attempt, scene):
    """What happened to a try that was answered."""
    last = attempt.back[-1]
    if (stray := astray(request, attempt)) is not None:
        return led_astray(attempt, *stray)
    if last.discard is not None:
        return discarded(request, attempt, last)
    if last.leaves:
        return underway(request, attempt, scene)
    if (elsewhere := ended_elsewhere(request, attempt, last)) is not None:
        return elsewhere
    return wrong_node(request, attempt, scene) or failed(request, attempt) or after_timeout(request, attempt, scene) or arrived(
        attempt)


def answerer(attempt):
    """The step that answered, if it was seen."""
    return next((step for step in attempt.back if step.first.kind in ("reply", "send")), None)


def astray(request, attempt):
    """Where an answer that did not come back left the way of the request: the step before, and that after."""
    last = attempt.back[-1]
    if last.verdict == "local" and request.origin in (None, (last.device, last.port)):
        return None
    passed = {step.place: step.device for step in attempt.out}
    for before, step in zip(attempt.back, attempt.back[1:]):
        if passed.get(step.place, step.device) != step.device:
            return before, step
    return None


def led_astray(attempt, before, step):
    """A finding of an answer that a node has sent elsewhere."""
    damage = damaged(attempt)
    return Finding("lost-on-return", f"{before.where} sent the answer out by port {before.egress}, to {step.where}, "
                   f"through which the request had not come{because('return-path' if damage else None)}",
                   hop=before.place, device=before.device, port=before.egress, next=step.where, way="response",
                   rule=before.last.rule, cause="return-path" if damage else None,
                   evidence=[before.last.text, step.first.text, *damage])


def ended_elsewhere(request, attempt, last):
    """A finding of an answer that was taken by a node which did not ask, or that is none any more."""
    common = {"hop": max(last.place, 0), "way": "response", "device": last.device, "port": last.port,
              "cause": "damaged", "evidence": [last.last.text]}
    if request.origin not in (None, (last.device, last.port)):
        before = attempt.back[-2] if len(attempt.back) > 1 else last
        common["hop"] = max(before.place, 0)
        return Finding("lost-on-return", f"{last.where}, which has not asked, took the answer for its own: Hop Pointer "
                       f"was {last.first.before} of {last.first.count} there", **common)
    if not last.first.method & RESPONSE and last.first.method not in names.UNANSWERED:
        return Finding("lost-on-return", f"what came back to {last.where} has method {last.first.method:#04x}, and is "
                       "no answer", **common)
    return None


def discarded(request, attempt, step):
    """A finding of an answer that a node has discarded."""
    event = step.discard
    why = names.REASONS.get(event.reason, "a reason that is not known here")
    common = {"hop": max(step.place, 0), "device": step.device, "port": step.first.port, "way": "response",
              "rule": event.rule, "reason": event.reason, "evidence": [event.text]}
    if event.reason == "no-listener":
        by = (event.time - attempt.start) * 1000
        return Finding("late", f"the answer came to {step.where} after {by:.0f} ms, when nobody waited for it any more",
                       late_ms=request.entry.late_ms if request.entry else None, held_up=held_up(attempt), **common)
    damage = damaged(attempt)
    says = names.element_at_fault(event)
    by = f"dropped the answer by rule {event.rule}" if event.reason in names.BY_RULE else "could not send the answer"
    finding = Finding("lost-on-return", f"{step.where} {by}: {event.reason}, {why}{says}",
                      cause="return-path" if damage else None, **common)
    finding.evidence += damage
    return finding


def underway(request, attempt, scene):
    """A finding of an answer that left a node, with nothing seen of it afterwards."""
    last = attempt.back[-1]
    passed = {step.place: step for step in attempt.out}
    peer = scene.peer(last.device, last.egress)
    seen = peer is not None and peer[0] in scene.reporting
    damage = damaged(attempt)
    if not attempt.is_sent and request.origin is None and last.place - 1 not in passed and not seen:
        return passed_on(request, attempt, scene)
    by_lid = last.verdict == "route"
    if not by_lid and (elsewhere := left_elsewhere(last, "response", scene)) is not None:
        return elsewhere
    if by_lid:
        to, by = addressee(last), "by LID"
    else:
        to, by = f"{peer[0]}:{peer[1]}" if peer else None, f"by port {last.egress}"
    next_step = passed.get(last.place - 1)
    where = to or (next_step.where if next_step else "the next node")
    node = peer[0] if peer else next_step.device if next_step else "the next node"
    blind = to if by_lid else f"the MAD layer of {node}"
    verb = "answered" if last.first.kind in ("reply", "send") else "passed the answer on"
    finding = Finding("lost-on-return", f"{last.where} {verb}, {by}, and {blind} did not see it", hop=last.place,
                      device=last.device, port=last.egress or None, next=where, way="response",
                      certain=next_step is not None or seen, cause="return-path" if damage else None,
                      evidence=[last.last.text, *damage])
    # Nodes between may not be in the trace.
    if next_step is None and not seen:
        finding.what += ", as far as this trace shows: it did not come to the sender"
    if by_lid:
        note_counters(finding, [(last.device, last.egress)], scene)
    else:
        explain(finding, last, peer, peer or next_step and (next_step.device, next_step.egress), scene)
        note_crossings(finding, last, to, scene)
    finding.what += because(finding.cause)
    return finding


def passed_on(request, attempt, scene):
    """A finding of an answer that left for a sender which is not seen.

    Who asks by LID is never seen to send. Its LID tells whether its node should have had the answer.
    """
    last, answer = attempt.back[-1], answerer(attempt)
    by_lid = last.verdict == "route" and last.last.lid == request.slid
    if by_lid and (no_route(scene) or scene.is_here(request.slid) is not False):
        return beyond_lid(last, scene)
    return Finding("ok", f"passed on by {last.device}, back to a sender that is not seen here",
                   device=answer.device if answer else None)


def damaged(attempt):
    """Where the Return Path is not what the nodes recorded on the way out, in words."""
    found = []
    for step in attempt.back:
        path = step.first.path
        for out in attempt.out:
            if not 1 <= out.place <= len(path) or not out.ingress or path[out.place - 1] == out.ingress:
                continue
            found.append(f"at {step.device} Return Path element {out.place} is {path[out.place - 1]}, but the request "
                         f"came into {out.device} by port {out.ingress}")
        if found:
            break
    return found


def wrong_node(request, attempt, scene):
    """A finding of an answer of another node than was asked."""
    answer = answerer(attempt)
    common = {"hop": max(answer.place if answer else request.count, 0), "way": "response",
              "device": answer.device if answer else None, "port": answer.port if answer else None}
    if answer is not None and request.dlid != PERMISSIVE and answer.is_switch and answer.place == request.count:
        taken = attempt.out and attempt.out[-1].device == answer.device and attempt.out[-1].last.rule == "C14-9:3"
        if taken:
            return Finding("wrong-node", f"{answer.where} answered in the place of LID {request.dlid:#x}, which the "
                           "request was to go on to", evidence=[answer.last.text], **common)
    expected = expected_node(request, scene)
    actual = answer.device if answer else None
    if expected and actual and expected != actual and actual in scene.wiring.nodes:
        return Finding("wrong-node", f"{actual} answered, but the path leads to {expected} by {scene.wiring.source}",
                       next=expected, evidence=[answer.last.text], **common)
    if answer is None and (found := other_way(request, attempt, scene, common)):
        return found
    return None


def by_whom(finding, request, scene):
    """The finding, where the node that is to answer is named: of an answer of another one, or that this is not known."""
    if scene.expect is None or finding.verdict not in ("ok", "error-status") or request.method in names.UNANSWERED:
        return finding
    who = finding.device or expected_node(request, scene)
    is_right = scene.is_node(who, scene.expect) if who else None
    if is_right is False:
        return Finding("wrong-node", f"{who} answered, and not {scene.expect}", device=who, port=finding.port,
                       hop=request.count if finding.hop is None else finding.hop, next=scene.expect, way="response",
                       evidence=finding.evidence)
    if is_right is None and finding.verdict == "ok":
        finding.what += f"; whether by {scene.expect} cannot be told from here"
        finding.certain = False
    return finding


def expected_node(request, scene):
    """The node to which the path leads, by what is told of the fabric."""
    if request.path is None or request.origin is None or (request.slid, request.dlid) != (PERMISSIVE, PERMISSIVE):
        return None
    origin = request.origin[0]
    if not request.path:
        return origin
    nodes = scene.told.walk(origin, request.path) if scene.told is not None else []
    return nodes[-1][0] if len(nodes) == len(request.path) else None


def other_way(request, attempt, scene, common):
    """A finding of an answer whose Return Path is not the way that the path leads."""
    if scene.told is None or request.origin is None or request.path is None or request.slid != PERMISSIVE:
        return None
    recorded = attempt.back[-1].first.path
    for hop, (device, ingress) in enumerate(scene.told.walk(request.origin[0], request.path), 1):
        if hop <= len(recorded) and recorded[hop - 1] != ingress:
            return Finding("wrong-node", f"the node at hop {hop} was entered by port {recorded[hop - 1]}, as the "
                           f"Return Path says; the path leads to {device} by port {ingress}, by {scene.told.source}",
                           certain=False, evidence=[attempt.back[-1].last.text], **{**common, "hop": hop})
    return None


def failed(request, attempt):
    """A finding of an answer with an error."""
    event = attempt.back[-1].last
    if event.status == 0:
        return None
    answer = answerer(attempt)
    where = answer.where if answer else f"the node after {event.count} hops"
    told = answer or attempt.back[-1]
    # In the place of an agent that is not there, ib_mad answers that it does not know the attribute.
    nobody = event.attr in names.SM_ATTRIBUTES and event.status >> 2 & 7 == names.UNSUPPORTED
    what = f"{where} answered with status {event.status:#06x}: {names.status(event.status)}"
    return Finding("nobody-listens" if nobody else "error-status",
                   what + ("; no subnet manager runs there" if nobody else ""),
                   hop=answer.place if answer else names.last_hop(request), device=answer.device if answer else None,
                   port=answer.port if answer else None, way="response", status=event.status, evidence=[told.last.text])


def after_timeout(request, attempt, scene):
    """A finding of an answer that came after the timeout, where that is given and the ledger does not know better."""
    if scene.timeout_ms is None or request.entry is not None or not attempt.is_sent:
        return None
    by = (attempt.end - request.attempts[-1].start) * 1000 - scene.timeout_ms
    if by <= 0:
        return None
    last = attempt.back[-1]
    return Finding("late", f"the answer came {by:.0f} ms after the timeout of {scene.timeout_ms:.0f} ms, unless the "
                   "request was sent again, which has no event at its sender", hop=0, device=last.device, port=last.port,
                   way="response", late_ms=by, held_up=held_up(attempt), certain=False, evidence=[last.last.text])


def held_up(attempt):
    """Where an SMP spent more than half of its time: the steps before and after; None if nowhere."""
    before, after = max(zip(attempt.steps, attempt.steps[1:]), key=lambda pair: pair[1].time - pair[0].last.time,
                        default=(None, None))
    if before is None or after.time - before.last.time < (attempt.end - attempt.start) / 2:
        return None
    return before, after


def delay(before, after):
    """How long an SMP was on its way from one step to the next, in words."""
    what = "it" if before.returning != after.returning else "the answer" if before.returning else "the request"
    place = f"at {before.where}" if before.device == after.device else f"between {before.where} and {after.where}"
    return f"{what} was held up for {(after.time - before.last.time) * 1000:.0f} ms {place}"


def not_taken(finding, request, scene):
    """The finding of an answer that arrived, and that the ledger does not count as one."""
    last = request.attempts[-1].back[-1] if request.attempts[-1].back else None
    by = request.entry.late_ms
    if by is None and last is not None and request.entry.patience_ms is not None:
        by = (last.last.time - request.start) * 1000 - request.entry.patience_ms
    common = {"hop": 0, "device": request.entry.device, "port": request.entry.port,
              "evidence": finding.evidence + ([last.last.text] if last else [])}
    if request.entry.state == "late" or (by or 0) > 0:
        # A program of the command's would have been seen to take it.
        return too_late(by, held_up=held_up(request.attempts[-1]) if last else None,
                        certain=scene.taken is not None and scene.is_own(request), **common)
    return Finding("lost-on-return", NOT_TAKEN, way="response", certain=False, **common)


def too_late(by, **more):
    """The finding of an answer that came so many milliseconds late, if that is known."""
    how = f" {by:.0f} ms" if by is not None else ""
    return Finding("late", f"the answer came{how} after the sender had given up", late_ms=by, way="response", **more)


def arrived(attempt):
    """The finding of an answer as it should be."""
    answer = answerer(attempt)
    rtt = (attempt.end - attempt.start) * 1000
    return Finding("ok", f"answered by {answer.where if answer else 'a node that is not seen here'} "
                   f"within {rtt:.2f} ms", hop=answer.place if answer else None,
                   device=answer.device if answer else None, port=answer.port if answer else None,
                   evidence=[(answer or attempt.back[-1]).last.text])
