# SPDX-License-Identifier: GPL-2.0
"""smi-triage in a guest: faults are staged in the virtual fabric, and it has to say what happened, at which
hop and by which node.

The fabric has two leaf switches, sw0 and sw1, and two spines, sw2 and sw3; port numbers are at the lines:

    hca0 1---5 sw0 3---1 sw2 2---3 sw1 5---1 hca2
    hca1 1---6 sw0 4---1 sw3 2---4 sw1 6---1 hca3
    hca4 1---7 sw0                 sw1 7---2 hca4
"""

import json
import struct

import pytest

import sma
from smp import make

# From hca0 to hca2, over sw0, sw2 and sw1.
FAR = "0,1,3,2,5"
BACK = (5, 1, 3, 1)
CONFIG = "/sys/kernel/config/ibfabric"
DEBUG = "/sys/kernel/debug"


@pytest.fixture(name="tree", scope="module")
def tree_fixture(guest_stock):
    """The fat tree, with the module loaded."""
    guest_stock.check(
        "modprobe ib_umad && insmod $MODULES/ibfabric.ko topology=fattree leaves=2 spines=2 hosts=2 && /src/scripts/load")
    links = guest_stock.check(f"cat {DEBUG}/ibfabric/links").splitlines()
    # What the cases rely on.
    assert {"sw0:3 sw2:1", "sw2:2 sw1:3", "sw0:4 sw3:1", "sw1:5 hca2:1"} <= both_ways(links)
    return guest_stock


def both_ways(links):
    """Links, told from either end."""
    return {" ".join(ends) for line in links for ends in (line.split()[:2], line.split()[1::-1])}


def triage(guest, *words, setup="", undo=""):
    """Runs smi-triage on words, with something done before and after. Returns its status and what it found."""
    _, out, err = guest.run(
        f"{setup}\n/src/scripts/smi-triage --json {' '.join(words)} 2>/tmp/said; echo $?; {undo}\n"
        f"[ -z \"$(ls /sys/kernel/tracing/instances)\" ] || echo 'an instance is left'")
    text, _, status = out.rstrip().rpartition("\n")
    assert status.isdigit(), out + err
    return int(status), json.loads(text)


def ask(path=FAR, options=""):
    """The command line that sends a request and has it judged."""
    if not options:
        return f"-- smpquery -C hca0 -t 200 -D nodeinfo {path}"
    return f"-- /src/scripts/dr-smp -C hca0 --timeout 200 {options} {path}"


def faults(place, **knobs):
    """The shell commands that stage faults at a node or a port, and those that end them."""
    folder = f"{CONFIG}/faults/{place}"
    writes = " && ".join(f"echo '{value}' >{folder}/{knob}" for knob, value in knobs.items())
    node = folder if "/" not in place else folder.rpartition("/")[0]
    return {"setup": f"mkdir -p {folder} && {writes} || echo 'no fault staged' >&2",
            "undo": f"rmdir {folder}" + (f" {node}" if node != folder else "")}


def verdict(found):
    """What the cases compare: verdict, hop and device of the only request that failed."""
    failed = [request for request in found["requests"] if request["exit_status"]]
    assert len(failed) == 1, [(request["verdict"], request["what"]) for request in found["requests"]]
    return failed[0]["verdict"], failed[0]["hop"], failed[0]["device"]


def judged(guest, command, expected, **more):
    """Runs a command, and checks verdict, hop, device and exit status. Returns the request."""
    status, found = triage(guest, command, **more)
    assert verdict(found) == expected
    (request,) = [request for request in found["requests"] if request["exit_status"]]
    assert status == request["exit_status"] > 9
    assert request["evidence"]
    return request


def test_all_is_well(tree):
    status, found = triage(tree, "-- smpquery -C hca0 -D nodedesc", FAR)
    assert status == 0
    assert [(r["verdict"], r["hop"], r["device"]) for r in found["requests"]] == [("ok", 4, "hca2")] * 2


def test_a_link_is_down(tree):
    request = judged(tree, ask(), ("never-arrived", 3, "sw2"), setup="/src/scripts/ibfabric down sw2:2",
                     undo="/src/scripts/ibfabric up sw2:2 >&2")
    assert (request["port"], request["next"], request["cause"]) == (2, "sw1:3", "link-down")


