# SPDX-License-Identifier: GPL-2.0
"""What the notes of bench/clock.c say: the work of the MAD layer and the module, piece by piece.

A piece begins where the driver hands a completion over, or where a request is posted, and ends where the MAD
layer is done with it. What the driver does meanwhile, when it is called, is taken off, and so is what the
notes take themselves. A piece in which somebody else had the processor is left out; a timer interrupt cannot
be told, so that of many pieces the median counts.
"""

import statistics
import struct
from collections import defaultdict, namedtuple

WHAT = ("POLL", "ARM", "SEND", "RECV", "MAD", "AH_MAKE", "AH_FREE", "ASK", "ANSWER", "END", "NOTHING")
FORMAT = struct.Struct("=QQIHh")

Note = namedtuple("Note", "begin end device what result")

# How many instructions: up to the post, where there is one, and after it.
Piece = namedtuple("Piece", "kind device began to_post after")


def read(path):
    """The notes, in the order in which they began."""
    found = [Note(*fields[:3], WHAT[fields[3]], fields[4]) for fields in FORMAT.iter_unpack(path.read_bytes())]
    return sorted(found)


def own_cost(notes):
    """What is between two notes when nothing is."""
    first, second = (note for note in notes if note.what == "NOTHING")
    return second.begin - first.end


def kind(whats):
    """What happens in a piece, by the notes within."""
    if "ASK" in whats:
        return "request"
    if "ANSWER" in whats:
        return "answered"
    if "MAD" in whats:
        return "answer"
    return "hop" if "SEND" in whats else "sent"


def measure(begin, end, within, cost):
    """Instructions between two moments before and after the post, less those of the notes within."""
    parts, now, posted = [0, 0], begin, 0
    for note in within:
        parts[posted] += note.begin - now - cost
        posted |= note.what == "SEND"
        now = max(now, note.end)
    parts[posted] += end - now - cost
    return parts


def pieces(notes):
    """The pieces."""
    cost = own_cost(notes)
    by_device = defaultdict(list)
    for at, note in enumerate(notes):
        by_device[note.device].append((at, note))
    for device, own in by_device.items():
        begun = None
        for order, note in own:
            if note.what == "ASK":
                within = [other for _, other in own if note.begin < other.begin < note.end]
                nested = [(begin, end) for begin, end in ((n.begin, n.end) for n in within)]
                if len(nested) == 1:
                    yield Piece("request", device, note.begin, *measure(note.begin, note.end, within, cost))
            elif note.what in ("POLL", "ARM"):
                if begun is not None and order - begun[0] == len(begun[2]) + 1:
                    start, within = begun[1], begun[2]
                    yield Piece(kind({n.what for n in within}), device, start.end,
                                *measure(start.end, note.begin, within, cost))
                begun = (order, note, []) if note.what == "POLL" and note.result == 1 else None
            elif begun is not None:
                begun[2].append(note)


def medians(notes):
    """Medians of the two parts of each kind of piece at each device, and of how many: (kind, device) to three numbers."""
    found = defaultdict(list)
    for piece in pieces(notes):
        found[piece.kind, piece.device].append(piece[3:])
    return {key: tuple(statistics.median_low(part) for part in zip(*values)) + (len(values),) for key, values in found.items()}


def rounds(notes):
    """The median time from a request to its answer, and how many requests are answered in a second, of a thousand
    million ticks."""
    asked = [note.begin for note in notes if note.what == "ASK"]
    answered = [note.begin for note in notes if note.what == "ANSWER"]
    assert len(asked) == len(answered) > 0
    return (statistics.median_low(end - begin for begin, end in zip(asked, answered)),
            len(asked) * 1e9 / (answered[-1] - asked[0]))
