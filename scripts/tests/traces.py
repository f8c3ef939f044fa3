# SPDX-License-Identifier: GPL-2.0
"""Traces written by hand, of SMPs on a fabric of two HCAs and three switches in line.

    hca0 1---2 sw0 5---4 sw1 8---3 sw2 6---1 hca1

What each node does is written down from the rules C14-9 and C14-13.
"""

import itertools

PERMISSIVE = 0xFFFF
# device, ingress and egress on the way out
CHAIN = (("hca0", 0, 1), ("sw0", 2, 5), ("sw1", 4, 8), ("sw2", 3, 6), ("hca1", 1, 0))
PATH = (1, 5, 8, 6)
RETURN = (2, 4, 3, 1)


class Writer:
    """Writes lines as the file `trace` has them."""

    def __init__(self, start=100.0):
        self.clock = itertools.count()
        self.start = start
        self.lines = []

    def line(self, kind, device, text, delay=0.0):
        """Adds a line."""
        self.start += delay
        time = self.start + next(self.clock) * 0.0001
        port = 0 if device.startswith("sw") else 1
        node = "switch" if device.startswith("sw") else "ca"
        self.lines.append(f"     kworker/u9:1-202     [001] .....   {time:.6f}: ib_smi_{kind}: {device} port {port} "
                          f"{node} {text}")

    def event(self, kind, device, way, ingress, egress, hop, verdict, rule, *, path=PATH, tid=0x1900005EED, reason="-",
              lid=0, method=None, attr=0x11, mod=0, status=0, slid=PERMISSIVE, dlid=PERMISSIVE, delay=0.0):
        """Adds an event."""
        method = method or (0x01 if way == "request" else 0x81)
        elements = ",".join(f"{port:#x}" for port in path)
        self.line(kind, device, (
            f"{way} in={ingress} out={egress} hop={hop} verdict={verdict} lid={lid:#x} rule={rule} reason={reason} "
            f"path={{{elements}}} method={method:#04x} attr={attr:#06x} mod={mod:#x} status={status:#x} tid={tid:#x} "
            f"drslid={slid:#06x} drdlid={dlid:#06x}"), delay)

    def send(self, chain=CHAIN, path=PATH, **more):
        """The sender sends."""
        device, _, egress = chain[0]
        self.event("send", device, "request", 0, egress, f"0,1/{len(path)}", "forward", "C14-9:1", path=path, **more)

    def out(self, first=1, last=4, chain=CHAIN, path=PATH, **more):
        """The request comes to the nodes from one place to another, and is passed on by those that are not the last
        of the path."""
        count = len(path)
        for place in range(first, last + 1):
            device, ingress, egress = chain[place]
            if place == count:
                self.event("recv", device, "request", ingress, 0, f"{place},{place + 1}/{count}", "local", "C14-9:3",
                           path=path, **more)
                continue
            for kind in ("recv", "forward"):
                self.event(kind, device, "request", ingress, egress, f"{place},{place + 1}/{count}", "forward",
                           "C14-9:2", path=path, **more)
                more.pop("delay", None)

    def reply(self, chain=CHAIN, path=RETURN, **more):
        """The last node answers."""
        device, ingress, _ = chain[-1]
        count = len(path)
        self.event("reply", device, "response", ingress, ingress, f"{count + 1},{count}/{count}", "forward", "C14-13:1",
                   path=path, **more)

    def back(self, first=3, last=0, chain=CHAIN, path=RETURN, **more):
        """The answer comes to the nodes from one place back to another."""
        count = len(path)
        for place in range(first, last - 1, -1):
            device, egress, ingress = chain[place]
            hop = f"{place + 1},{place}/{count}"
            if place == 0:
                self.event("recv", device, "response", ingress, 0, hop, "local", "C14-13:3", path=path, **more)
                continue
            for kind in ("recv", "forward"):
                self.event(kind, device, "response", ingress, egress, hop, "forward", "C14-13:2", path=path, **more)

    def all(self, **more):
        """There and back."""
        self.send(**more)
        self.out(**more)
        self.reply(**more)
        self.back(**more)

    def discard(self, device, way, ingress, hop, rule, reason, kind="recv", **more):
        """A node drops it: the event of the decision, and that of the discard."""
        for name in (kind, "discard"):
            self.event(name, device, way, ingress, 0, hop, "discard", rule, reason=reason, **more)
