# SPDX-License-Identifier: GPL-2.0
"""All findings as one text, or as JSON."""

import json

from . import names, tell
from .verdict import NOTHING, OK, TROUBLE, VERDICTS

SCHEMA = 1


def exit_status(requests):
    """The exit status for all: that of the first request that has failed."""
    if not requests:
        return NOTHING
    failed = next((request.finding.exit_status for request in requests if request.finding.is_failure), OK)
    return failed or (TROUBLE if tell.untold(requests) else OK)


def as_text(scene, requests, everything=False, most=10):
    """The findings as lines."""
    own, others = scene.of_command(requests)
    told = requests if everything else own
    failed = [request for request in told if request.finding.is_failure]
    groups = tell.alike(failed)
    for group in groups if everything else groups[:most]:
        yield from tell.failure(group[0])
        if len(group) > 1:
            tids = ", ".join(f"{request.tid:#x}" for request in group[1:5])
            more = " …" if len(group) > 5 else ""
            yield f"  And {len(group) - 1} more like it: TID {tids}{more}"
        yield ""
    if len(groups) > most and not everything:
        yield f"{len(groups) - most} more kinds of failure: --all tells them too"
        yield ""
    if everything:
        for request in told:
            if not request.finding.is_failure:
                yield from tell.story(request)
                yield f"  {request.finding.headline}: {request.finding.what}"
                yield ""
    yield from tell.summary(scene, own, others)


def as_json(scene, requests, status, command=None):
    """The findings as a JSON text."""
    trace, (own, _) = scene.trace, scene.of_command(requests)
    return json.dumps({
        "schema": SCHEMA, "status": status, "counts": tell.counts(own),
        "trace": {"name": str(trace.name), "events": len(trace.events), "skipped": trace.skipped, "lost": trace.lost,
                  "unreadable": [{"line": number, "why": why} for number, why in trace.unreadable]},
        "command_status": command,
        "requests": [{**one(request), "of_command": scene.is_own(request) if scene.own else None}
                     for request in requests]}, indent=1, ensure_ascii=False)


def one(request):
    """A request as a dictionary."""
    finding = request.finding
    fields = {name: getattr(finding, name) for name in (
        "verdict", "what", "hop", "device", "port", "next", "way", "rule", "reason", "status", "cause", "left_by",
        "path_says", "late_ms", "certain", "evidence")}
    return {
        "tid": f"{request.tid:#x}", "method": request.method and names.method(request.method),
        "attribute": names.attribute(request.attr), "attr_id": request.attr, "modifier": request.mod,
        "path": None if request.path is None else [0, *request.path], "hop_count": request.count,
        "dr_slid": request.slid, "dr_dlid": request.dlid,
        "sender": dict(zip(("device", "port"), request.origin)) if request.origin else None,
        "tries": len(request.attempts), "exit_status": VERDICTS[finding.verdict][0], **fields,
        "checks": [{"command": command, "shows": shows} for command, shows in finding.checks],
        "steps": [step(found) for attempt in request.attempts for found in attempt.steps]}


def step(found):
    """A step as a dictionary."""
    event = found.discard or found.last
    return {"time": found.time, "way": "response" if found.returning else "request", "place": found.place,
            "device": found.device, "port": found.port, "ingress": found.ingress, "egress": found.egress,
            "hop_before": event.before, "hop_after": event.after, "verdict": found.verdict, "rule": event.rule,
            "reason": event.reason}
