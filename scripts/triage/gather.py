# SPDX-License-Identifier: GPL-2.0
"""Puts events together: which belong to the same SMP, and which SMPs to the same request.

A TID alone does not tell: agents of different hosts can have the same, and the MAD layer sends a request
again under its TID. So each event goes to the try that it continues best: one further hop, over a link
that is known, at a node that the request came through.
"""

from collections import deque

from . import wiring as wires
from .way import Attempt, Request, Step

# How much speaks for an event being the next of a try. Not at all: None.
SAME_STEP, NEXT_HOP, SAME_LINK, SAME_NODE, SAME_PATH = 16, 2, 4, 4, 2

# Of the requests that are alike, an event can be of one of so many last ones.
RECENT = 64


def gather(events, known=None):
    """The requests in a trace, in the order in which they began, and the links that the events show.

    If an event could belong to several requests, the first round is for the links, by which the second
    tells apart what goes over them.
    """
    events = [event for event in events if event.is_directed]
    gatherer = Gatherer(known)
    requests = gatherer.take(events)
    inferred = wires.infer(attempts_of(requests))
    if gatherer.is_contested and known is None:
        requests = Gatherer(inferred).take(events)
        inferred = wires.infer(attempts_of(requests))
    return requests, inferred


def attempts_of(requests):
    """All tries of requests."""
    return [attempt for request in requests for attempt in request.attempts]


class Gatherer:
    """Takes events one after another."""

    def __init__(self, wiring=None):
        self.wiring = wiring or wires.Wiring()
        self.requests = []
        # Whether an event could have belonged to more than one request.
        self.is_contested = False
        # Requests by what their events share.
        self.groups = {}

    def take(self, events):
        """Takes all, and returns the requests."""
        for event in events:
            self.add(event)
        return self.requests

    def add(self, event):
        """Puts an event where it belongs."""
        group = self.groups.setdefault(event.key, deque(maxlen=RECENT))
        attempt, is_sure = self.choose(event, group)
        if attempt is None:
            attempt = self.begin(event, group)
        step = attempt.step_of(event)
        if step is not None:
            step.events.append(event)
        else:
            (attempt.back if event.returning else attempt.out).append(Step([event], is_sure))

    def choose(self, event, group):
        """The try that an event continues, if there is one, and whether it is the only one that it can be."""
        fit = self.fit_back if event.returning else self.fit_out
        scores = [(score, request, attempt) for request in group for attempt in request.attempts
                  if (score := fit(event, attempt)) is not None]
        if not scores:
            return None, True
        best = max(score for score, *_ in scores)
        equal = [(request, attempt) for score, request, attempt in scores if score == best]
        # Of tries of one request the last is under way; of several requests the first has waited longest.
        same = all(request is equal[0][0] for request, _ in equal)
        self.is_contested = self.is_contested or any(request is not equal[0][0] for _, request, _ in scores)
        return equal[-1 if same else 0][1], same

    def begin(self, event, group):
        """A new try: of a new request, or of the last one that fits."""
        attempt = Attempt()
        if not event.returning:
            attempt.path, attempt.method = event.path, event.method
        request = self.again(event, group)
        if request is None:
            request = Request([])
            self.requests.append(request)
            group.append(request)
        request.attempts.append(attempt)
        return attempt

    def again(self, event, group):
        """The request of which this is another try: the MAD layer's has no event at the sender, a program's has."""
        if event.returning:
            return None
        fits = [request for request in group if request.attempts[0].out
                and (request.attempts[0].path, request.attempts[0].method) == (event.path, event.method)
                and self.can_follow(event, request)]
        return fits[-1] if fits else None

    def can_follow(self, event, request):
        """Whether an event can be of a further try of a request, as far as its sender tells."""
        first = request.attempts[0]
        if event.kind == "send":
            return (first.origin == (event.device, event.port)
                    and not any(attempt.answered for attempt in request.attempts))
        if not first.is_sent:
            # Where the sender is not seen, what follows an answer is a request of its own.
            same = first.out[0].place != event.place or first.out[0].ingress == event.ingress
            return same and not any(attempt.back for attempt in request.attempts)
        if event.place != 1 or len(first.out) < 2 or first.out[1].place != 1:
            return True
        return (first.out[1].device, first.out[1].ingress) == (event.device, event.ingress)

    def fit_out(self, event, attempt):
        """How well a step of a request continues a try."""
        if (attempt.path, attempt.method) != (event.path, event.method) or not attempt.out:
            return None
        if attempt.step_of(event) is not None:
            return SAME_STEP
        last = attempt.out[-1]
        if attempt.back or event.kind in ("send", "forward") or event.place <= last.place or not last.leaves:
            return None
        return self.hop(last, event, event.place - last.place)

    def fit_back(self, event, attempt):
        """How well a step of an answer continues a try."""
        if attempt.step_of(event) is not None:
            return SAME_STEP
        if attempt.back:
            last = attempt.back[-1]
            if event.kind in ("reply", "send", "forward") or event.place >= last.place or not last.leaves:
                return None
            score = self.hop(last, event, last.place - event.place)
        elif attempt.out and attempt.out[-1].discard is None:
            last = attempt.out[-1]
            if event.kind in ("reply", "send") and last.device != event.device:
                return None
            score = SAME_NODE if last.verdict == "local" and last.device == event.device else 0
        else:
            return None
        return score + self.same_way(event, attempt)

    def hop(self, last, event, places):
        """How well an arrival follows a departure."""
        score = NEXT_HOP if places == 1 else 0
        peer = self.wiring.peer(last.device, last.egress)
        if places == 1 and last.verdict == "forward" and peer is not None:
            score += SAME_LINK if peer == (event.device, event.ingress) else -SAME_LINK
        return score

    @staticmethod
    def same_way(event, attempt):
        """How well an answer fits the way that the request took."""
        score = 0
        for step in attempt.out:
            if step.place == event.place and step.place >= 0:
                score += SAME_NODE if step.device == event.device else -SAME_NODE
            if 1 <= step.place <= len(event.path) and step.ingress:
                score += SAME_PATH if event.path[step.place - 1] == step.ingress else -SAME_PATH
        return score
