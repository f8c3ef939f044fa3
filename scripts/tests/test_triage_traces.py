# SPDX-License-Identifier: GPL-2.0
"""smi-triage on traces written by hand: what happened, at which hop, and by which node. No guest is needed."""

import json
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import pytest

from test_docs import literal, rows, symbols
from traces import CHAIN, PATH, RETURN, Writer
from triage import event, gather, judge, names, report, source, verdict, wiring
from triage.ledger import entry, join
from triage.scene import Scene
from triage.way import Request

# The TIDs of what goes all the way beside the request that a case is about.
TRAFFIC = (0x77, 0x78)
TRIAGE = Path(__file__).resolve().parents[1] / "smi-triage"


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


def with_traffic(writer):
    """Other SMPs go all the way, so that the trace shows the links."""
    writer.all(tid=0x77)
    return writer


def lost_going_out():
    writer = with_traffic(Writer())
    writer.send()
    writer.out(1, 2)
    return writer, ("never-arrived", 3, "sw1")


def dropped_by_a_switch():
    writer = Writer()
    writer.send(path=(1, 5, 9, 6))
    writer.out(1, 1, path=(1, 5, 9, 6))
    writer.discard("sw1", "request", 4, "2,2/4", "C14-9:2", "no-such-port", path=(1, 5, 9, 6))
    return writer, ("dropped", 2, "sw1")


def refused_by_the_sender():
    writer = Writer()
    writer.discard("hca0", "request", 0, "0,0/1", "C14-9:1", "no-such-port", kind="send", path=(2,))
    return writer, ("never-left", 0, "hca0")


def hop_count_64():
    writer = Writer()
    writer.discard("hca0", "request", 0, "0,0/64", "C14-6", "hop-count", kind="send", path=())
    return writer, ("never-left", 0, "hca0")


def not_posted_by_the_sender():
    writer = Writer()
    writer.send()
    writer.event("discard", "hca0", "request", 0, 0, "0,0/4", "discard", "C14-9:1", reason="send-failed")
    return writer, ("never-left", 0, "hca0")


def not_posted_in_transit():
    writer = Writer()
    writer.send()
    writer.out(1, 1)
    writer.event("discard", "sw0", "request", 2, 0, "1,1/4", "discard", "C14-9:2", reason="post-failed")
    return writer, ("dropped", 1, "sw0")


def through_a_ca():
    path = (*PATH, 1)
    writer = Writer()
    writer.send(path=path)
    writer.out(1, 3, path=path)
    writer.discard("hca1", "request", 1, "4,4/5", "C14-9:2", "ca-in-transit", path=path)
    return writer, ("dropped", 4, "hca1")


def another_port_by_its_own_word():
    writer = Writer()
    writer.send()
    writer.event("recv", "sw0", "request", 2, 5, "1,2/4", "forward", "C14-9:2")
    writer.event("forward", "sw0", "request", 2, 6, "1,2/4", "forward", "C14-9:2")
    return writer, ("misrouted", 2, "sw0")


def another_port_by_where_it_came():
    # sw1 has to send by 8, to sw2:3. It comes to hca9:1, which other SMPs reach by port 7 of sw1.
    beside = (*CHAIN[:2], ("sw1", 4, 7), ("hca9", 1, 0))
    writer = with_traffic(Writer())
    writer.send(path=(1, 5, 7), chain=beside, tid=0x78)
    writer.out(1, 3, path=(1, 5, 7), chain=beside, tid=0x78)
    writer.reply(path=(2, 4, 1), chain=beside, tid=0x78)
    writer.back(2, 0, path=(2, 4, 1), chain=beside, tid=0x78)
    writer.send()
    writer.out(1, 2)
    writer.discard("hca9", "request", 1, "3,3/4", "C14-9:2", "ca-in-transit")
    return writer, ("misrouted", 3, "sw1")


