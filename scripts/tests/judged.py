# SPDX-License-Identifier: GPL-2.0
"""What smi-triage finds in a trace that was written by hand, without the command around it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

# pylint: disable=wrong-import-position
from triage import gather, judge, source  # noqa: E402
from triage.ledger import entry, join  # noqa: E402
from triage.scene import Scene  # noqa: E402
from triage.way import Request  # noqa: E402

# The TIDs of what goes all the way beside the request that a case is about.
TRAFFIC = (0x77, 0x78)


def triage(writer, entries=None, **more):
    """The requests of a trace, judged, and the scene."""
    trace = source.parse(writer.lines)
    requests, inferred = gather.gather(trace.events, more.get("told"))
    if entries is not None:
        requests = join(requests, [entry(line) for line in entries], lambda found: Request([], found))
    scene = Scene(trace, requests, inferred, **more)
    judge.judge_all(scene)
    return requests, scene


def only(writer, *args, ignore=(), **more):
    """The finding of the only request, beside traffic that went all the way."""
    requests, _ = triage(writer, *args, **more)
    traffic = [request for request in requests if request.tid in TRAFFIC]
    (request,) = [request for request in requests if request.tid not in (*TRAFFIC, *ignore)]
    assert all(request.finding.verdict == "ok" for request in traffic)
    return request.finding


def brief(finding):
    """What the cases compare: verdict, hop and device."""
    return finding.verdict, finding.hop, finding.device