def test_a_port_without_a_link(tree):
    link = f"{CONFIG}/links/sw1:6-hca3:1"
    request = judged(tree, ask("0,1,3,2,6"), ("never-arrived", 4, "sw1"), setup=f"mkdir {link} && rmdir {link}",
                     undo=f"mkdir {link}")
    assert request["cause"] == "no-link" and request["next"] is None


def test_a_link_that_drops(tree):
    request = judged(tree, ask(), ("never-arrived", 3, "sw2"), **faults("sw2/2", drop="all"))
    assert request["next"] == "sw1:3" and request["cause"] is None


def test_a_link_that_drops_one_of_several(tree):
    command = f"-- sh -c 'for a in nodeinfo nodedesc; do smpquery -t 200 -C hca0 -D $a {FAR}; done'"
    request = judged(tree, command, ("never-arrived", 3, "sw2"), **faults("sw2/2", match="attr=0x10", drop="all"))
    assert request["attribute"] == "NodeDescription"
    assert any("2 other SMPs went over sw2:2 → sw1:3" in text for text in request["evidence"])


def test_no_agent(tree):
    judged(tree, ask(options="--attribute sminfo"), ("nobody-listens", 4, "hca2"))


def test_a_path_port_beyond_those_of_the_switch(tree):
    request = judged(tree, ask("0,1,99"), ("dropped", 1, "sw0"))
    assert (request["rule"], request["reason"]) == ("C14-9:2", "no-such-port")


def test_a_path_port_that_is_off_by_one(tree):
    # It is answered, by the neighbour of the one that was meant.
    judged(tree, "--expect hca2 " + ask("0,1,3,2,6"), ("wrong-node", 4, "hca3"))
    status, found = triage(tree, "--expect hca3 " + ask("0,1,3,2,6"))
    assert status == 0 and found["requests"][0]["device"] == "hca3"
    # By its description, which has a blank.
    for description, expected in (("ibfabric hca3", 0), ("ibfabric hca2", 14)):
        assert triage(tree, f"--expect '{description}' " + ask("0,1,3,2,6"))[0] == expected
    guid = f"{sma.guid(tree, 'hca3'):#x}"
    assert triage(tree, f"--expect {guid} " + ask("0,1,3,2,6"))[0] == 0


def test_a_switch_that_sends_out_of_a_wrong_port(tree):
    # Over the other spine it is answered all the same.
    request = judged(tree, ask(), ("misrouted", 2, "sw0"), **faults("sw0", wrong_port="3:4 all"))
    assert (request["left_by"], request["path_says"], request["next"]) == (4, 3, "sw3:1")


def test_a_switch_that_sends_an_answer_out_of_a_wrong_port(tree):
    # Return Path element 3 is 3; by port 4 it goes over sw3, whose port 1 leads to sw0 as well.
    request = judged(tree, ask(), ("misrouted", 3, "sw1"), **faults("sw1", match="way=response", wrong_port="3:4 all"))
    assert (request["left_by"], request["path_says"], request["way"]) == (4, 3, "response")


@pytest.mark.parametrize("node, far, way, hop", [("sw0", "hca1", "request", 2), ("sw1", "hca3", "response", 3)])
def test_a_wrong_port_without_a_link(tree, node, far, way, hop):
    """What leaves there nobody sees: by the counters alone it did not leave by port 3."""
    link, fault = f"{CONFIG}/links/{node}:6-{far}:1", faults(node, match=f"way={way}", wrong_port="3:6 all")
    request = judged(tree, ask(), ("misrouted", hop, node), setup=f"mkdir -p {link} && rmdir {link}\n{fault['setup']}",
                     undo=f"mkdir {link}\n{fault['undo']}")
    assert (request["left_by"], request["path_says"], request["way"], request["certain"]) == (6, 3, way, False)


def test_a_ca_in_transit(tree):
    request = judged(tree, ask(FAR + ",1"), ("dropped", 4, "hca2"))
    assert (request["rule"], request["reason"]) == ("C14-9:2", "ca-in-transit")


