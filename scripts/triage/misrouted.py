# SPDX-License-Identifier: GPL-2.0
"""Finds where an SMP left by another port than its path says.

Either a node says so itself, or what came next came in elsewhere than the link leads. A link is known
if it is told, or if other SMPs have shown it.
"""

from . import packets
from .verdict import Finding


def misrouted(attempt, scene):
    """A step that left by another port than the path says, if there is one."""
    for steps, way in ((attempt.out, "request"), (attempt.back, "response")):
        forth = 1 if way == "request" else -1
        for number, step in enumerate(steps):
            if step.verdict != "forward":
                continue
            after = steps[number + 1] if number + 1 < len(steps) else None
            says = step.last.element if step.last.element is not None else step.first.element
            if says is not None and step.egress not in (0, says):
                return wrong_port(step, way, step.egress, says, after, True)
            if after is None or after.place - step.place != forth or not after.ingress:
                continue
            found = wrong_end(step, after, scene)
            if found is not None:
                return wrong_port(step, way, found, step.egress, after, scene.told is not None)
    return None


def left_elsewhere(step, way, scene):
    """A finding of an SMP that was seen last where it was to leave, if the counters say that it left by another port."""
    ports = packets.ways_out(step, scene)
    if not ports:
        return None
    finding = wrong_port(step, way, ports[0] if len(ports) == 1 else 0, step.egress, None, False)
    finding.evidence.append(f"meanwhile {step.device}:{step.egress} sent 0 packets")
    for port in ports:
        rose = scene.counters[step.device, port]
        finding.evidence.append(f"meanwhile {step.device}:{port} sent {rose.get('xmit', 0)} packets, and discarded "
                                f"{rose.get('xmit_discards', 0)}, of which no event tells")
    return finding


def wrong_end(step, after, scene):
    """The port by which a step really left, if what follows came in elsewhere; 0 if that is not known."""
    expected = scene.peer(step.device, step.egress)
    real = scene.peer(after.device, after.ingress)
    if expected == (after.device, after.ingress) or (expected is None and real in (None, (step.device, step.egress))):
        return None
    if real is not None and real[0] == step.device:
        return real[1] if real[1] != step.egress else None
    return 0 if expected is not None else None


def wrong_port(step, way, left_by, says, after, certain):
    """A finding of a wrong port."""
    hop = step.place + 1 if way == "request" else step.place
    by = f"left by port {left_by}" if left_by else "left by another port"
    to = f", and came to {after.where} by port {after.ingress}" if after is not None else ""
    what = f"{step.device} is to send the {way} out by port {says}, but it {by}{to}"
    if step.first.kind == "send":
        what += "; or it was addressed to a LID, and went by that"
    return Finding("misrouted", what, hop=hop, device=step.device, port=left_by or None, left_by=left_by or None,
                   path_says=says, way=way, rule=step.first.rule, certain=certain,
                   next=f"{after.device}:{after.ingress}" if after is not None else None,
                   evidence=[event.text for event in (step.last, after and after.first) if event])
