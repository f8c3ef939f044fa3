# SPDX-License-Identifier: GPL-2.0
"""Which events belong together: one TID for several requests, several tries, gaps. No guest is needed."""

import re

from judged import brief, only, triage
from trace_cases import dropped_by_a_switch, lost_coming_back, lost_going_out
from traces import CHAIN, Writer
from triage.gather import RECENT


def test_the_same_tid_from_two_hcas():
    # Both ask sw0 by the same path and TID; the answer to hca2 is lost. The links are known from other SMPs.
    ways = {"hca0": (("hca0", 0, 1), ("sw0", 2, 0)), "hca2": (("hca2", 0, 1), ("sw0", 3, 0))}
    writer = Writer()
    for tid, chain in enumerate(ways.values(), 0x70):
        writer.send(chain, (1,), tid=tid)
        writer.out(1, 1, chain, (1,), tid=tid)
        writer.reply(chain, (chain[1][1],), tid=tid)
        writer.back(0, 0, chain, (chain[1][1],), tid=tid)
    for chain in ways.values():
        writer.send(chain, (1,))
    # The second request is the first to come.
    for chain in reversed(ways.values()):
        writer.out(1, 1, chain, (1,))
    for chain in ways.values():
        writer.reply(chain, (chain[1][1],))
    writer.back(0, 0, ways["hca0"], (2,))
    requests, _ = triage(writer)
    found = {request.origin: brief(request.finding) for request in requests[2:]}
    assert found == {("hca0", 1): ("ok", 1, "sw0"), ("hca2", 1): ("lost-on-return", 1, "sw0")}
    came = {request.origin[0]: request.attempts[0].out[1].ingress for request in requests[2:]}
    assert came == {"hca0": 2, "hca2": 3}


def test_one_tid_over_and_over():
    """More often than requests are remembered."""
    writer = Writer()
    for _ in range(3 * RECENT):
        writer.all()
    requests, _ = triage(writer)
    assert [brief(request.finding) for request in requests] == [("ok", 4, "hca1")] * 3 * RECENT


def test_interleaved_requests():
    writers = [Writer(start=100 + offset) for offset in (0, 0.00003, 0.00006)]
    for number, writer in enumerate(writers):
        writer.all(tid=0x100 + number)
    writers[1].lines = writers[1].lines[:4]
    mixed = Writer()
    mixed.lines = sorted((line for writer in writers for line in writer.lines), key=lambda line: line[40:])
    requests, _ = triage(mixed)
    assert {request.tid: request.finding.verdict for request in requests} == {
        0x100: "ok", 0x101: "never-arrived", 0x102: "ok"}


def test_tries_under_one_tid():
    # Twice lost behind sw0, then answered. The sender has an event for the first try alone.
    writer = Writer()
    writer.send()
    writer.out(1, 1)
    writer.out(1, 1, delay=0.2)
    writer.out(1, 4, delay=0.2)
    writer.reply()
    writer.back()
    requests, _ = triage(writer)
    assert len(requests) == 1 and [len(attempt.out) for attempt in requests[0].attempts] == [2, 1, 4]
    assert requests[0].finding.verdict == "ok"
    assert "2 × never-arrived at hop 2" in "\n".join(requests[0].finding.evidence)


def test_a_program_that_sends_again():
    # libibmad sends the same datagram once more when the MAD layer has given up.
    writer = Writer()
    for _ in range(2):
        writer.send(delay=0.2)
        writer.out(1, 2)
    requests, _ = triage(writer)
    assert len(requests) == 1 and len(requests[0].attempts) == 2
    assert brief(requests[0].finding) == ("unknown", 3, "sw1")
    # Once it is answered, the next one is another request.
    writer.send(delay=0.2)
    writer.out()
    writer.reply()
    writer.back()
    writer.all()
    requests, _ = triage(writer)
    assert [len(request.attempts) for request in requests] == [3, 1]


def test_all_tries_lost_on_the_way_back():
    writer = Writer()
    writer.send()
    for _ in range(3):
        writer.out(delay=0.2)
        writer.reply()
        writer.back(3, 1)
    requests, _ = triage(writer)
    assert len(requests) == 1 and len(requests[0].attempts) == 3
    assert brief(requests[0].finding) == ("lost-on-return", 1, "sw0")


