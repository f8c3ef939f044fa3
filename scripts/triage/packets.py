# SPDX-License-Identifier: GPL-2.0
"""What ports have sent and received: counted packet by packet by the virtual fabric, and by no hardware for sure.

What has no event of its own, such as a packet that is routed by LID, is counted too.
"""


def sent(end, scene):
    """How many packets have left by a port, (device, port); None if that is not known."""
    return scene.counters.get(end, {}).get("xmit", 0) if scene.counted else None


def received(end, scene):
    """How many packets have come in by a port; None if that is not known."""
    return scene.counters.get(end, {}).get("rcv", 0) if scene.counted else None


def is_swallowed(near, far, scene):
    """Whether all that left by a port came in by the one at the far end, so that a node lost it and not the link."""
    return bool(sent(near, scene)) and received(far, scene) >= sent(near, scene)


def has_kept_still(end, scene):
    """Whether a port has neither sent nor discarded anything."""
    return sent(end, scene) == 0 and not scene.counters.get(end, {}).get("xmit_discards")


def ways_out(step, scene):
    """The other ports of a node that have sent or discarded something of which no event tells, if the port by which
    an SMP was to leave has kept still."""
    if not has_kept_still((step.device, step.egress), scene):
        return []
    return sorted(port for (device, port), rose in scene.counters.items()
                  if device == step.device and port not in (0, step.egress) and (device, port) not in scene.departed
                  and (rose.get("xmit") or rose.get("xmit_discards")))