def test_hop_count_64(tree):
    # smpquery would refuse this path by itself.
    request = judged(tree, ask(",".join(["0"] + ["1"] * 64), "--retries 0"), ("never-left", 0, "hca0"))
    assert (request["rule"], request["reason"]) == ("C14-6", "hop-count")


MKEY, WRONG = 0x1122334455667788, 0x0022334455667788


def set_m_key(guest, path, key, level, old=0):
    """Sets the M_Key and its protect level at the end of a path. Returns the PortInfo that was set."""
    path = tuple(map(int, path.split(",")[1:]))
    now = sma.one(guest, sma.PORT_INFO, 0, path=path, mkey=old)
    data = sma.pack(sma.PORT_INFO, now.data, mkey=key, protect=level, state=0, phys_state=0)
    assert sma.one(guest, sma.PORT_INFO, 0, data, method=sma.SET, path=path, mkey=old).status == 0
    return data


def test_a_transit_switch_that_checks_the_m_key(tree):
    set_m_key(tree, "0,1,3", MKEY, 0)
    try:
        # As it should be, it does not look at the M_Key of what it passes on.
        assert triage(tree, ask())[0] == 0
        request = judged(tree, ask(), ("never-arrived", 2, "sw0"), **faults("sw2", check_mkey="all"))
        assert (request["next"], request["cause"]) == ("sw2:1", "swallowed")
        smpquery = f"-- smpquery -C hca0 -t 200 -y {MKEY:#x} -D nodeinfo {FAR}"
        assert triage(tree, smpquery, **faults("sw2", check_mkey="all"))[0] == 0
    finally:
        set_m_key(tree, "0,1,3", 0, 0, MKEY)


@pytest.mark.parametrize("level", range(4))
def test_a_wrong_m_key(tree, level):
    data = set_m_key(tree, FAR, MKEY, level)
    try:
        for method, served in ((sma.GET, level < 2), (sma.SET, False)):
            smp = sma.make(sma.PORT_INFO, 0, data, method=method, path=tuple(map(int, FAR.split(",")[1:])), mkey=WRONG)
            command = f"-- /src/scripts/dr-smp -C hca0 --timeout 200 --raw {smp.hex()}"
            if served:
                assert triage(tree, command)[0] == 0
            else:
                judged(tree, command, ("silent", 4, "hca2"))
        # The right one is served at every level.
        assert triage(tree, f"-- smpquery -C hca0 -t 200 -y {MKEY:#x} -D portinfo {FAR}")[0] == 0
    finally:
        set_m_key(tree, FAR, 0, 0, MKEY)


def test_an_endpoint_that_counts_ports_from_zero(tree):
    request = judged(tree, ask(options="--attribute portinfo --modifier 1"), ("error-status", 4, "hca2"),
                     **faults("hca2", ports_from_zero="all"))
    assert request["status"] == 0x1C and "valid" in request["what"]
    assert any("ports count from 1" in check["shows"] for check in request["checks"])


def test_an_endpoint_that_answers_with_an_error(tree):
    request = judged(tree, ask(), ("error-status", 4, "hca2"), **faults("hca2", answer_status="0x11=0x000c all"))
    assert request["status"] == 0x0C


def test_an_endpoint_that_does_not_answer(tree):
    judged(tree, ask(), ("silent", 4, "hca2"), **faults("hca2", swallow_answers="all"))


@pytest.mark.parametrize("hop, device, port", [(4, "hca2", 1), (3, "sw1", 3), (2, "sw2", 1), (1, "sw0", 5)])
def test_an_answer_lost_at_each_hop(tree, hop, device, port):
    request = judged(tree, ask(), ("lost-on-return", hop, device),
                     **faults(f"{device}/{port}", match="way=response", drop="all"))
    assert (request["way"], request["port"], request["reason"]) == ("response", port, None)


def test_a_switch_that_passes_no_answers_on(tree):
    request = judged(tree, ask(), ("lost-on-return", 3, "sw1"), **faults("sw2", swallow_transit="all"))
    assert (request["next"], request["cause"]) == ("sw2:2", "swallowed")


def behind(tree, node):
    """The options that send on from sw0 to a node by LID."""
    return f"--retries 0 --dr-dlid {sma.lid(tree, node)}"