def an_error():
    writer = Writer()
    writer.send(attr=0x15, mod=5)
    writer.out(attr=0x15, mod=5)
    writer.reply(attr=0x15, mod=5, status=0x1C)
    writer.back(attr=0x15, mod=5, status=0x1C)
    return writer, ("error-status", 4, "hca1")


def silence():
    writer = Writer()
    writer.send()
    writer.out()
    return writer, ("silent", 4, "hca1")


def nobody():
    writer = Writer()
    writer.send(attr=0x20)
    writer.out(attr=0x20)
    writer.event("discard", "hca1", "request", 1, 0, "4,4/4", "discard", "C14-9:3", reason="no-listener", attr=0x20)
    return writer, ("nobody-listens", 4, "hca1")


def no_subnet_manager():
    writer = Writer()
    writer.send(attr=0x20)
    writer.out(attr=0x20)
    return writer, ("nobody-listens", 4, "hca1")


def lost_coming_back():
    writer = Writer()
    writer.send()
    writer.out()
    writer.reply()
    writer.back(3, 2)
    return writer, ("lost-on-return", 2, "sw1")


def answer_dropped():
    writer = Writer()
    writer.send()
    writer.out()
    writer.reply()
    writer.back(3, 3, path=(2, 9, 3, 1))
    writer.discard("sw1", "response", 8, "3,3/4", "C14-13:2", "no-such-port", path=(2, 9, 3, 1))
    return writer, ("lost-on-return", 2, "sw1")


def answer_led_astray():
    # Return Path element 2 has become 8: sw1 sends the answer back to sw2 instead of on to sw0.
    path = (2, 8, 3, 1)
    writer = Writer()
    writer.send()
    writer.out()
    writer.reply(path=path)
    writer.back(3, 3, path=path)
    for kind in ("recv", "forward"):
        writer.event(kind, "sw1", "response", 8, 8, "3,2/4", "forward", "C14-13:2", path=path)
    writer.discard("sw2", "response", 3, "2,2/4", "C14-13:2", "no-such-port", path=path)
    return writer, ("lost-on-return", 2, "sw1")


def nobody_waits():
    writer = Writer()
    writer.all()
    writer.event("discard", "hca0", "response", 1, 0, "1,1/4", "discard", "C14-13:3", reason="no-listener", path=RETURN)
    return writer, ("late", 0, "hca0")


def a_switch_in_the_place_of_the_target():
    # M4: the directed part ends at sw2, which should send on by LID 7.
    path, back = (1, 5, 8), (2, 4, 3)
    chain = (*CHAIN[:3], ("sw2", 3, 0))
    writer = Writer()
    writer.send(path=path, dlid=7, chain=chain)
    writer.out(1, 2, path=path, dlid=7, chain=chain)
    writer.event("recv", "sw2", "request", 3, 0, "3,4/3", "local", "C14-9:3", path=path, dlid=7)
    writer.event("reply", "sw2", "response", 3, 3, "4,3/3", "forward", "C14-13:1", path=back, dlid=7)
    writer.back(2, 0, path=back, dlid=7, chain=chain)
    return writer, ("wrong-node", 3, "sw2")


def no_way_by_lid():
    path = (1, 5, 8)
    writer = with_traffic(Writer())
    writer.send(path=path, dlid=7)
    writer.out(1, 2, path=path, dlid=7)
    writer.event("recv", "sw2", "request", 3, 0, "3,4/3", "route", "C14-9:3", path=path, dlid=7, lid=7)
    writer.event("forward", "sw2", "request", 3, 0, "3,4/3", "route", "C14-9:3", path=path, dlid=7, lid=7)
    return writer, ("never-arrived", 4, "sw2")


def only_the_own_end():
    writer = Writer()
    writer.send()
    return writer, ("unknown", 1, "hca0")


