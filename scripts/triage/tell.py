# SPDX-License-Identifier: GPL-2.0
"""Tells the ways of SMPs and what happened to them, as text."""

import textwrap

from .verdict import VERDICTS

WIDTH = 110


def deed(step):
    """What a node does with an SMP."""
    event = step.discard or step.last
    if step.discard is not None:
        return f"DROPPED: {event.reason}"
    if event.verdict == "local":
        return "takes it" if step.first.kind not in ("reply", "send") else "to its own node"
    leave = f"out by port {step.egress}"
    if event.verdict == "route":
        leave = f"on by LID {event.lid:#x}" if event.lid else "on by LID"
    return {"send": f"sends it {leave}", "reply": f"answers, {leave}"}.get(step.first.kind, f"passes it {leave}")


def line(step, start):
    """A step as a line."""
    event = step.discard or step.last
    ingress = f"in by port {step.ingress}" if step.ingress and step.first.kind != "reply" else ""
    hop = f"{event.before}→{event.after}" if event.before != event.after else str(event.before)
    way = "response" if step.returning else "request"
    ms = (step.time - start) * 1000
    return (f"  {ms:8.2f} ms  {way:<8}  {step.where:<8} {ingress:<14} {deed(step):<28} "
            f"{f'hop {hop} of {event.count}':<14} {event.rule}").rstrip()


def story(request):
    """The way of a request with all its tries, a line a step."""
    steps = sorted((step for attempt in request.attempts for step in attempt.steps), key=lambda step: step.time)
    return [request.title, *(line(step, steps[0].time) for step in steps)]


def wrapped(text, indent):
    """A sentence in lines that fit."""
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ",
                         break_long_words=False, break_on_hyphens=False)


def failure(request, raw=True):
    """A request that has failed: what happened, its way, the evidence and what to do."""
    finding = request.finding
    at = f" at hop {finding.hop}" if finding.hop is not None else ""
    by = f", {finding.device}" if finding.device else ""
    title, *steps = story(request) if request.attempts else [request.title]
    tries = f", {len(request.attempts)} tries" if len(request.attempts) > 1 else ""
    yield f"{finding.headline}{at}{by}: {title} from {request.sender}{tries}"
    yield from wrapped(finding.what + ".", "  ")
    if not finding.certain:
        yield from wrapped("(inferred: the trace does not prove it)", "  ")
    if steps:
        yield ""
        yield from steps
    if raw and finding.evidence:
        yield ""
        yield "  Evidence:"
        for text in finding.evidence:
            yield f"    {text}"
    if finding.checks:
        yield ""
        yield "  Next:"
        for command, shows in finding.checks:
            if command is not None:
                yield f"    # {command}"
            yield from wrapped(shows, "        " if command is not None else "    ")
    if finding.verdict == "unknown" and finding.way == "request" and not finding.gap and request.attempts:
        yield ""
        yield from own_end(request)


def own_end(request):
    """What can be known where only one's own end is seen."""
    finding = request.finding
    place = f"{finding.device}:{finding.port}" if finding.port else finding.device
    yield "  From here it can be known:"
    yield f"    that the SMI of {finding.device} let it go by {place}, and that no answer came back."
    yield "  It cannot be known from here:"
    if request.origin and request.origin[0] == finding.device:
        yield "    whether the device has sent it: what the command says of that, and dmesg, may tell;"
    yield "    whether it was lost further on or its answer was, at which hop, or whether its node refuses to answer:"
    yield "    nodes elsewhere, and switches whose SMI is in their firmware, have no events on this host."


def alike(requests):
    """Failures that are the same but for the TID, in order: lists of requests."""
    groups = {}
    for request in requests:
        found = request.finding
        groups.setdefault((found.verdict, found.hop, found.device, found.port, found.reason, found.status, found.cause,
                           request.origin, request.path, request.slid, request.dlid, request.method, request.attr,
                           request.mod), []).append(request)
    return list(groups.values())


def counts(requests):
    """How many requests had which verdict."""
    found = {}
    for request in requests:
        found[request.finding.verdict] = found.get(request.finding.verdict, 0) + 1
    return {name: found[name] for name in VERDICTS if name in found}


def untold(requests):
    """The requests that were answered, though it is not known by whom, and that was asked for."""
    return [request for request in requests if request.finding.verdict == "ok" and not request.finding.certain]


def tally(requests):
    """How many requests there were, and what became of them."""
    counted = counts(requests)
    good = counted.get("ok", 0)
    bad = sum(number for name, number in counted.items() if name not in ("ok", "waiting"))
    again = sum(1 for request in requests if request.finding.verdict == "ok" and len(request.attempts) > 1)
    text = f"{len(requests)} request{'s' if len(requests) != 1 else ''}: {good} answered or delivered"
    if again:
        text += f" ({again} of them after more than one try)"
    if bad:
        text += "".join(f", {number} {name}" for name, number in counted.items() if name not in ("ok", "waiting"))
    if counted.get("waiting"):
        text += f", {counted['waiting']} under way"
    return text + ("; all is well" if not bad and not untold(requests) else "")


def summary(scene, requests, others):
    """The last lines: how many requests there were, of the command and of others, and what the trace lacked."""
    yield tally(requests) if requests else "the command sent no directed-route SMP"
    if others:
        yield f"not sent by the command: {tally(others)} (--all tells of them)"
    strangers = len(untold(requests))
    if strangers:
        yield (f"who answered {strangers} of them cannot be told from here, and so not whether it was {scene.expect} "
               "(--fabric tells of nodes elsewhere)")
    yield from remarks(scene.trace)


def remarks(trace):
    """What is to be known of the trace itself."""
    if trace.lost:
        yield f"the ring buffer lost {trace.lost} events: what rests on them is not judged (--buffer makes it larger)"
    for event in trace.events:
        if not event.is_directed:
            yield (f"{event.device}:{event.port} lost an answer of class {event.mgmt_class:#04x} that was to go by "
                   f"LID: {event.reason} (TID {event.tid:#x})")
    if trace.skipped:
        yield f"{trace.skipped} lines were of something else"
    for number, why in trace.unreadable[:5]:
        yield f"{trace.name}:{number}: not read: {why}"
    if len(trace.unreadable) > 5:
        yield f"and {len(trace.unreadable) - 5} more lines that could not be read"