def test_an_error_from_behind_a_part_by_lid(tree):
    """It is of the node behind the last hop of the directed part."""
    request = judged(tree, ask("0,1", f"{behind(tree, 'hca1')} --attribute switchinfo"), ("error-status", 2, "hca1"))
    assert request["status"] == 0x0C


def test_an_answer_lost_where_it_goes_by_lid(tree):
    request = judged(tree, ask("0,1", behind(tree, "hca1")), ("lost-on-return", 2, "hca1"),
                     **faults("hca1/1", match="way=response", drop="all"))
    # There is nothing wrong with any link that is known of.
    assert request["cause"] is None and "by LID" in request["what"]


def test_no_lid_to_go_on_to(tree):
    status, found = triage(tree, ask("0,1", "--retries 0 --dr-dlid 0"))
    (request,) = found["requests"]
    assert status > 9 and "to LID 0x0, and no node saw it" in request["what"]
    assert not any("None" in (check["command"] or "") for check in request["checks"])


@pytest.mark.parametrize("knob", ["smi_posts", "smi_sends"])
def test_a_sender_whose_device_does_not_send(tree, knob):
    request = judged(tree, ask(), ("never-left", 0, "hca0"), **faults("hca0/1", **{knob: "99"}))
    assert (request["port"], request["reason"]) == (1, None)


@pytest.mark.parametrize("knob", ["smi_posts", "smi_sends"])
def test_an_answer_that_the_device_does_not_send(tree, knob):
    request = judged(tree, ask(), ("lost-on-return", 4, "hca2"), **faults("hca2/1", **{knob: "99"}))
    # The path is not at fault.
    assert request["reason"] == knob.replace("smi_", "").replace("posts", "post-failed").replace("sends", "send-failed")
    assert "Path element" not in request["what"]


@pytest.mark.parametrize("at, damage", [(132, "dropped"), (131, "answered")])
def test_a_request_that_is_damaged_on_the_way(tree, at, damage):
    """It is one request, though it goes on along another path from sw1 on: element 4 leads nowhere, element 3 was done with."""
    corrupt = faults("sw2/2", match="way=request", corrupt=f"{at} set 99 all")
    if damage == "dropped":
        request = judged(tree, ask(), ("never-arrived", 3, "sw2"), **corrupt)
        assert request["cause"] == "damaged"
        assert any("ib_smi_discard: sw1" in text and "no-such-port" in text for text in request["evidence"])
    else:
        status, found = triage(tree, ask(), **corrupt)
        assert (status, [request["verdict"] for request in found["requests"]]) == (0, ["ok"])


def test_an_answer_with_a_damaged_return_path(tree):
    # Element 2, of sw2, becomes 200 on the way from hca2.
    request = judged(tree, ask(), ("lost-on-return", 2, "sw2"),
                     **faults("hca2/1", match="way=response", corrupt="194 set 200 all"))
    assert (request["reason"], request["cause"]) == ("no-such-port", "return-path")
    # One that is a port leads it astray: back to sw1, and on to hca2 itself.
    request = judged(tree, ask(), ("lost-on-return", 2, "sw2"),
                     **faults("hca2/1", match="way=response", corrupt="194 set 2 all"))
    assert (request["next"], request["cause"]) == ("sw1", "return-path")


def test_an_answer_that_is_late(tree):
    # smpquery may ask once more under the same TID, and take the answer for one to that.
    late = faults("hca2/1", match="way=response", delay="350 all")
    request = judged(tree, "--timeout 200ms " + ask(options="--retries 0"), ("late", 0, "hca0"), **late)
    assert request["late_ms"] is None or request["late_ms"] > 0
    assert "the answer was held up" in request["what"] and "between hca2:1 and sw1" in request["what"]


def test_the_wrong_port_of_a_ca_with_two(tree):
    command = "-- /src/scripts/dr-smp -C hca4 -P {} --timeout 200 0,1"
    request = judged(tree, command.format(2), ("never-left", 0, "hca4"))
    assert (request["reason"], request["port"]) == ("wrong-port", 2)
    assert triage(tree, command.format(1))[0] == 0