CASES = [lost_going_out, dropped_by_a_switch, refused_by_the_sender, hop_count_64, not_posted_by_the_sender,
         not_posted_in_transit, through_a_ca, another_port_by_its_own_word, another_port_by_where_it_came, an_error,
         silence, nobody, no_subnet_manager, lost_coming_back, answer_dropped, answer_led_astray,
         nobody_waits,
         a_switch_in_the_place_of_the_target, no_way_by_lid, only_the_own_end]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_case(case):
    writer, expected = case()
    assert brief(only(writer)) == expected


def test_all_is_well():
    writer = Writer()
    writer.all()
    writer.all(tid=0x78, attr=0x15)
    requests, scene = triage(writer)
    assert [brief(request.finding) for request in requests] == [("ok", 4, "hca1")] * 2
    assert report.exit_status(requests) == 0
    assert "\n".join(report.as_text(scene, requests)) == "2 requests: 2 answered or delivered; all is well"


def test_where_it_was_misrouted():
    finding = only(another_port_by_where_it_came()[0])
    assert (finding.left_by, finding.path_says, finding.next) == (7, 8, "hca9:1")
    finding = only(another_port_by_its_own_word()[0])
    assert (finding.left_by, finding.path_says) == (6, 5)


def test_a_damaged_return_path_is_named():
    writer, _ = answer_dropped()
    finding = only(writer)
    assert finding.cause == "return-path"
    assert any("element 2 is 9" in text and "sw1 by port 4" in text for text in finding.evidence)


def test_what_came_in_its_place():
    # On the way from sw1 to sw2 the TID, or on the way back to sw1 the attribute, has changed.
    writer, expected = lost_going_out()
    writer.out(3, 4, tid=0x1900005EEC)
    finding = only(writer, ignore=(0x1900005EEC,))
    assert brief(finding) == expected and finding.cause == "damaged"
    assert "tid=0x1900005eec" in finding.evidence[-1] or "tid=0x1900005eec" in finding.evidence[1]
    writer, expected = with_traffic(Writer()), ("lost-on-return", 3, "sw2")
    writer.send()
    writer.out()
    writer.reply()
    writer.back(3, 3)
    writer.back(2, 0, tid=0x1900005EEC)
    finding = only(writer, ignore=(0x1900005EEC,))
    assert brief(finding) == expected and finding.cause == "damaged"


def test_an_answer_that_is_damaged_and_taken():
    # The Hop Pointer has become 0 on the way from sw1 to sw0, which takes it for its own.
    writer = Writer()
    writer.send()
    writer.out()
    writer.reply()
    writer.back(3, 2)
    writer.event("recv", "sw0", "response", 5, 0, "0,0/4", "local", "C14-13:4", path=RETURN)
    finding = only(writer)
    assert brief(finding) == ("lost-on-return", 2, "sw0") and finding.cause == "damaged"
    # The method of an answer has become Set.
    writer = Writer()
    writer.send()
    writer.out()
    writer.reply()
    writer.back(3, 1)
    writer.back(0, 0, method=0x02)
    finding = only(writer)
    assert brief(finding) == ("lost-on-return", 0, "hca0") and "method 0x02" in finding.what
    # Another TID, and the sender is content with it.
    writer, expected = lost_going_out()
    writer.out(3, 4, tid=0x1900005EEC)
    line = "seq=1 device=hca0 port=1 tid=0x1900005eed method=0x01 attr=0x0011 mod=0x0 hops=4 path=0,1,5,8,6 state=answered"
    finding = only(writer, [line], ignore=(0x1900005EEC,))
    assert brief(finding) == expected and "all the same" in finding.what


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


def test_a_switch_that_always_sends_out_of_a_wrong_port():
    # What sw0 sends by port 2 leaves by port 3. The answers come in by port 3, for hca1 has one port only.
    chain = (("hca0", 0, 1), ("sw0", 1, 2), ("hca1", 1, 0))
    writer = Writer()
    writer.send(chain, (1, 2))
    writer.out(1, 2, chain, (1, 2))
    writer.reply(chain, (1, 1))
    writer.back(1, 0, (chain[0], ("sw0", 1, 3), chain[2]), (1, 1))
    finding = only(writer)
    assert brief(finding) == ("misrouted", 2, "sw0") and (finding.left_by, finding.path_says) == (3, 2)


