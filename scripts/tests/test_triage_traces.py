# SPDX-License-Identifier: GPL-2.0
"""smi-triage on traces written by hand: what happened, at which hop, and by which node. No guest is needed."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

# pylint: disable=wrong-import-position
from judged import brief, only, triage  # noqa: E402
from test_docs import literal, rows, symbols  # noqa: E402
from trace_cases import (CASES, another_port_by_its_own_word, another_port_by_where_it_came,  # noqa: E402
                         answer_dropped, dropped_by_a_switch, hop_count_64, lost_going_out, no_way_by_lid,
                         not_posted_in_transit, with_traffic)
from traces import RETURN, Writer  # noqa: E402
from triage import event, names, report, verdict, wiring  # noqa: E402
from triage.ledger import entry  # noqa: E402

@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_case(case):
    writer, expected = case()
    assert brief(only(writer)) == expected


def test_omni_path():
    # Its permissive LIDs are wider.
    writer = Writer()
    writer.send(slid=0xFFFFFFFF, dlid=0xFFFFFFFF)
    writer.out(1, 2, slid=0xFFFFFFFF, dlid=0xFFFFFFFF)
    line = ("seq=1 device=hca0 port=1 tid=0x1900005eed method=0x01 attr=0x0011 mod=0x0 hops=4 path=0,1,5,8,6 "
            "drdlid=0xffffffff state=lost")
    requests, _ = triage(writer, [line])
    assert brief(requests[0].finding) == ("never-arrived", 3, "sw1")
    assert requests[0].title == "Get NodeInfo along 0,1,5,8,6 (TID 0x1900005eed)"


def test_what_is_said_of_discards():
    assert "by rule C14-9:2: no-such-port" in only(dropped_by_a_switch()[0]).what
    # The rules would have let these pass.
    assert "sw0 could not pass it on: post-failed" in only(not_posted_in_transit()[0]).what
    requests, _ = triage(hop_count_64()[0])
    assert "over 64 hops" in requests[0].title


def test_a_switch_that_is_known_and_has_no_events():
    fabric = wiring.from_lines([(name, "switch", "0x2", "8") for name in ("hca0", "sw0", "sw1", "sw2", "hca1")],
                               [("hca0:1", "sw0:2"), ("sw0:5", "sw1:4"), ("sw1:8", "sw2:3"), ("sw2:6", "hca1:1")])
    writer = Writer()
    writer.all()
    writer.lines = [line for line in writer.lines if " sw1 " not in line]
    assert brief(only(writer, told=fabric)) == ("ok", 4, "hca1")


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


def test_the_first_failure_makes_the_exit_status():
    writer, _ = lost_going_out()
    writer.send(attr=0x20, tid=0x79)
    writer.out(attr=0x20, tid=0x79)
    requests, _ = triage(writer)
    assert [request.finding.exit_status for request in requests] == [0, 11, 17]
    assert report.exit_status(requests) == 11


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


def test_the_ledger_of_more_hops_than_a_path_has():
    writer, expected = hop_count_64()
    line = ("seq=1 device=hca0 port=1 tid=0x1900005eed method=0x01 attr=0x0011 mod=0x0 hops=64 path=0" + ",1" * 63
            + " state=refused")
    assert brief(only(writer, [line])) == expected
    requests, _ = triage(Writer(), [line])
    assert brief(requests[0].finding) == expected and "over 64 hops" in requests[0].title


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


BOOKED = ("seq=7 device=hca0 port=1 tid=0x19 method=0x01 attr={} mod=0x0 hops=4 path=0,1,5,8,6 drdlid=0xffff "
          "timeout_ms=200 retries=0 age_us=9 {}")
LAST = "state=lost last={}@{} in=2 out={} hop={} verdict={} reason={} last_us=3"


@pytest.mark.parametrize("words, attr, expected", [
    ("state=answered rtt_us=9 status=0x0 " + LAST[11:].format("recv", "hca0:1", 0, 0, "local", "-"), 0x11, ("ok", None, None)),
    ("state=answered rtt_us=9 status=0x1c", 0x11, ("error-status", 4, None)),
    ("state=waiting", 0x11, ("waiting", None, None)),
    ("state=late rtt_us=250000 status=0x0", 0x11, ("late", 0, "hca0")),
    ("state=refused " + LAST[11:].format("send", "hca0:1", 0, 0, "discard", "wrong-port"), 0x11, ("never-left", 0, "hca0")),
    ("state=lost", 0x11, ("unknown", 0, "hca0")),
    (LAST.format("recv", "sw1:0", 0, 2, "discard", "no-such-port"), 0x11, ("dropped", 2, "sw1")),
    (LAST.format("reply", "hca1:1", 1, 4, "discard", "post-failed"), 0x11, ("lost-on-return", 4, "hca1")),
    (LAST.format("local", "hca0:1", 0, 1, "discard", "no-listener"), 0x11, ("nobody-listens", 4, "hca0")),
    (LAST.format("recv", "hca1:1", 0, 5, "local", "-"), 0x11, ("silent", 4, "hca1")),
    (LAST.format("recv", "hca1:1", 0, 5, "local", "-"), 0x20, ("nobody-listens", 4, "hca1")),
    # Element 3 of the path is 8: the request. The answer leaves sw1 by 4.
    (LAST.format("forward", "sw1:0", 8, 3, "forward", "-"), 0x11, ("never-arrived", 3, "sw1")),
    (LAST.format("forward", "sw1:0", 4, 2, "forward", "-"), 0x11, ("lost-on-return", 2, "sw1")),
    (LAST.format("reply", "hca1:1", 1, 4, "forward", "-"), 0x11, ("lost-on-return", 4, "hca1")),
    (LAST.format("send", "hca0:1", 1, 1, "forward", "-"), 0x11, ("never-arrived", 1, "hca0")),
    (LAST.format("forward", "sw2:0", 0, 5, "route", "-"), 0x11, ("unknown", 5, "sw2")),
])
def test_what_the_ledger_alone_tells(words, attr, expected):
    fabric = wiring.from_lines([("hca0", "ca", "0x1", "1"), *((f"sw{n}", "switch", "0x2", "8") for n in range(3)),
                                ("hca1", "ca", "0x3", "1")],
                               [("hca0:1", "sw0:2"), ("sw0:5", "sw1:4"), ("sw1:8", "sw2:3", "down"), ("sw2:6", "hca1:1")])
    requests, scene = triage(Writer(), [BOOKED.format(hex(attr), words)], told=fabric)
    assert brief(requests[0].finding) == expected
    assert "ledger: seq=7" in requests[0].finding.evidence[-1]
    assert requests[0].title in "\n".join(report.as_text(scene, requests, everything=True))
    if requests[0].finding.hop == 3:
        assert (requests[0].finding.cause, requests[0].finding.next) == ("link-down", "sw2:3")
    # Where nothing is known of the links, the far end may be anywhere.
    requests, _ = triage(Writer(), [BOOKED.format(hex(attr), words)])
    assert requests[0].finding.verdict == {"never-arrived": "unknown"}.get(expected[0], expected[0])


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
    # A command that has ended waits no more, as others do: who is whose the high half of the TID says.
    assert brief(only(writer, cut=100.1, own={0x19})) == expected
    assert only(writer, cut=100.1, own={0x1A}).verdict == "waiting"


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