def test_a_hop_that_has_no_events():
    # sw1 is of hardware: nothing is told of it.
    writer = Writer()
    writer.all()
    writer.lines = [line for line in writer.lines if " sw1 " not in line]
    assert brief(only(writer)) == ("ok", 4, "hca1")


def test_a_host_that_passes_on_only():
    writer = Writer()
    writer.all()
    writer.lines = [line for line in writer.lines if " sw1 " in line]
    requests, _ = triage(writer)
    assert [request.finding.verdict for request in requests] == ["ok"]
    writer.lines = writer.lines[:2]
    assert only(writer).verdict == "unknown"


def test_links_on_which_the_events_do_not_agree():
    writer = Writer()
    for ingress in (4, 6):
        writer.send(path=(1, 5))
        writer.out(1, 2, (*CHAIN[:2], ("sw1", ingress, 0)), (1, 5))
    _, scene = triage(writer)
    assert scene.inferred.peer("sw0", 5) is None
    assert scene.inferred.peer("hca0", 1) == ("sw0", 2)


def late_by(writer, name, microseconds):
    """Gives the last event of that name at a node, such as "forward: sw0", a clock that is ahead by so much."""
    line = next(line for line in reversed(writer.lines) if name in line)
    time = re.search(r"\d+\.\d+(?=:)", line)[0]
    writer.lines[writer.lines.index(line)] = line.replace(time, f"{float(time) + microseconds / 1e6:.6f}")


def test_clocks_of_cpus_that_differ():
    # sw0 passes it on before sw1 drops it, 0.1 to 0.3 ms later. Its clock says otherwise.
    writer, expected = dropped_by_a_switch()
    late_by(writer, "forward: sw0", 500)
    requests, _ = triage(writer)
    assert len(requests) == 1 and len(requests[0].attempts) == 1
    assert brief(requests[0].finding) == expected
    # On the way out when the answer was under way already, and on the way back.
    for name in ("forward: sw2 port 0 switch request", "forward: sw2 port 0 switch response"):
        writer = Writer()
        writer.all()
        late_by(writer, name, 350)
        requests, _ = triage(writer)
        assert [len(request.attempts) for request in requests] == [1]
        assert brief(requests[0].finding) == ("ok", 4, "hca1")


def test_a_discard_of_a_further_try_is_its_own():
    # The first try had passed sw0 when it was lost; the second one is dropped there.
    writer = Writer()
    writer.send()
    writer.out(1, 2)
    writer.out(1, 1, delay=0.2)
    writer.event("discard", "sw0", "request", 2, 0, "1,1/4", "discard", "C14-9:2", reason="post-failed")
    requests, _ = triage(writer)
    assert [[step.discard is not None for step in attempt.out] for attempt in requests[0].attempts] == [
        [False, False, False], [True]]
    assert brief(requests[0].finding) == ("dropped", 1, "sw0")


def test_lines_in_another_order():
    writer, expected = lost_coming_back()
    writer.lines.reverse()
    assert brief(only(writer)) == expected


def test_events_that_were_lost_are_no_evidence():
    writer, _ = lost_going_out()
    writer.lines.append("CPU:1 [LOST 12 EVENTS]")
    finding = only(writer)
    assert brief(finding) == ("unknown", 3, "sw1") and not finding.certain
    # It is noticed when this CPU has its next event.
    writer, _ = lost_going_out()
    writer.lines.append("CPU:1 [LOST 12 EVENTS]")
    writer.all(tid=0x78)
    assert only(writer).verdict == "unknown"
    # What is proven by an event stays so.
    writer, expected = dropped_by_a_switch()
    writer.lines.append("CPU:1 [LOST 12 EVENTS]")
    assert brief(only(writer)) == expected
    # What was overwritten is older than a request that came later on the same CPU.
    writer, expected = lost_going_out()
    writer.lines.insert(0, "# entries-in-buffer/entries-written: 24/36   #P:2")
    _, scene = triage(writer)
    assert scene.trace.lost == 12
    assert brief(only(writer)) == expected