def test_links_on_which_the_events_do_not_agree():
    writer = Writer()
    for ingress in (4, 6):
        writer.send(path=(1, 5))
        writer.out(1, 2, (*CHAIN[:2], ("sw1", ingress, 0)), (1, 5))
    _, scene = triage(writer)
    assert scene.inferred.peer("sw0", 5) is None
    assert scene.inferred.peer("hca0", 1) == ("sw0", 2)


def test_lines_in_another_order():
    writer, expected = lost_coming_back()
    writer.lines.reverse()
    assert brief(only(writer)) == expected


def test_the_first_failure_makes_the_exit_status():
    writer, _ = lost_going_out()
    writer.send(attr=0x20, tid=0x79)
    writer.out(attr=0x20, tid=0x79)
    requests, _ = triage(writer)
    assert [request.finding.exit_status for request in requests] == [0, 11, 17]
    assert report.exit_status(requests) == 11


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
    assert brief(requests[0].finding) == ("never-arrived", 3, "sw1")
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


def test_the_ledger_counts():
    line = ("seq=7 device=hca0 port=1 tid=0x1900005eed method=0x01 attr=0x0011 mod=0x0 path=0,1,5,8,6 hops=4 "
            "drdlid=0xffff timeout_ms=100 retries=1 age_us=2000 state={} rtt_us={} status=0x0 last=recv@sw1:0 in=4 out=8 "
            "hop=3 verdict=forward reason=- last_us=3")
    writer, expected = lost_going_out()
    assert brief(only(writer, [line.format("lost", "-")])) == expected
    assert only(writer, [line.format("waiting", "-")]).verdict == "waiting"
    # The trace has lost the rest, the ledger has not.
    assert only(writer, [line.format("answered", 350)]).verdict == "ok"
    writer = Writer()
    writer.all()
    finding = only(writer, [line.format("late", 250000)])
    assert brief(finding) == ("late", 0, "hca0") and finding.late_ms == 50


def test_the_ledgers_own_order_and_head():
    # The newest need not be the last line, and the first line is about the ledger.
    head = "on size=4096 entered=9 evicted=0 missed=0"
    assert entry(head) is None
    line = "seq={} device=hca0 port=1 tid=0x1900005eed method=0x01 attr=0x0011 mod=0x0 hops=4 path=0,1,5,8,6 state={}"
    writer = Writer()
    writer.all()
    writer.send()
    requests, _ = triage(writer, [line.format(9, "lost"), line.format(8, "answered")])
    assert [request.entry.seq for request in requests] == [8, 9]
    assert [request.finding.verdict for request in requests] == ["ok", "never-arrived"]


def test_an_answer_of_another_class_is_no_request():
    writer = Writer()
    writer.all()
    writer.line("discard", "sw0", "response in=2 out=0 hop=0,0/0 verdict=discard lid=0x0 rule=- reason=post-failed path={} "
                "method=0x81 attr=0x0012 mod=0x0 status=0x0 tid=0x44 drslid=0xffff drdlid=0xffff class=0x04 point=reply")
    requests, scene = triage(writer)
    assert [request.finding.verdict for request in requests] == ["ok"]
    assert "sw0:0 lost an answer of class 0x04" in "\n".join(report.as_text(scene, requests))


def test_where_a_discard_was_decided():
    # An answer that could not be sent, told when the send completed: its Hop Pointer has moved already.
    writer = Writer()
    writer.send()
    writer.out()
    writer.reply()
    writer.event("discard", "hca1", "response", 1, 0, "4,4/4", "discard", "C14-13:1", reason="send-failed", path=RETURN)
    writer.lines[-1] += " class=0x81 point=reply"
    assert brief(only(writer)) == ("lost-on-return", 4, "hca1")
    # The same where discards alone are traced.
    writer.lines = writer.lines[-1:]
    assert brief(only(writer)) == ("lost-on-return", 4, "hca1")
    # A request of a node to itself, which nobody takes.
    writer = Writer()
    writer.event("send", "hca0", "request", 0, 0, "0,1/0", "local", "C14-9:3", path=(), attr=0x20)
    writer.event("discard", "hca0", "request", 0, 0, "1,1/0", "discard", "C14-9:4", path=(), attr=0x20,
                 reason="no-listener")
    writer.lines[-1] += " class=0x81 point=local"
    assert brief(only(writer)) == ("nobody-listens", 0, "hca0")