def test_receive_buffers_are_exhausted(tree):
    # 512 buffers and room for 128 more at sw0, filled with what nobody answers.
    filler = struct.pack(">BBBBHBBQHHI", 1, 1, 1, 0x81, 0, 0, 0, 1, 0x11, 0, 0).ljust(256, b"\0")
    smp = sma.make(sma.NODE_INFO, path=(1, 3))
    request = judged(tree, f"-- /src/scripts/tests/burst 700 'sw0 5 {filler.hex()} dlid={sma.lid(tree, 'sw0')}' "
                     f"hca0 {smp.hex()}", ("never-arrived", 1, "hca0"))
    assert (request["next"], request["cause"]) == ("sw0:5", "no-buffer")


def test_a_combined_route_without_a_way_by_lid(tree):
    request = judged(tree, ask("0,1,3", "--dr-dlid 999"), ("never-arrived", 3, "sw2"))
    assert (request["next"], request["cause"]) == ("LID 0x3e7", "no-route")


def test_an_answer_without_a_way_back_by_lid(tree):
    # Who asks says that its LID is 999, which nobody has.
    request = judged(tree, ask("0,3", f"--lid {sma.lid(tree, 'sw0')} --dr-slid 999"), ("lost-on-return", 0, "sw0"))
    assert (request["next"], request["cause"]) == ("LID 0x3e7", "no-route")
    own = f"--lid {sma.lid(tree, 'sw0')} --dr-slid {sma.lid(tree, 'hca0')}"
    assert triage(tree, ask("0,3", own))[0] == 0


def test_tries_again_are_one_request(tree):
    status, found = triage(tree, ask(options="--retries 3"), **faults("sw2/2", drop="nth 1"))
    (request,) = found["requests"]
    assert (status, request["tries"], request["verdict"]) == (0, 2, "ok")
    request = judged(tree, ask(options="--retries 2"), ("never-arrived", 3, "sw2"), **faults("sw2/2", drop="all"))
    assert request["tries"] == 3


def test_doubled_packets_do_no_harm(tree):
    status, found = triage(tree, ask(), **faults("sw2/2", duplicate="all"))
    assert status == 0 and len(found["requests"]) == 1


def test_injected_requests_have_no_sender(tree):
    smp = make(1, 2, (1, 9))
    status, found = triage(tree, f"-- sh -c 'echo sw0 1 {smp.hex()} >{DEBUG}/ibfabric/inject; sleep .3'")
    assert status == 12 and verdict(found) == ("dropped", 1, "sw0")
    assert found["requests"][0]["sender"] is None


# Somebody else asks again and again for a port that there is not.
OTHERS = {"setup": "while :; do smpquery -C hca1 -t 200 -D nodeinfo 0,1,99; done >/dev/null 2>&1 & asks=$!; sleep 1",
          "undo": "kill $asks; wait $asks; while pgrep -x smpquery >/dev/null; do sleep 0.1; done"}


def test_what_others_send_does_not_count(tree):
    # A command that forks: two ask.
    command = f"-- sh -c '(smpquery -C hca0 -D nodeinfo {FAR}); smpquery -C hca0 -D nodeinfo 0,1,3; sleep 1'"
    status, found = triage(tree, command, **OTHERS)
    assert status == found["status"] == 0 and found["counts"] == {"ok": 2}
    assert {request["verdict"] for request in found["requests"] if request["of_command"]} == {"ok"}
    others = {request["verdict"] for request in found["requests"] if not request["of_command"]}
    assert "dropped" in others and others <= {"dropped", "waiting"}
    said = tree.check(f"{OTHERS['setup']}; /src/scripts/smi-triage {command}; {OTHERS['undo']}")
    assert "\n2 requests: 2 answered or delivered; all is well\nnot sent by the command: " in said and "DROPPED" not in said


def test_a_command_that_fails_beside_others(tree):
    status, found = triage(tree, ask(FAR + ",1"), **OTHERS)
    assert status == 12 and found["counts"] == {"dropped": 1}
    # Of a LID-routed start its own node has no event.
    command = (f"-- env PATH=/usr/bin /src/scripts/dr-smp -C hca0 --timeout 200 --lid {sma.lid(tree, 'sw0')} "
               f"--dr-slid {sma.lid(tree, 'hca0')} 0,98")
    status, found = triage(tree, command, **OTHERS)
    (request,) = [request for request in found["requests"] if request["of_command"]]
    assert (status, request["verdict"], request["path"]) == (12, "dropped", [0, 98])


