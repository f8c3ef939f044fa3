# SPDX-License-Identifier: GPL-2.0
"""smi-triage on traces written by hand: what happened, at which hop, and by which node. No guest is needed."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

# pylint: disable=wrong-import-position
from judged import brief, only, triage  # noqa: E402
from test_docs import literal, rows, symbols  # noqa: E402
from trace_cases import (CASES, an_answer_by_lid, another_port_by_its_own_word,  # noqa: E402
                         another_port_by_where_it_came, answer_dropped, dropped_by_a_switch, hop_count_64,
                         lost_coming_back, lost_going_out, no_way_by_lid, not_posted_in_transit, only_the_own_end,
                         silence, through_a_ca, with_traffic)
from traces import PATH, RETURN, Writer  # noqa: E402
from triage import advice, event, names, report, sysfs, verdict, wiring  # noqa: E402
from triage.ledger import entry  # noqa: E402
from triage.scene import Scene  # noqa: E402

CABLES = wiring.from_lines([(name, "switch", "0x2", "8") for name in ("hca0", "sw0", "sw1", "sw2", "hca1")],
                           [("hca0:1", "sw0:2"), ("sw0:5", "sw1:4"), ("sw1:8", "sw2:3"), ("sw2:6", "hca1:1")])


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
    assert brief(requests[0].finding) == ("unknown", 3, "sw1")
    assert requests[0].title == "Get NodeInfo along 0,1,5,8,6 (TID 0x1900005eed)"


def test_what_is_said_of_discards():
    assert "by rule C14-9:2: no-such-port" in only(dropped_by_a_switch()[0]).what
    # The rules would have let these pass.
    assert "sw0 could not pass it on: post-failed" in only(not_posted_in_transit()[0]).what
    requests, _ = triage(hop_count_64()[0])
    assert "over 64 hops" in requests[0].title


def test_a_switch_that_is_known_and_has_no_events():
    writer = Writer()
    writer.all()
    writer.lines = [line for line in writer.lines if " sw1 " not in line]
    assert brief(only(writer, told=CABLES)) == ("ok", 4, "hca1")


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
    finding = only(writer, [ANSWERED])
    assert brief(finding) == ("lost-on-return", 0, "hca0") and "all the same" in finding.what


ANSWERED = "seq=1 device=hca0 port=1 tid=0x1900005eed method=0x01 attr=0x0011 mod=0x0 hops=4 path=0,1,5,8,6 state=answered"


@pytest.mark.parametrize("ingress, path, tid, is_it", [
    (3, PATH, 0x999, True), (3, (1, 2, 3, 6), 0x1900005EED, True), (5, PATH, 0x999, False), (3, (1, 2, 3, 6), 0x999, False)])
def test_what_passes_by_is_not_what_was_lost(ingress, path, tid, is_it):
    """It may be if it came from there, by port 3 of sw2, and its path or its TID is the same."""
    writer, expected = lost_going_out()
    for kind in ("recv", "forward"):
        writer.event(kind, "sw2", "request", ingress, 6, "3,4/4", "forward", "C14-9:2", tid=tid, path=path, attr=0x15)
    finding = judged_first(writer)
    assert brief(finding) == expected and finding.cause == ("damaged" if is_it else None)
    assert "may have been damaged" in finding.what or not is_it
    # What the ledger has as answered is well, whatever came by, and though events were lost.
    writer.lines.append("CPU:1 [LOST 12 EVENTS]")
    assert judged_first(writer, [ANSWERED]).verdict == "ok"


def judged_first(writer, *args):
    """The finding of what hca0 has sent beside the traffic."""
    requests, _ = triage(writer, *args)
    return next(request for request in requests if request.tid == 0x1900005EED and request.origin).finding


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


def commands(writer, **more):
    """The commands that are proposed for the only request beside traffic, and the finding."""
    requests, scene = triage(writer, **more)
    (request,) = [request for request in requests if request.tid not in (0x77, 0x78)]
    found = advice.checks(request, request.finding, scene)
    return [command for command, _ in found if command], " ".join(shows for _, shows in found), request.finding


def test_who_misrouted_an_answer_is_asked():
    """sw2 is at the end of the first three hops; of a request that sw1 sends elsewhere, sw1 at the end of two."""
    writer = with_traffic(Writer())
    writer.send()
    writer.out()
    writer.reply()
    for kind, egress in (("recv", 3), ("forward", 4)):
        writer.event(kind, "sw2", "response", 6, egress, "4,3/4", "forward", "C14-13:2", path=RETURN)
    asks, _, finding = commands(writer)
    assert brief(finding) == ("misrouted", 3, "sw2")
    assert asks[0] == "smpquery -C hca0 -P 1 -D nodeinfo 0,1,5,8"
    asks, _, finding = commands(another_port_by_where_it_came()[0])
    assert brief(finding) == ("misrouted", 3, "sw1") and asks[0] == "smpquery -C hca0 -P 1 -D nodeinfo 0,1,5"


def test_no_query_by_a_path_that_does_not_start_at_the_sender():
    """Before the path, this request went by LID."""
    writer = Writer()
    for kind in ("recv", "forward"):
        writer.event(kind, "sw0", "request", 2, 5, "0,1/1", "forward", "C14-9:1", path=(5,), slid=1)
    writer.event("recv", "sw1", "request", 4, 0, "1,2/1", "local", "C14-9:3", path=(5,), slid=1)
    asks, _, finding = commands(writer)
    assert finding.verdict == "silent" and asks == []
    writer.event("reply", "sw1", "response", 4, 4, "2,1/1", "forward", "C14-13:1", path=(4,), slid=1)
    writer.event("discard", "sw0", "response", 5, 0, "1,1/1", "discard", "C14-13:3", path=(4,), slid=1, reason="port-zero")
    asks, _, finding = commands(writer)
    assert finding.verdict == "lost-on-return" and not any("-D" in ask for ask in asks)


def test_a_ca_at_the_end_that_is_to_send_on_by_lid():
    """The path 0,1 ends at hca1, and DrDLID is 7: it is not the path that is wrong."""
    writer = Writer()
    writer.send((("hca0", 0, 1),), (1,), dlid=7)
    writer.discard("hca1", "request", 1, "1,1/1", "C14-9:3", "ca-in-transit", path=(1,), dlid=7)
    asks, shows, finding = commands(writer)
    assert brief(finding) == ("dropped", 1, "hca1")
    assert asks == [] and "DrDLID has to be permissive" in shows
    asks, shows, _ = commands(through_a_ca()[0])
    assert asks == ["smpquery -C hca0 -P 1 -D nodeinfo 0,1,5,8,6"] and "has to end at hca1" in shows


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_omni_path_is_asked_by_its_own_smps(case):
    """smpquery and the tools beside it send those of InfiniBand."""
    writer, _ = case()
    writer.lines = [f"{line} class=0x81 point={line.split('ib_smi_')[1].split(':')[0]} format=opa" for line in writer.lines]
    asks, *_ = commands(writer)
    ours = ("dr-smp --opa ", "ib-smi status", "smi-triage", "for p in ")
    assert all(ask.startswith(ours) and "smpquery" not in ask for ask in asks), asks


def test_what_is_asked_on_omni_path():
    line = ("seq=1 device=hca0 port=1 tid=0x19 method=0x01 attr=0x11 mod=0x0 hops=2 path=0,1,5 drdlid=0xffffffff "
            "timeout_ms=200 retries=0 age_us=9 state=lost last=forward@sw0:0 in=2 out=5 hop=2 verdict=forward reason=-")
    requests, scene = triage(Writer(), [line], told=STRAIGHT)
    asks = [ask for ask, _ in advice.checks(requests[0], requests[0].finding, scene)]
    # The number of ports, 1, is in the modifier too.
    assert asks[:2] == ["dr-smp --opa -C hca0 -P 1 --attribute portinfo --modifier 0x1000005 0,1",
                        "dr-smp --opa -C hca0 -P 1 --attribute nodeinfo 0,1,5"]
    writer, _ = only_the_own_end()
    writer.lines = [f"{line} format=opa" for line in writer.lines]
    assert commands(writer)[0][0].startswith(
        "for p in 0,1 0,1,5 0,1,5,8 0,1,5,8,6; do dr-smp --opa --timeout 200 -C hca0 -P 1 --attribute nodeinfo $p >")


def test_what_can_be_known_from_the_own_end_alone():
    """It is said where the request left for somewhere else; not where events are missing, or where it did not leave."""
    def told(writer, entries=None):
        requests, scene = triage(writer, entries)
        return "\n".join(report.as_text(scene, requests))

    text = told(only_the_own_end()[0])
    assert "let it go by hca0:1, and that no answer came back" in text and "whether the device has sent it" in text
    for case in (silence, lost_coming_back, lost_going_out):
        writer, _ = case()
        writer.lines.append("CPU:1 [LOST 12 EVENTS]")
        text = told(writer)
        assert "NO ANSWER" in text and "events were lost" in text and "From here it can be known" not in text
    # It was answered, and the answer left.
    assert "From here it can be known" not in told(an_answer_by_lid()[0])


@pytest.mark.parametrize("other", [{"attr": 0x15}, {"method": 0x02}, {"mod": 1}, {"dlid": 7}])
def test_failures_that_are_not_the_same(other):
    """But for the TID they have to be."""
    writer, _ = lost_going_out()
    writer.send(tid=0x1900005EEE)
    writer.out(1, 2, tid=0x1900005EEE)
    writer.send(tid=0x99, **other)
    writer.out(1, 2, tid=0x99, **other)
    requests, scene = triage(writer)
    text = "\n".join(report.as_text(scene, requests))
    assert text.count("NEVER ARRIVED at hop 3, sw1") == 2
    assert "And 1 more like it: TID 0x1900005eee" in text and "(TID 0x99)" in text


PAIR = wiring.from_lines([("hca0", "ca", "0x1", "1"), ("sw0", "switch", "0x2", "4"), ("hca1", "ca", "0x3", "1")],
                         [("hca0:1", "sw0:1"), ("sw0:2", "hca1:1")])
STRAIGHT = wiring.from_lines([("hca0", "ca", "0x1", "1"), *((f"sw{n}", "switch", "0x2", "8") for n in range(3)),
                              ("hca1", "ca", "0x3", "1")],
                             [("hca0:1", "sw0:2"), ("sw0:5", "sw1:4"), ("sw1:8", "sw2:3"), ("sw2:6", "hca1:1")])
# Here the answer leaves sw1 by the port that the path names for the same hop.
EVEN = wiring.from_lines([("hca0", "ca", "0x1", "1"), *((f"sw{n}", "switch", "0x2", "4") for n in range(2)),
                          ("hca1", "ca", "0x3", "1")],
                         [("hca0:1", "sw0:1"), ("sw0:2", "sw1:2"), ("sw1:1", "hca1:1")])


@pytest.mark.parametrize("path, last, fabric, expected", [
    # On the pair, the answer leaves sw0 by port 1, which the path names for the first hop; the request comes by it.
    ("0,1,2", ("forward@sw0:0", 2, 1, 1, "forward"), PAIR, ("lost-on-return", 1, "sw0")),
    ("0,1,2", ("forward@sw0:0", 2, 1, 1, "forward"), None, ("lost-on-return", 1, "sw0")),
    ("0,1,2", ("recv@sw0:0", 2, 1, 1, "forward"), None, ("lost-on-return", 1, "sw0")),
    ("0,1,2", ("forward@sw0:0", 1, 2, 2, "forward"), PAIR, ("never-arrived", 2, "sw0")),
    # The answer from hca1 leaves sw1 by port 2, which the path names for the second hop, to sw0.
    ("0,1,2,1", ("forward@sw1:0", 1, 2, 2, "forward"), EVEN, ("lost-on-return", 2, "sw1")),
    ("0,1,2,1", ("forward@sw0:0", 1, 2, 2, "forward"), EVEN, ("never-arrived", 2, "sw0")),
    # The answer came to sw1 from sw2, with Hop Pointer 3; sw1 is the node at hop 2. The request came by port 4.
    ("0,1,5,8,6", ("recv@sw1:0", 8, 0, 3, "discard no-such-port"), STRAIGHT, ("lost-on-return", 2, "sw1")),
    ("0,1,5,8,6", ("recv@sw1:0", 4, 0, 2, "discard no-such-port"), STRAIGHT, ("dropped", 2, "sw1")),
    # What is discarded after its Hop Pointer has moved: as a trace has it, at the node that could not post it.
    ("0,1,5,8,6", ("forward@sw1:0", 8, 0, 2, "discard post-failed"), STRAIGHT, ("lost-on-return", 2, "sw1")),
    ("0,1,5,8,6", ("forward@sw1:0", 4, 0, 3, "discard post-failed"), STRAIGHT, ("dropped", 2, "sw1")),
    # The answer came back, and was not taken for one.
    ("0,1,5,8,6", ("recv@hca0:1", 1, 0, 0, "local"), STRAIGHT, ("lost-on-return", 0, "hca0")),
    # By LID the request goes on to hca1, and the answer comes back.
    ("0,1,5,8", ("reply@hca1:1", 1, 0, 4, "route"), STRAIGHT, ("lost-on-return", 4, "hca1")),
])
def test_the_ledger_has_seen_the_request_or_its_answer(path, last, fabric, expected):
    place, ingress, egress, hop, outcome = last
    verdict_name, _, reason = outcome.partition(" ")
    count = path.count(",")
    line = (f"seq=7 device=hca0 port=1 tid=0x19 method=0x01 attr=0x11 mod=0x0 hops={count} path={path} drdlid=0xffff "
            f"timeout_ms=200 retries=0 age_us=9 state=lost last={place} in={ingress} out={egress} hop={hop} "
            f"verdict={verdict_name} reason={reason or '-'} last_us=3")
    requests, _ = triage(Writer(), [line], told=fabric)
    finding = requests[0].finding
    assert brief(finding) == expected
    assert finding.way == ("response" if expected[0] == "lost-on-return" else "request")


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
    writer, _ = no_way_by_lid()
    finding = only(writer, counters={("sw2", 0): {"relay_errors": 1}})
    assert brief(finding) == ("never-arrived", 4, "sw2") and finding.cause == "no-route" and finding.certain


def counted(writer, counters):
    """The finding where the virtual fabric has counted these packets, and no others."""
    return only(writer, told=CABLES, reporting=set(CABLES.nodes), counted=True, counters=counters)


def test_packets_that_are_counted():
    """By them is told who lost what no event tells of."""
    writer = Writer()
    writer.send()
    assert brief(counted(writer, {})) == ("never-left", 0, "hca0")
    # Without counters, nobody knows whether the device has sent it.
    finding = only(writer, told=CABLES, reporting=set(CABLES.nodes))
    assert brief(finding) == ("never-arrived", 1, "hca0") and not finding.certain
    # It was sent, and the link lost it, or the node at its end did.
    sent = {("hca0", 1): {"xmit": 1}}
    finding = counted(writer, sent)
    assert brief(finding) == ("never-arrived", 1, "hca0") and finding.cause is None
    finding = counted(writer, {**sent, ("sw0", 2): {"rcv": 1}})
    assert brief(finding) == ("never-arrived", 1, "hca0") and finding.cause == "swallowed"
    assert any("hca0:1 sent 1 packets, and sw0:2 received 1" in text for text in finding.evidence)
    # One of two was lost by the link.
    assert counted(writer, {("hca0", 1): {"xmit": 2}, ("sw0", 2): {"rcv": 1}}).cause is None
    # The port has discarded it.
    finding = counted(writer, {("hca0", 1): {"xmit_discards": 1}})
    assert brief(finding) == ("never-arrived", 1, "hca0") and finding.cause == "not-sent"


@pytest.mark.parametrize("rose", [{"xmit": 1}, {"xmit_discards": 1}])
def test_packets_that_left_by_another_port(rose):
    writer = Writer()
    writer.send()
    writer.out(1, 2)
    came = {("hca0", 1): {"xmit": 1}, ("sw0", 5): {"xmit": 1}, ("sw1", 4): {"rcv": 1}}
    finding = counted(writer, {**came, ("sw1", 7): rose})
    assert brief(finding) == ("misrouted", 3, "sw1") and not finding.certain
    assert (finding.left_by, finding.path_says) == (7, 8)
    # Of two others it is not known which.
    finding = counted(writer, {**came, ("sw1", 7): rose, ("sw1", 1): {"xmit": 1}})
    assert brief(finding) == ("misrouted", 3, "sw1") and finding.left_by is None
    # It did leave by the port of the path.
    assert counted(writer, {**came, ("sw1", 8): {"xmit": 1}, ("sw1", 7): rose}).verdict == "never-arrived"
    # Nothing left at all.
    assert counted(writer, came).verdict == "never-arrived"


def test_an_answer_that_goes_back_by_lid():
    """Where it was lost the sender is not seen, for it sends by LID: its LID tells whether it is on this host."""
    writer, _ = an_answer_by_lid()
    finding = only(writer, counters={("sw0", 0): {"relay_errors": 1}})
    assert brief(finding) == ("lost-on-return", 0, "sw0") and finding.cause == "no-route" and finding.certain
    finding = only(writer, lids={1, 7})
    assert brief(finding) == ("lost-on-return", 0, "sw0") and finding.cause is None
    # The sender is on another host.
    assert only(writer, lids={7}).verdict == "ok"
    # Its own node has got it.
    writer.event("recv", "hca0", "response", 1, 0, "0,0/1", "local", "C14-13:4", path=(4,), slid=1)
    assert only(writer, lids={1}).verdict == "ok"


def test_a_request_that_goes_on_by_lid():
    """To a node of this host, which has not seen it; or to one that may be anywhere."""
    writer, expected = no_way_by_lid()
    assert brief(only(writer, lids={7})) == ("never-arrived", 4, "sw2")
    assert brief(only(writer, lids={8})) == expected


def test_the_next_node_is_not_in_the_trace():
    """It is on another host, or its SMI is in its firmware, whatever went over the links of this host meanwhile."""
    for traffic in (True, False):
        writer = with_traffic(Writer()) if traffic else Writer()
        writer.send()
        writer.out(1, 1)
        writer.lines = [line for line in writer.lines if " hca0 " in line or " sw0 " in line]
        finding = only(writer)
        assert brief(finding) == ("unknown", 2, "sw0") and not finding.certain


def test_the_node_that_is_expected():
    writer = Writer()
    writer.all()
    assert only(writer, expect="hca1").verdict == "ok"
    finding = only(writer, expect="sw2")
    assert brief(finding) == ("wrong-node", 4, "hca1") and finding.next == "sw2" and finding.certain
    assert only(writer, guids={0x1234: "hca1"}, expect="0x1234").verdict == "ok"
    assert only(writer, guids={0x1234: "hca1"}, expect="0x1235").verdict == "wrong-node"
    # One that answers with an error is not excused.
    writer = Writer()
    writer.all(attr=0x15, mod=5, status=0x1C)
    writer.lines = [line.replace("status=0x1c", "status=0x0") if " request " in line else line for line in writer.lines]
    assert only(writer, expect="sw2").verdict == "wrong-node"
    assert only(writer, expect="hca1").verdict == only(writer, expect="who").verdict == "error-status"


def test_the_description_that_is_expected():
    writer = Writer()
    writer.all()
    known = {"hca1": "ibfabric hca1", "sw2": "leaf17"}
    finding = only(writer, descriptions=known, expect="ibfabric hca1")
    assert brief(finding) == ("ok", 4, "hca1") and finding.certain
    assert only(writer, descriptions=known, expect="leaf17").verdict == "wrong-node"
    assert only(writer, descriptions=known, expect="leaf18").verdict == "wrong-node"


@pytest.mark.parametrize("seen, expect", [("all", "ibfabric hca1"), ("all", "leaf17"), ("all", "0x1234"), ("own end", "hca7"),
                                          ("own end", "hca1"), ("transit", "hca1")])
def test_who_answered_is_not_known(seen, expect):
    """Neither who it was nor, of a trace from elsewhere, what it is called besides: it cannot be said that all is well."""
    writer = Writer()
    writer.all()
    keep = {"all": "", "own end": " hca0 ", "transit": " sw1 "}[seen]
    writer.lines = [line for line in writer.lines if keep in line]
    requests, scene = triage(writer, expect=expect)
    finding = requests[0].finding
    assert finding.verdict == "ok" and not finding.certain and f"whether by {expect} cannot be told" in finding.what
    assert report.exit_status(requests) == verdict.TROUBLE
    text = "\n".join(report.as_text(scene, requests))
    assert "who answered 1 of them cannot be told from here" in text and "all is well" not in text
    # Nobody wants to know.
    requests, scene = triage(writer)
    assert report.exit_status(requests) == 0


def test_a_device_that_may_be_a_node_of_the_file():
    """The file has a node "two" with GUID 0x20, which may be hca1; hca0 is its node "one"."""
    fabric = wiring.Wiring("the file", exact=True)
    fabric.guids, fabric.descriptions = {0x20: '"two"', 0x10: "hca0"}, {'"two"': "two", "hca0": "one"}
    writer = Writer()
    writer.all()
    for expect in ("two", "0x20", "hca7"):
        finding = only(writer, told=fabric, expect=expect)
        assert finding.verdict == "ok" and not finding.certain, expect
    for expect in ("one", "0x10", "hca0", "sw1"):
        assert only(writer, told=fabric, expect=expect).verdict == "wrong-node", expect
    # What its host calls the node "two" is not in the file.
    scene = Scene(told=fabric)
    assert [scene.is_node('"two"', name) for name in ("two", "0x20", "one", "0x10", "hca7")] == [True, True, False, False, None]


def test_who_answered_a_sender_elsewhere():
    writer = Writer()
    writer.all()
    writer.lines = [line for line in writer.lines if " hca0 " not in line]
    assert only(writer, expect="hca1").certain
    assert only(writer, expect="sw2").verdict == "wrong-node"


def test_the_ledger_does_not_say_who_answered():
    """Where the links are known, the path does."""
    requests, _ = triage(Writer(), [ANSWERED], expect="hca1")
    assert report.exit_status(requests) == verdict.TROUBLE
    for expect, status in (("hca1", 0), ("sw2", 14)):
        requests, _ = triage(Writer(), [ANSWERED], expect=expect, told=STRAIGHT, reporting=set(STRAIGHT.nodes))
        assert report.exit_status(requests) == status


def test_the_devices_of_a_host(tmp_path):
    port = tmp_path / "mlx5_0/ports/1"
    port.mkdir(parents=True)
    for file, text in (("node_guid", "0002:c903:0000:1000"), ("node_desc", "node17 HCA-1"), ("ports/1/lid", "0x8"),
                       ("ports/1/lid_mask_count", "1")):
        (tmp_path / "mlx5_0" / file).write_text(f"{text}\n")
    assert sysfs.guids(tmp_path) == {0x0002C90300001000: "mlx5_0"}
    assert sysfs.descriptions(tmp_path) == {"mlx5_0": "node17 HCA-1"}
    # With an LMC of 1, two LIDs are its own; without a subnet manager, none is.
    assert sysfs.lids(tmp_path) == {8, 9}
    (port / "lid").write_text("0x0\n")
    (port / "lid_mask_count").write_text("0\n")
    assert sysfs.lids(tmp_path) == set()


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
    # It may have been sent again, and then the answer is in time.
    assert not finding.certain and "unless the request was sent again" in finding.what
    # The ledger knows for how long it was waited.
    line = f"{ANSWERED} rtt_us=301400 timeout_ms={{}} retries={{}}"
    assert only(writer, [line.format(1000, 0)], timeout_ms=200).verdict == "ok"
    assert only(writer, [line.format(200, 1)], timeout_ms=200).verdict == "ok"


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