def test_ib_mad_answers_for_a_subnet_manager_that_is_not_there():
    writer = Writer()
    writer.all(attr=0x20, status=0x0C)
    writer.lines = [line.replace("status=0xc", "status=0x0") if " request " in line else line for line in writer.lines]
    assert brief(only(writer)) == ("nobody-listens", 4, "hca1")


def test_a_request_that_only_the_ledger_knows():
    line = ("seq=7 device=hca0 port=1 tid=0x19 method=0x01 attr=0x0011 mod=0x0 path=0,1 hops=1 age_us=2000 state=lost "
            "rtt_us=- timeout_ms=200 status=- last=- drslid=0x0001 drdlid=0xffff new=1")
    requests, scene = triage(Writer(), [line])
    assert brief(requests[0].finding) == ("unknown", 0, "hca0")
    assert "NO ANSWER" in "\n".join(report.as_text(scene, requests))


def test_a_fabric_that_is_told():
    fabric = wiring.from_lines([("hca0", "ca", "0x1", "1"), ("sw0", "switch", "0x2", "4"), ("hca1", "ca", "0x3", "1")],
                               [("hca0:1", "sw0:1"), ("sw0:2", "hca1:1", "down")])
    writer = Writer()
    writer.send(path=(1, 2))
    chain = (("hca0", 0, 1), ("sw0", 1, 2))
    writer.out(1, 1, chain, (1, 2))
    reporting = {"hca0", "sw0", "hca1"}
    finding = only(writer, told=fabric, reporting=set(reporting))
    assert brief(finding) == ("never-arrived", 2, "sw0") and finding.certain
    assert (finding.cause, finding.next) == ("link-down", "hca1:1")
    writer = Writer()
    writer.send(path=(1, 3))
    writer.out(1, 1, (chain[0], ("sw0", 1, 3)), (1, 3))
    assert only(writer, told=fabric, reporting=set(reporting)).cause == "no-link"
    # The far end is known, but it is on another host.
    writer = Writer()
    writer.send(path=(1, 2))
    assert brief(only(writer, told=fabric)) == ("unknown", 1, "hca0")
    assert brief(only(writer, told=fabric, reporting=set(reporting))) == ("never-arrived", 1, "hca0")


def test_counters_say_why():
    writer, expected = lost_going_out()
    for counter, cause in (("vl15_dropped", "no-buffer"), ("rcv_errors", "damaged")):
        finding = only(writer, counters={("sw2", 3): {counter: 1}})
        assert brief(finding) == expected and finding.cause == cause
    assert only(writer, counters={("sw1", 8): {"xmit_discards": 1}}).cause == "not-sent"
    writer, expected = no_way_by_lid()
    finding = only(writer, counters={("sw2", 0): {"relay_errors": 1}})
    assert brief(finding) == expected and finding.cause == "no-route" and finding.certain


def test_the_node_that_is_expected():
    writer = Writer()
    writer.all()
    assert only(writer, expect="hca1").verdict == "ok"
    finding = only(writer, expect="hca7")
    assert brief(finding) == ("wrong-node", 4, "hca1") and finding.next == "hca7"
    assert only(writer, guids={0x1234: "hca1"}, expect="0x1234").verdict == "ok"
    assert only(writer, guids={0x1234: "hca1"}, expect="0x1235").verdict == "wrong-node"