def test_a_command_that_sends_none(tree):
    # By LID.
    script = "{}; /src/scripts/smi-triage -- {} 2>&1; echo status $?; {}"
    said = tree.check(script.format(OTHERS["setup"], f"smpquery -C hca0 nodeinfo {sma.lid(tree, 'sw0')}", OTHERS["undo"]))
    assert "the command sent no directed-route SMP\nnot sent by the command: " in said and "status 3" in said
    # It may have others send.
    said = tree.check(script.format(OTHERS["setup"], "sleep 1", OTHERS["undo"]))
    assert "the command has sent nothing itself: all that passed" in said and "status 12" in said


def test_a_recorded_trace(tree):
    tree.check("cd /tmp && trace-cmd record -C mono -e ib_smi -o t.dat smpquery -C hca0 -t 200 -D nodeinfo "
               f"{FAR},1 >/dev/null 2>&1; trace-cmd report -i t.dat >t.txt")
    for name in ("t.dat", "t.txt"):
        status, found = triage(tree, f"/tmp/{name}")
        assert status == 12 and verdict(found) == ("dropped", 4, "hca2")
    assert "DROPPED at hop 4, hca2" in tree.run("/src/scripts/smi-triage - </tmp/t.txt")[1]


def test_watching(tree):
    # Somebody asks again and again, however slow the guest is.
    status, found = triage(
        tree, "--watch 4s", setup=f"while :; do smpquery -C hca0 -t 200 -D nodeinfo {FAR},1; done >/dev/null 2>&1 & asks=$!",
        undo="kill $asks")
    assert status == 12
    assert {request["verdict"] for request in found["requests"]} <= {"dropped", "waiting"}
    status, found = triage(tree, "--watch 1s", setup="sleep 1")
    assert status == 3 and found["requests"] == []


def test_the_ledger_after_the_fact(tree):
    # Nobody has traced these.
    asked = f"echo clear >{DEBUG}/ib_smi/ledger; smpquery -C hca0 -t 200 -D nodeinfo {{}} >/dev/null 2>&1"
    status, found = triage(tree, "--ledger", setup=asked.format(FAR + ",1"))
    assert status == 12 and verdict(found) == ("dropped", 4, "hca2")
    staged = faults("sw2/2", drop="all")
    status, found = triage(tree, "--ledger", setup=f"{staged['setup']}; {asked.format(FAR)}", undo=staged["undo"])
    assert status == 11 and verdict(found) == ("never-arrived", 3, "sw2")
    assert found["requests"][0]["next"] == "sw1:3"
    status, found = triage(tree, "--ledger", setup=asked.format(FAR))
    assert status == 0 and found["requests"][0]["verdict"] == "ok"


@pytest.mark.parametrize("signal, status", [("INT", 3), ("TERM", 143)])
def test_nothing_is_left_when_it_is_interrupted(tree, signal, status):
    out = tree.check(
        # A shell lets what it starts in the background ignore SIGINT.
        f"python3 -c 'import signal, os; signal.signal(signal.SIGINT, signal.default_int_handler); "
        f"os.execv(\"/src/scripts/smi-triage\", [\"smi-triage\", \"--watch\", \"60s\"])' >/tmp/out 2>&1 & run=$!\n"
        "for try in $(seq 100); do ls /sys/kernel/tracing/instances | grep -q smi-triage && break; sleep .1; done\n"
        f"sleep 0.5; kill -{signal} $run; wait $run; echo $?; ls /sys/kernel/tracing/instances")
    assert out.split() == [str(status)]


WAIT_FOR_THE_INSTANCE = (
    "for try in $(seq 100); do ls /sys/kernel/tracing/instances | grep -q smi-triage && break; sleep .1; done; sleep .5\n")


def test_nothing_is_left_when_it_is_interrupted_while_it_tidies_up(tree):
    out = tree.check(
        "python3 - <<'END'\nimport os, signal, sys\nsys.path.insert(0, '/src/scripts')\nfrom triage import live\n"
        "put = live.put\n"
        "def interrupt(file, value):\n"
        "    put(file, value)\n"
        "    if file.match('events/enable') and value == 0:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "live.put = interrupt\n"
        "try:\n"
        "    live.watch(0.1, 64)\n"
        "except (live.Interrupted, KeyboardInterrupt):\n"
        "    print('interrupted')\n"
        "print(os.listdir('/sys/kernel/tracing/instances'))\nEND")
    assert out.splitlines() == ["interrupted", "[]"]


