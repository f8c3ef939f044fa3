# SPDX-License-Identifier: GPL-2.0
"""Finds what happened to each request."""

from . import booked, outgoing, returning
from .misrouted import misrouted
from .verdict import Finding

# What is younger than this when a trace is cut off may still be answered, in seconds.
PATIENCE = 1.0
# Verdicts that rest on something not being in the trace.
BY_ABSENCE = ("never-arrived", "silent", "lost-on-return", "nobody-listens")


def judge_all(scene):
    """Gives each request its finding. What turns out to be the rest of another one goes."""
    for request in scene.requests:
        request.finding = judge(request, scene)
    scene.requests = [request for request in scene.requests if not request.is_rest]


def judge(request, scene):
    """What happened to a request, all its tries taken together."""
    finding = returning.by_whom(judge_tries(request, scene), request, scene)
    if finding.held_up is not None:
        finding.what += f"; {returning.delay(*finding.held_up)}"
    return finding


def judge_tries(request, scene):
    """What happened to a request, whoever may have answered."""
    if not request.attempts:
        return booked.judge(request.entry, scene)
    findings = [judge_attempt(request, attempt, scene) for attempt in request.attempts]
    finding = next((found for found in findings if found.verdict == "misrouted"), None)
    finding = finding or next((found for found in findings if found.verdict == "ok"), findings[-1])
    others = [found for found in findings if found is not finding and found.is_failure]
    if others:
        finding.evidence.append(f"{len(findings)} tries; of the others: {tally(others)}")
    return correct(finding, request, scene)


def tally(findings):
    """Verdicts with their hops, counted."""
    counted = {}
    for found in findings:
        text = found.verdict + (f" at hop {found.hop}" if found.hop is not None else "")
        counted[text] = counted.get(text, 0) + 1
    return ", ".join(f"{count} × {text}" for text, count in counted.items())


def judge_attempt(request, attempt, scene):
    """What happened to one try."""
    return misrouted(attempt, scene) or (returning if attempt.back else outgoing).judge(request, attempt, scene)


def correct(finding, request, scene):
    """What the ledger, the end of the trace and its gaps have to say about a finding."""
    entry = request.entry
    if entry is not None:
        finding.evidence.append(f"ledger: {entry.text}")
        if entry.state == "answered" and finding.cause == "damaged" and request.attempts[-1].answered:
            finding.what += "; the MAD layer took it for the answer all the same"
        elif entry.state == "answered" and finding.verdict in (*BY_ABSENCE, "unknown", "waiting"):
            return Finding("ok", "answered, as the ledger says; the trace does not show all of it",
                           evidence=finding.evidence)
        if entry.state == "waiting" and finding.is_failure and finding.verdict in (*BY_ABSENCE, "unknown"):
            return Finding("waiting", "its answer was still waited for", evidence=finding.evidence)
        # The ledger reckons with the timeout alone, and ib_mad waits from when the device has sent it.
        if entry.state in ("late", "lost") and finding.verdict == "ok" and request.tid not in (scene.taken or ()):
            return returning.not_taken(finding, request, scene)
    cut = scene.cut is not None and request.end > scene.cut - PATIENCE
    # A command has ended, and waits for nothing.
    if cut and entry is None and not scene.is_own(request) and finding.verdict in (*BY_ABSENCE, "unknown"):
        return Finding("waiting", "its answer was still waited for when the trace ended", evidence=finding.evidence)
    if finding.verdict in BY_ABSENCE and finding.reason is None and scene.trace.has_gap(request.start,
                                                                                      request.end + PATIENCE):
        finding.what = (f"events were lost while it was under way, so that it may have gone on; as far as is seen: "
                        f"{finding.what}")
        finding.verdict, finding.certain, finding.gap = "unknown", False, True
    return finding