def test_a_request_under_way_when_the_trace_ends():
    writer, expected = lost_going_out()
    assert only(writer, cut=100.1).verdict == "waiting"
    assert brief(only(writer, cut=102.1)) == expected


def test_a_timeout_that_is_given():
    writer = Writer()
    writer.send()
    writer.out(delay=0.3)
    writer.reply()
    writer.back()
    assert only(writer, timeout_ms=1000).verdict == "ok"
    finding = only(writer, timeout_ms=200)
    assert finding.verdict == "late" and 100 < finding.late_ms < 102


@pytest.mark.parametrize("prefix", ["", "  smpquery-178   [000] .....   ", "smpquery 178 [000]   "])
def test_forms_of_text(prefix):
    text = ("25.1: ib_smi:ib_smi_recv:       sw0 port 0 switch request in=1 out=2 hop=1,2/2 verdict=forward lid=0x0 "
            "rule=C14-9:2 reason=- path={0x1,0x2} method=0x01 attr=0x0011 mod=0x0 status=0x0 tid=0x13 mkey=0x0 "
            "drslid=0xffff drdlid=0xffff later={1,2} more=yes")
    found = event.read(prefix + text)
    assert (found.device, found.ingress, found.path, found.tid, found.place) == ("sw0", 1, (1, 2), 0x13, 1)


def run(*words, text=None):
    """Runs the command. Returns its status, output and error output."""
    done = subprocess.run([sys.executable, "-B", TRIAGE, *words], input=text, capture_output=True, text=True,
                          check=False)
    return done.returncode, done.stdout, done.stderr


def test_lines_of_something_else():
    writer, _ = silence()
    text = "\n".join(["# tracer: nop", "", "   <idle>-0  [000] d.h1.   99.0: sched_switch: x", *writer.lines])
    status, out, _ = run("-", text=text)
    assert status == 16
    assert "1 lines were of something else" in out


def test_a_line_that_is_cut_off():
    writer, _ = silence()
    text = "\n".join([*writer.lines, writer.lines[-1][:150]])
    status, out, _ = run("-", text=text)
    assert status == 16 and f"-:{len(writer.lines) + 1}: not read: ib_smi_recv lacks" in out
    status, out, err = run("-", text=writer.lines[0][:150])
    assert (status, out) == (1, "") and "-:1: ib_smi_send lacks reason=, path=" in err and "cut off" in err


@pytest.mark.parametrize("text, status, says", [
    ("", 3, "no ib_smi event in -"),
    ("hello\n", 3, "1 lines were of something else"),
    ("a\0b", 1, "neither text nor a file of 'trace-cmd record'"),
    ("1.0: ib_smi_recv: sw0\n", 1, "-:1: ib_smi_recv does not begin with a device"),
])
def test_what_cannot_be_judged(text, status, says):
    got, out, err = run("-", text=text)
    assert (got, out) == (status, "") and says in err


def test_wrong_arguments(tmp_path):
    for words in ([], ["--watch", "soon"], ["--"], ["-", "--watch", "1s"], ["-", "--guid", "hca0"]):
        assert run(*words, text="")[0] == 2
    status, _, err = run(str(tmp_path / "none"))
    assert status == 1 and "No such file" in err
    (tmp_path / "bad.dat").write_bytes(source.TRACE_DAT + b"\x00\x01")
    status, _, err = run(str(tmp_path / "bad.dat"))
    assert status == 1 and "trace-cmd" in err
    (tmp_path / "bad.txt").write_text("nonsense\n")
    status, _, err = run("-", "--fabric", str(tmp_path / "bad.txt"), text="")
    assert status == 1 and "bad.txt:1:" in err


