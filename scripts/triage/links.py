# SPDX-License-Identifier: GPL-2.0
"""What the state of a link, counters and other SMPs say of one that was lost there."""

from . import packets
from .counters import told
from .verdict import Finding

# What comes in so many seconds after another has left may be that one.
NEAR = 0.1

CAUSES = {
    "no-link": "there is no link at that port",
    "link-down": "the link is down",
    "no-buffer": "the far end had no receive buffer",
    "not-sent": "the port discarded it instead of sending it",
    "damaged": "it may have been damaged",
    "swallowed": "the port at the far end received it, and that node did nothing with it",
    "no-route": "a forwarding table has no way to that LID",
    "return-path": "its Return Path was damaged",
}


def because(name):
    """A cause as the end of a sentence."""
    return f": {CAUSES[name]}" if name else ""


def link_state(end, scene):
    """What is wrong with the link at a port, (device, port), as far as that is known."""
    if scene.wiring.knows(end[0]) and scene.wiring.peer(*end) is None:
        return "no-link"
    return "link-down" if end in scene.wiring.down else None


def cause(step, peer, scene):
    """Why an SMP did not come over a link, as far as the link and counters tell."""
    end = (step.device, step.egress)
    if (state := link_state(end, scene)) is not None:
        return state
    if peer is not None:
        there = scene.counters.get(peer, {})
        at_port_0 = scene.counters.get((peer[0], 0), {})
        if there.get("vl15_dropped") or at_port_0.get("vl15_dropped"):
            return "no-buffer"
        if there.get("rcv_errors"):
            return "damaged"
    return "not-sent" if scene.counters.get(end, {}).get("xmit_discards") else None


def explain(finding, step, peer, far, scene):
    """Finds why an SMP did not come over a link to its other end `peer`; `far` is where what came of it may have come in."""
    finding.cause = finding.cause or cause(step, peer, scene)
    if finding.cause is None:
        note_stranger(finding, step, far, scene)
    if finding.cause is None and peer is not None and packets.is_swallowed((step.device, step.egress), peer, scene):
        finding.cause = "swallowed"


def no_route(scene):
    """The ports that had no way for something that goes by LID."""
    return [f"{device}:{port}" for (device, port), rose in scene.counters.items() if rose.get("relay_errors")]


def beyond_lid(step, scene):
    """A finding of an SMP that left by LID, with nothing seen of it afterwards."""
    lost, lid = no_route(scene), step.last.lid
    proven = bool(lost or scene.is_here(lid))
    to = addressee(step)
    finding = Finding(("lost-on-return" if step.returning else "never-arrived") if proven else "unknown",
                      hop=step.place if step.returning else step.place + 1, device=step.device, next=to,
                      way="response" if step.returning else "request", cause="no-route" if lost else None,
                      certain=proven, evidence=[step.last.text])
    finding.what = (f"{step.device} sent {'the answer' if step.returning else 'it'} on to {to}, and no node saw it after "
                    f"that{because(finding.cause)}")
    note_counters(finding, map(split, lost), scene)
    return finding


def addressee(step):
    """Where an SMP that leaves by LID goes to, in words."""
    if step.last.lid or not step.returning and step.last.rule != "LID":
        return f"LID {step.last.lid:#x}"
    return "the LID that asked" if step.returning else "the LID that it was sent to"


def note_stranger(finding, step, far, scene):
    """Notes an SMP that nobody has sent, and that came in at the far end, (device, port), at the time and is like this
    one: it may be this one, damaged. If it has the same TID it is, and is no request of its own."""
    place = step.place - 1 if step.returning else step.place + 1
    strangers = ((request, attempt) for request in scene.requests if request.attempts and not request.attempts[0].is_sent
                 for attempt in request.attempts)
    for request, attempt in strangers:
        first = attempt.steps[0]
        near = 0 <= first.time - step.last.time < NEAR and (first.device, first.ingress) == far
        if near and (first.place, first.returning) == (place, step.returning) and is_like(first.first, step.last):
            finding.cause = "damaged"
            finding.evidence.append(f"what came to {first.device} meanwhile, and may be it: {first.first.text}")
            if first.first.tid == step.last.tid:
                request.is_rest = True
                finding.evidence += [found.discard.text for found in attempt.steps if found.discard]
            return


def is_like(event, other):
    """Whether two SMPs may be one: where one is damaged, either its TID or its path is as it was."""
    return event.tid == other.tid or event.path == other.path


def note_crossings(finding, step, to, scene):
    """Notes what else went over the link, and what its ends counted."""
    others = scene.crossed_from(step.device, step.egress)
    link = f"{step.device}:{step.egress}" + (f" → {to}" if to else "")
    if others:
        finding.evidence.append(f"{others} other SMPs went over {link} in this trace: the link works, and what was "
                                "lost was lost by chance or was picked out")
    else:
        finding.evidence.append(f"no SMP is seen at the far end of {link} in this trace")
    near, far = (step.device, step.egress), split(to) if to else None
    note_packets(finding, near, far, scene)
    note_counters(finding, [near, far] if far else [near], scene)


def note_packets(finding, near, far, scene):
    """Notes how many packets went over a link, from a port to another, if they are counted."""
    if scene.counted and far is not None:
        finding.evidence.append(f"meanwhile {near[0]}:{near[1]} sent {packets.sent(near, scene)} packets, and {far[0]}:{far[1]} "
                                f"received {packets.received(far, scene)}")


def note_counters(finding, ends, scene):
    """Notes the counters of ports that rose."""
    for device, port in ends:
        if rose := told(scene.counters.get((device, port), {})):
            finding.evidence.append(f"counters of {device}:{port}: {rose}")


def split(end):
    """A port's name taken apart."""
    device, _, port = end.rpartition(":")
    return device, int(port)
