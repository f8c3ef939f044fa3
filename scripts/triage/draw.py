# SPDX-License-Identifier: GPL-2.0
"""Draws the way of an SMP through the fabric, as text and as SVG, with the failed hop marked."""

import textwrap
from dataclasses import dataclass
from html import escape

from . import tell
from .event import PERMISSIVE

ROW, LEFT, NODE_WIDTH, CHARACTERS = 74, 250, 190, 118
GOOD, BAD, DIM = "#1a7f37", "#cf222e", "#8c959f"


@dataclass
class Row:
    """A node on the way, with what it did with the request and with the answer."""

    place: int
    node: str
    request: str = ""
    response: str = ""
    # Which of the two went wrong here, and whether on the link to the next node.
    failed: str = ""
    between: bool = False


def rows(request, scene):
    """The nodes on the way, those that are only expected too."""
    attempt = max(request.attempts, key=lambda attempt: len(attempt.steps)) if request.attempts else None
    found = {}
    for step in attempt.steps if attempt else ():
        row = found.setdefault(step.place, Row(step.place, step.where))
        text = tell.deed(step)
        if step.ingress and step.first.kind != "reply":
            text = f"in {step.ingress}, {text}"
        if step.returning:
            row.response = row.response or text
        else:
            row.request = row.request or text
    for place, name in expected(request, scene):
        found.setdefault(place, Row(place, name))
    mark(request.finding, found)
    return [found[place] for place in sorted(found)]


def expected(request, scene):
    """The nodes that the path leads to, as far as they are known: (place, name)."""
    last = request.count + (1 if request.dlid != PERMISSIVE else 0)
    if request.count > 63 or request.path is None:
        return
    yield 0, request.sender if request.slid == PERMISSIVE else "?"
    walked = scene.wiring.walk(request.origin[0], request.path) if request.origin and request.slid == PERMISSIVE else []
    for place in range(1, last + 1):
        yield place, f"({walked[place - 1][0]})" if place <= len(walked) else "(not seen)"


def mark(finding, found):
    """Marks where it went wrong."""
    if not finding.is_failure or finding.hop is None:
        return
    between = finding.verdict in ("never-arrived", "misrouted", "unknown") or (
        finding.verdict == "lost-on-return" and finding.reason is None)
    place = finding.hop - 1 if between else finding.hop
    row = found.get(place)
    if row is None:
        row = found.setdefault(place, Row(place, finding.device or "?"))
    row.failed, row.between = finding.way, between


def text(request, scene):
    """The drawing as text: a line a node, and a line a link."""
    found = rows(request, scene)
    yield request.title
    width = max(len(row.node) for row in found)
    yield f"  {'hop':>3}  {'node':<{width}}  {'request':<36}response"
    for row, after in zip(found, [*found[1:], None]):
        cross = {"request": ("✗ ", ""), "response": ("", "✗ ")}.get("" if row.between else row.failed, ("", ""))
        place = "LID" if row.place < 0 else row.place
        yield (f"  {place:>3}  {row.node:<{width}}  {cross[0] + (row.request or '–'):<36}"
               f"{cross[1] + (row.response or '–')}").rstrip()
        if after is not None:
            yield f"       {'':<{width}}  {arrow(row, after, 'request'):<36}{arrow(row, after, 'response')}".rstrip()
    at = f" at hop {request.finding.hop}" if request.finding.hop is not None and request.finding.is_failure else ""
    yield f"  {request.finding.headline}{at}: {request.finding.what}"


def arrow(row, after, way):
    """The link between two nodes."""
    if row.between and row.failed == way:
        return "✗ lost here" if way == "request" else "✗ lost here, on the way back"
    went = getattr(row, way) and getattr(after, way)
    return ("▼" if way == "request" else "▲") if went else "┊"


def svg(request, scene):
    """The drawing as SVG."""
    found, finding = rows(request, scene), request.finding
    colour = BAD if finding.is_failure else GOOD
    words = [(words, "black", "bold") for words in textwrap.wrap(request.title, CHARACTERS)]
    words += [(words, colour, "normal") for words in textwrap.wrap(f"{finding.headline}: {finding.what}", CHARACTERS)]
    top = 58 + 22 * len(words)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="860" height="{top + ROW * len(found)}" '
        'font-family="sans-serif" font-size="13">',
        f'<title>{escape(request.title)}</title>',
        '<rect width="100%" height="100%" fill="white"/>']
    parts += [label(24, 28 + 22 * number, text, fill, weight) for number, (text, fill, weight) in enumerate(words)]
    parts += [label(24, top - 14, "hop", fill=DIM), label(60, top - 14, "request", fill=DIM),
              label(LEFT + NODE_WIDTH + 10, top - 14, "response", fill=DIM)]
    for number, row in enumerate(found):
        parts += node(row, top + ROW * number)
        if number + 1 < len(found):
            parts += link(row, found[number + 1], top + ROW * number)
    return "\n".join([*parts, "</svg>", ""])


def label(x, y, words, fill="black", weight="normal", anchor="start"):
    """A line of text."""
    return f'<text x="{x}" y="{y}" fill="{fill}" font-weight="{weight}" text-anchor="{anchor}">{escape(words)}</text>'


def node(row, y):
    """A node with what it did."""
    failed = bool(row.failed) and not row.between
    seen = bool(row.request or row.response)
    colour = BAD if failed else "black" if seen else DIM
    dash = "" if seen else ' stroke-dasharray="4 3"'
    place = "LID" if row.place < 0 else str(row.place)
    return [
        label(24, y + 23, place, fill=colour),
        f'<rect x="{LEFT}" y="{y}" width="{NODE_WIDTH}" height="36" rx="6" fill="{"#ffebe9" if failed else "#f6f8fa"}" '
        f'stroke="{colour}"{dash}/>',
        label(LEFT + NODE_WIDTH / 2, y + 23, row.node, fill=colour, anchor="middle"),
        label(LEFT - 10, y + 23, row.request, fill=BAD if failed and row.failed == "request" else "black",
              anchor="end"),
        label(LEFT + NODE_WIDTH + 10, y + 23, row.response,
              fill=BAD if failed and row.failed == "response" else "black")]


def link(row, after, y):
    """The link to the next node: the request on the left, the answer on the right."""
    top, bottom = y + 38, y + ROW - 2
    parts = []
    for way, x in (("request", LEFT + 60), ("response", LEFT + NODE_WIDTH - 60)):
        lost = row.between and row.failed == way
        went = bool(getattr(row, way) and getattr(after, way))
        colour = BAD if lost else GOOD if went else DIM
        dash = "" if went and not lost else ' stroke-dasharray="3 4"'
        parts.append(f'<line x1="{x}" y1="{top}" x2="{x}" y2="{bottom}" stroke="{colour}" stroke-width="2"{dash}/>')
        if lost:
            middle = (top + bottom) / 2
            parts.append(f'<path d="M {x - 8} {middle - 8} l 16 16 m 0 -16 l -16 16" stroke="{BAD}" stroke-width="3"/>')
        elif went:
            tip, back = (bottom, bottom - 8) if way == "request" else (top, top + 8)
            parts.append(f'<path d="M {x - 5} {back} L {x} {tip} L {x + 5} {back}" fill="none" stroke="{colour}" '
                         'stroke-width="2"/>')
    return parts