def test_signals_that_are_ignored(tree):
    """As nohup has it: of the command that is traced, too."""
    out = tree.check(
        "nohup /src/scripts/smi-triage --watch 3s >/dev/null 2>&1 & run=$!\n" + WAIT_FOR_THE_INSTANCE +
        "kill -HUP $run; wait $run; echo $?\n"
        "nohup /src/scripts/smi-triage -- sh -c 'kill -HUP $$; echo alive' 2>/dev/null; echo $?")
    assert out.split() == ["3", "alive", "3"]


def test_a_run_in_another_container(tree):
    """To which all processes of this one seem to be gone."""
    out = tree.check(
        "rm -f /tmp/done; /src/scripts/smi-triage -- sh -c 'until [ -e /tmp/done ]; do sleep .2; done' >/tmp/out 2>&1 & "
        "run=$!\n" + WAIT_FOR_THE_INSTANCE +
        # Not by the Python that is warm, which is outside.
        "unshare --pid --fork --mount-proc env PATH=/usr/bin /src/scripts/smi-triage --watch 100ms 2>/tmp/said; echo $?\n"
        f"smpquery -C hca0 -t 200 -D nodeinfo {FAR} >/dev/null; touch /tmp/done; wait $run; echo $?\n"
        "ls /sys/kernel/tracing/instances")
    assert out.split() == ["3", "0"], tree.run("cat /tmp/out")


def test_an_instance_of_a_killed_run_goes_with_the_next(tree):
    tree.check("mkdir /sys/kernel/tracing/instances/smi-triage-999999")
    assert triage(tree, ask())[0] == 0


def test_a_small_buffer_is_no_proof(tree):
    status, found = triage(tree, "--buffer 4 -- ibnetdiscover -C hca0")
    assert found["trace"]["lost"] > 0
    assert {request["verdict"] for request in found["requests"]} <= {"ok", "unknown", "waiting"}
    assert status in (0, 20)


def test_a_whole_discovery_is_well(tree):
    status, found = triage(tree, "-- ibnetdiscover -C hca0")
    assert status == 0 and set(found["counts"]) == {"ok"}
    assert all(request["of_command"] for request in found["requests"])


def test_a_fabric_that_was_discovered(tree):
    tree.check(f"ibnetdiscover -C hca0 >/tmp/fabric; trace-cmd record -C mono -e ib_smi -o /tmp/own.dat smpquery "
               f"-C hca0 -t 200 -D nodeinfo {FAR} >/dev/null 2>&1; trace-cmd report -i /tmp/own.dat | grep ' hca0 ' >/tmp/own")
    # Only the own end is seen, and the Return Path fits the cables.
    assert triage(tree, "--fabric /tmp/fabric /tmp/own")[0] == 0
    tree.check("sed -i 's/path={0x5,0x1,0x3,0x1}/path={0x5,0x1,0x4,0x1}/' /tmp/own")
    status, found = triage(tree, "--fabric /tmp/fabric /tmp/own")
    assert status == 14 and verdict(found)[:2] == ("wrong-node", 3)
    # The request alone: from here nothing can be told.
    tree.check("sed -i 1q /tmp/own")
    status, found = triage(tree, "--fabric /tmp/fabric /tmp/own")
    assert status == 20 and verdict(found) == ("unknown", 1, "hca0")


def test_it_is_said_what_is_missing(tree):
    status, _, err = tree.run("/src/scripts/smi-triage -- /no/such/command")
    assert status == 1 and "No such file or directory" in err
    status, _, err = tree.run("/src/scripts/unload; /src/scripts/smi-triage -- true; s=$?; /src/scripts/load; exit $s")
    assert status == 1 and "the module is not loaded (scripts/load)" in err
    status, _, err = tree.run("setpriv --reuid nobody --clear-groups /src/scripts/smi-triage -- true")
    assert status == 1 and "root" in err