def test_json():
    writer, _ = dropped_by_a_switch()
    status, out, _ = run("--json", "-", text="\n".join(writer.lines))
    found = json.loads(out)
    (request,) = found["requests"]
    assert status == found["status"] == 12
    assert (request["verdict"], request["hop"], request["device"], request["rule"], request["reason"]) == (
        "dropped", 2, "sw1", "C14-9:2", "no-such-port")
    assert request["path"] == [0, 1, 5, 9, 6] and request["sender"] == {"device": "hca0", "port": 1}
    assert request["tries"] == 1 and request["checks"][0]["command"] == "smpquery -C hca0 -P 1 -D nodeinfo 0,1,5"
    assert [(step["place"], step["device"]) for step in request["steps"]] == [(0, "hca0"), (1, "sw0"), (2, "sw1")]


def test_one_tid():
    writer, _ = lost_going_out()
    text = "\n".join(writer.lines)
    assert run("--tid", "77", "-", text=text)[0] == 0
    # A log has the low half.
    assert run("--tid", "0x5eed", "-", text=text)[0] == 11
    status, _, err = run("--tid", "0x99", "-", text=text)
    assert status == 3 and "no SMP with TID 0x99, but 2 others" in err


def test_drawings(tmp_path):
    for case in CASES:
        writer, (_, hop, _) = case()
        file = tmp_path / f"{case.__name__}.svg"
        _, out, _ = run("--draw", str(file), "-", text="\n".join(writer.lines))
        root = xml.etree.ElementTree.parse(file).getroot()
        assert root.tag.endswith("svg") and "✗" in out, case.__name__
        assert f"at hop {hop}" in out


def test_a_fabric_from_a_file(tmp_path):
    text = ('switchguid=0x2(2)\nSwitch\t4 "S-0000000000000002"\t\t# "leaf" base port 0 lid 0 lmc 0\n'
            '[1]\t"H-0000000000000010"[1](11) \t\t# "one hca0" lid 0 4xQDR\n'
            '[2]\t"H-0000000000000020"[1](21) \t\t# "two hca0" lid 0 4xQDR\n\n'
            'caguid=0x10\nCa\t1 "H-0000000000000010"\t\t# "one hca0"\n'
            '[1](11) \t"S-0000000000000002"[1]\t\t# lid 0 lmc 0 "leaf" lid 0 4xQDR\n\n'
            'caguid=0x20\nCa\t1 "H-0000000000000020"\t\t# "two hca0"\n'
            '[1](21) \t"S-0000000000000002"[2]\t\t# lid 0 lmc 0 "leaf" lid 0 4xQDR\n')
    (tmp_path / "fabric").write_text(text)
    words = ("--fabric", str(tmp_path / "fabric"), "--guid", "hca0=0x10", "-")
    chain = (("hca0", 0, 1), ("sw0", 1, 2), ("hca1", 1, 0))
    writer = Writer()
    writer.send(chain, (1, 2))
    writer.back(0, 0, chain, (1, 1))
    # Only the own end is seen. The Return Path agrees with the file.
    assert run(*words, text="\n".join(writer.lines))[0] == 0
    writer = Writer()
    writer.send(chain, (1, 2))
    writer.back(0, 0, chain, (3, 1))
    status, out, _ = run(*words, text="\n".join(writer.lines))
    assert status == 14 and 'entered by port 3' in out and 'leads to "leaf" by port 1' in out
    writer = Writer()
    writer.send(chain, (1, 2))
    status, out, _ = run(*words, text="\n".join(writer.lines))
    assert status == 20 and '"leaf":1' in out and "It cannot be known from here" in out


def test_the_largest_traces_are_quick_enough_to_read():
    # Not timed: many events that take a square number of steps would not end.
    writer = Writer()
    for tid in range(2000):
        writer.all(tid=tid)
    requests, _ = triage(writer)
    assert len(requests) == 2000 and report.exit_status(requests) == 0


def test_every_reason_has_a_meaning():
    assert set(symbols("reason").values()) - {"-"} <= set(names.REASONS)


def test_the_verdicts_are_documented():
    table = {literal(name): (int(status), headline) for name, status, headline, *_ in rows("triage.rst", "Verdicts")}
    assert table == {name: (status, headline) for name, (status, headline, _) in verdict.VERDICTS.items()}
