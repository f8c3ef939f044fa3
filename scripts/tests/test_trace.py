# SPDX-License-Identifier: GPL-2.0
"""The recipes in samples/trace, on Debian's kernel with the module and without, each on an exchange that is known:
hca0 asks hca1 at the other end of its first link, or through a switch.

What is expected of the stock SMI is what drivers/infiniband/core/smi.c and mad.c do, and of ib_smi what the rules
ask for (C14-9, C14-13).
"""

import re
import signal
import subprocess
from pathlib import Path

import pytest

from smp import events as parser, make
from test_docs import literal, rows

RECIPES = Path("/src/samples/trace")
TRACING = "/sys/kernel/tracing"
BROKEN = 125

# The low half of the TID that is sent; the high half names the agent.
TID = 0x5A5A1234

ASK = f"/src/scripts/dr-smp -C hca0 --tid {TID:#x} --timeout 500"
LOST = f"/src/scripts/dr-smp -C hca0 --tid {TID:#x} --timeout 50"


def prepare(guest, topology, module):
    """Puts the fabric up, and the module in or out, if that is not so already."""
    guest.check(
        "modprobe ib_umad\n"
        f"[ \"$(cat /sys/module/ibfabric/parameters/topology 2>/dev/null)\" = {topology} ] || {{\n"
        "\t[ ! -d /sys/module/ibfabric ] || rmmod ibfabric\n"
        f"\tinsmod $MODULES/ibfabric.ko topology={topology}\n"
        "}\n" + (
            "[ -d /sys/module/ib_smi ] || /src/scripts/load" if module else
            "[ ! -d /sys/module/ib_smi ] || /src/scripts/unload"), timeout=60)
    return guest


@pytest.fixture(name="module", params=["without", "with"], scope="module")
def module_fixture(request):
    """Whether ib_smi is loaded."""
    return request.param == "with"


@pytest.fixture(name="direct")
def direct_fixture(guest_stock, module):
    """Two HCAs without a switch, which the stock SMI can handle too: hca0 1---2 hca1."""
    return prepare(guest_stock, "direct", module)


@pytest.fixture(name="stock")
def stock_fixture(guest_stock):
    """The same, without ib_smi."""
    return prepare(guest_stock, "direct", False)


@pytest.fixture(name="pair")
def pair_fixture(guest_stock):
    """Two HCAs and a switch, with ib_smi: hca0 1---1 sw0 2---1 hca1."""
    return prepare(guest_stock, "pair", True)


@pytest.fixture(name="perf")
def perf_fixture(guest_stock):
    """perf, if the sysroot has it."""
    if guest_stock.run("command -v perf")[0]:
        pytest.skip("the sysroot has no perf: add linux-perf to the packages in scripts/sysroot")


def left_behind(guest):
    """What a recipe has not cleaned up."""
    return guest.check(
        f"ls {TRACING}/instances; cat {TRACING}/dynamic_events {TRACING}/set_event; ls -d /tmp/tmp.* 2>/dev/null\n"
        f"grep -v '^#' {TRACING}/trace; grep -hs -v '^#' {TRACING}/events/ib_*/*/trigger; true")


def run(guest, words, command, status=0):
    """Runs a recipe on a shell command, whose status it has to pass on, and returns its output."""
    script = f"{RECIPES}/{words} -- sh -c '{command}'"
    got, out, err = guest.run(script, timeout=120)
    assert got == status, f"{script}: {got}\n{out}{err}"
    assert left_behind(guest) == ""
    return out


def refused(guest, words):
    """Runs a recipe that cannot work, and returns what it says."""
    status, out, err = guest.run(f"{RECIPES}/{words} -- true")
    assert (status, out) == (BROKEN, ""), f"{out}{err}"
    assert left_behind(guest) == ""
    assert re.search(rf"^{words.split()[0]}: error: ", err, re.MULTILINE), err
    return err


def words_of(line):
    """The `name=value` words of a line."""
    return dict(re.findall(r"(\w+)=(\{[^}]*\}|[^\s,)]+)", line))


def probes(text, name):
    """The events of a probe, as the words of each line."""
    return [words_of(line) for line in text.splitlines() if f": {name}: (" in line]


def steps(text):
    """The ib_smi events of a text: event, device, way, Hop Pointer before and after."""
    return [(e["event"], e["device"], e["way"], int(e["before"]), int(e["after"]))
            for e in filter(None, map(parser.fields, text.splitlines()))]


# By the rules, for Initial Path 0,1 from hca0 to hca1, and for 0,1,2 through sw0.
DIRECT = [
    ("send", "hca0", "request", 0, 1),
    ("recv", "hca1", "request", 1, 2),
    ("reply", "hca1", "response", 2, 1),
    ("recv", "hca0", "response", 1, 0),
]
PAIR = [
    ("send", "hca0", "request", 0, 1),
    ("recv", "sw0", "request", 1, 2),
    ("forward", "sw0", "request", 1, 2),
    ("recv", "hca1", "request", 2, 3),
    ("reply", "hca1", "response", 3, 2),
    ("recv", "sw0", "response", 2, 1),
    ("forward", "sw0", "response", 2, 1),
    ("recv", "hca0", "response", 1, 0),
]
DROPPED = [
    ("send", "hca0", "request", 0, 1),
    ("recv", "sw0", "request", 1, 1),
    ("discard", "sw0", "request", 1, 1),
]


class TestFunctions:
    """The function tracers."""

    def test_functions(self, direct, module):
        calls = [re.search(r": (\w+)\((.*)\) <-(\w+)", line).groups()
                 for line in run(direct, "functions", f"{ASK} 0,1").splitlines()]
        original = [(name, words_of(args).get("port_num"), caller) for name, args, caller in calls
                    if not name.startswith("ib_smi_")]
        # The stock SMI asks itself about an SMP that stays and about an answer too (mad.c, handle_ib_smi and
        # handle_outgoing_dr_smp); ib_smi takes and sends them without.
        expected = [
            ("smi_handle_dr_smp_send", "0x1", "ib_post_send_mad"),
            ("smi_handle_dr_smp_recv", "0x2", "ib_mad_recv_done"),
            ("smi_check_forward_dr_smp", None, "ib_mad_recv_done"),
            ("smi_handle_dr_smp_send", "0x2", "ib_mad_recv_done"),
            ("agent_send_response", "2", "ib_mad_recv_done"),
            ("smi_handle_dr_smp_send", "0x2", "ib_post_send_mad"),
            ("smi_handle_dr_smp_recv", "0x1", "ib_mad_recv_done"),
            ("smi_check_forward_dr_smp", None, "ib_mad_recv_done"),
        ]
        if module:
            expected = [call for call in expected if call[:2] != ("smi_handle_dr_smp_send", "0x2")]
        assert original == expected
        # What stands in for each follows it, from the same caller.
        replaced = [(name, caller) for name, _, caller in calls if name.startswith("ib_smi_")]
        assert replaced == [("ib_smi_" + name.removeprefix("smi_"), caller) for name, _, caller in expected if module]

    def test_graph(self, direct, module):
        text = run(direct, "graph", f"{ASK} 0,1")
        stacks, nested = {}, []
        for line in text.splitlines():
            match = re.match(r" *\d+\) +(\S+) +\|.*\|( +)(\w+)(?: \[\w+\])?\(.*\)(;| \{)$", line)
            if match:
                stack = stacks.setdefault(match[1], [])
                depth = len(match[2])
                while stack and stack[-1][0] >= depth:
                    stack.pop()
                nested.append((match[3], stack[-1][1] if stack else None))
                stack.append((depth, match[3]))
        assert nested.count(("smi_handle_dr_smp_recv", "ib_mad_recv_done")) == 2
        assert nested.count(("agent_send_response", "ib_mad_recv_done")) == 1
        assert nested.count(("ib_smi_handle_dr_smp_recv", "smi_handle_dr_smp_recv")) == (2 if module else 0)
        assert nested.count(("ib_smi_agent_send_response", "agent_send_response")) == (1 if module else 0)
        assert nested.count(("ib_post_send_mad", "agent_send_response")) == (0 if module else 1)


class TestProbes:
    """Kprobe and fprobe events."""

    FIELDS = {"hop_cnt": "1", "attr": "0x0011", "drslid": "0xffff", "drdlid": "0xffff", "initial": "{0,1,0,0,0,0,0,0}",
              "is_switch": "0"}
    REQUEST = FIELDS | {"method": "0x1", "returning": "0", "return": "{0,0,0,0,0,0,0,0}"}
    # C14-9:3: hca1 has written its ingress port, 2, to element 1.
    ARRIVED = FIELDS | {"method": "0x1", "returning": "0", "return": "{0,2,0,0,0,0,0,0}"}
    RESPONSE = FIELDS | {"method": "0x81", "returning": "1", "return": "{0,2,0,0,0,0,0,0}"}

    def test_kprobes(self, direct, module):
        text = run(direct, "kprobes", f"{ASK} 0,1")
        recv = [
            self.REQUEST | {"hop_ptr": "1", "port": "2", "ports": "2"},
            self.RESPONSE | {"hop_ptr": "1", "port": "1", "ports": "2"},
        ]
        send = [self.REQUEST | {"hop_ptr": "0", "port": "1"}]
        if not module:
            send += [self.ARRIVED | {"hop_ptr": "1", "port": "2"}, self.RESPONSE | {"hop_ptr": "2", "port": "2"}]
        for names, expected in ((("recv", "new_recv"), recv), (("send", "new_send"), send)):
            for name in names[:1 + module]:
                found = probes(text, name)
                assert {int(probe.pop("tid"), 16) & 0xFFFFFFFF for probe in found} == {TID}
                assert found == expected, name
                assert probes(text, name + "_ret") == [{"ret": "1"}] * len(expected)
        assert module or "new_" not in text

    def test_a_discard_is_a_return_value(self, direct):
        # A CA passes nothing on: C14-9:2.
        text = run(direct, "kprobes", f"{LOST} 0,1,1", status=2)
        assert probes(text, "recv_ret") == [{"ret": "0"}]

    def test_fprobes(self, direct, module):
        text = run(direct, "fprobes", f"{ASK} 0,1")
        common = {"hop_ptr": "1", "hop_cnt": "1", "is_switch": "0"}
        for name in ("recv", "new_recv")[:1 + module]:
            found = probes(text, name)
            assert {int(probe.pop("tid"), 16) & 0xFFFFFFFF for probe in found} == {TID}
            assert found == [common | {"method": "1", "port": "2"}, common | {"method": "129", "port": "1"}]
            # smi.c leaves the Hop Pointer of what stays to a later step, ib_smi does not. Both take back that of
            # an answer that has arrived.
            assert probes(text, name + "_ret") == [
                {"hop_ptr": "2" if module else "1", "ret": "1"}, {"hop_ptr": "0", "ret": "1"}]


class TestEvents:
    """The events of ib_mad and of ib_smi."""

    def test_tid_by_its_low_half(self, direct, module):
        other = ASK.replace(f"{TID:#x}", "0x77")
        text = run(direct, f"tid {TID:#x}", f"{ASK} 0,1 && {other} 0,1 && {ASK} 0,1 --timeout 501")
        assert {int(found, 16) & 0xFFFFFFFF for found in re.findall(r"\btid[= ]0x([0-9a-f]+)", text)} == {TID}
        names = [name for name in re.findall(r": (ib_(?:mad|smi)_\w+): ", text) if name != "ib_mad_send_done_handler"]
        # ib_smi posts answers by itself, past ib_mad.
        assert names == 2 * ([
            "ib_smi_send", "ib_mad_ib_send_mad", "ib_mad_recv_done_handler", "ib_smi_recv", "ib_smi_reply",
            "ib_mad_recv_done_handler", "ib_smi_recv"] if module else [
            "ib_mad_ib_send_mad", "ib_mad_recv_done_handler", "ib_mad_ib_send_mad", "ib_mad_recv_done_handler"])

    def test_a_whole_tid_is_filtered_in_the_kernel(self, direct, module):
        one, other = (make(1, 1, (1,), tid=TID, high_tid=agent) for agent in (0xABCDEF01, 0xABCDEF02))
        inject = "".join(f"echo hca0 1 {smp.hex()} >/sys/kernel/debug/ibfabric/inject; " for smp in (one, other))
        text = run(direct, f"tid 0xabcdef01{TID:08x}", inject + "sleep 0.5")
        assert set(re.findall(r"\btid[= ]0x0*([0-9a-f]+)", text)) == {f"abcdef01{TID:08x}"}
        assert len(re.findall(r": ib_mad_recv_done_handler: ", text)) == 2
        assert [step[0] for step in steps(text)] == (["recv", "reply", "recv"] if module else [])

    def test_events(self, pair):
        assert steps(run(pair, "events", f"{ASK} 0,1,2")) == PAIR

    def test_events_by_a_filter(self, pair):
        ask = f"{ASK} 0,1,2"
        assert steps(run(pair, "events 'device==\"hca1\"'", ask)) == [step for step in PAIR if step[1] == "hca1"]
        assert steps(run(pair, "events verdict==3", f"{LOST} 0,1,9", status=2)) == DROPPED[1:]
        one, other = (make(2, 2, (1, 2), tid=TID, high_tid=agent) for agent in (1, 2))
        inject = "".join(f"echo hca1 1 {smp.hex()} >/sys/kernel/debug/ibfabric/inject; " for smp in (one, other))
        text = run(pair, f"events tid==0x2{TID:08x}", inject + "sleep 0.5")
        assert set(re.findall(r"tid=(0x\w+)", text)) == {f"0x2{TID:08x}"}

    def test_events_by_a_wrong_filter(self, pair):
        said = refused(pair, "events nosuch==1")
        assert "Field not found" in said and "format" in said

    def test_record(self, direct, module):
        text = run(direct, "record", f"{ASK} 0,1")
        assert steps(text) == (DIRECT if module else [])
        received = re.findall(r"ib_mad_recv_done_handler: +tid (0x\w+) ", text)
        assert [int(tid, 16) & 0xFFFFFFFF for tid in received] == [TID, TID]

    def test_record_to_a_file(self, direct):
        run(direct, "record /tmp/smi.dat", f"{ASK} 0,1")
        assert "ib_mad_recv_done_handler" in direct.check("trace-cmd report -i /tmp/smi.dat; rm /tmp/smi.dat")

    @pytest.mark.parametrize("recipe", ["events", "stacktrace", "record"])
    def test_the_clock_is_the_same_on_all_cpus(self, pair, recipe):
        run(pair, recipe, f"cat {TRACING}/instances/*/trace_clock >/tmp/clock")
        assert "[mono]" in pair.check("cat /tmp/clock; rm /tmp/clock")

    @pytest.mark.long
    @pytest.mark.usefixtures("perf")
    def test_the_clock_of_perf_is_the_same_on_all_cpus(self, pair):
        run(pair, "perf-script /tmp/p.data", f"{ASK} 0,1,2")
        # CLOCK_MONOTONIC.
        assert re.search(r"use_clockid: 1.*\bclockid: 1\b", pair.check("perf evlist -v -i /tmp/p.data; rm /tmp/p.data"))

    @pytest.mark.usefixtures("perf")
    def test_perf_script(self, direct, module):
        text = run(direct, "perf-script", f"{ASK} 0,1")
        assert steps(text) == (DIRECT if module else [])
        received = re.findall(r"ib_mad_recv_done_handler: +tid (0x\w+) ", text)
        assert [int(tid, 16) & 0xFFFFFFFF for tid in received] == [TID, TID]

    @pytest.mark.usefixtures("perf")
    def test_perf_trace(self, pair):
        text = run(pair, "perf-trace", f"{ASK} 0,1,2")
        found = re.findall(r'ib_smi:ib_smi_(\w+)\(device: "(\w+)", tid: (\d+)', text)
        # It does not put in order what comes from several processors.
        assert sorted((event, device) for event, device, _ in found) == sorted(step[:2] for step in PAIR)
        assert {int(tid) & 0xFFFFFFFF for *_, tid in found} == {TID}


    def test_a_program_whose_name_is_no_text(self, pair):
        # It is the name of the file that is run.
        script = (f"name=$(printf '/tmp/d\\351'); ln -sf /usr/sbin/smpquery \"$name\"\n"
                  f"LC_ALL=C.UTF-8 {RECIPES}/events -- \"$name\" -C hca0 -D nodeinfo 0,1 | "
                  "LC_ALL=C grep -ac ib_smi_send; rm \"$name\"")
        assert pair.check(script).strip() == "1"


class TestTriggers:
    """Histograms, snapshots, stacks and synthetic events."""

    # Two paths to a port that is not there, one to port 0, one on behind a CA: all are lost.
    LOSE = f"for path in 0,1,9 0,1,9 0,1,0 0,1,2,1; do {LOST} $path; done; true"

    def test_discards(self, pair):
        text = run(pair, "discards", self.LOSE)
        assert sorted(re.findall(r"\{ reason: +(\d+) (\S+) +\} hitcount: +(\d+)", text)) == [
            ("3", "no-such-port", "2"), ("4", "port-zero", "1"), ("5", "ca-in-transit", "1")]

    def test_discards_by_device_and_port(self, pair):
        text = run(pair, "discards device,port,reason", self.LOSE)
        rows = re.findall(r"\{ device: (\w+) +, port: +(\d+), reason: +\d+ (\S+) +\} hitcount: +(\d+)", text)
        assert sorted(rows) == [
            ("hca1", "1", "ca-in-transit", "1"), ("sw0", "0", "no-such-port", "2"), ("sw0", "0", "port-zero", "1")]

    def test_discards_by_stack(self, pair):
        text = run(pair, "discards reason,common_stacktrace", f"{LOST} 0,1,9", status=2)
        assert "no-such-port, common_stacktrace:" in text and " rust_handle_dr_smp_recv+" in text and " ib_smi_handle_dr_smp_recv+" in text

    def test_discards_by_what_is_no_field(self, pair):
        assert "Couldn't find field" in refused(pair, "discards nosuch")

    def test_snapshot(self, pair):
        # What comes after the first discard is not in it.
        text = run(pair, "snapshot", f"{LOST} 0,1,9; {ASK} 0,1,2")
        assert steps(text) == DROPPED

    def test_a_snapshot_is_of_the_first_discard_however_many_come_after_it(self, pair):
        # In a buffer that they would fill again and again.
        flood = f"/src/scripts/tests/flood hca0 200 50 {make(0, 2, (1, 0)).hex()}"
        small = f"for file in {TRACING}/instances/snapshot.*/buffer_size_kb; do echo 4 >$file; done"
        text = run(pair, "snapshot", f"{small}; {LOST} 0,1,9; {flood}")
        assert steps(text) == DROPPED
        assert {int(words_of(line)["tid"], 16) & 0xFFFFFFFF for line in text.splitlines()} == {TID}

    def test_stacktrace(self, pair):
        text = run(pair, "stacktrace", f"{LOST} 0,1,9; {ASK} 0,1,2")
        assert steps(text) == DROPPED[2:]
        assert re.search(r"<stack trace>\n(?: => .*\n)* => rust_handle_dr_smp_recv\n(?: => .*\n)* => ib_mad_recv_done\n", text)

    def test_latency(self, pair):
        text = run(pair, "latency", f"{ASK} 0,1,2")
        rows = [words_of(line) for line in text.splitlines() if ": smi_hop_" in line]
        assert {int(row.pop("tid")) & 0xFFFFFFFF for row in rows} == {TID}
        assert all(int(row.pop("us")) >= 0 for row in rows)
        assert [tuple(row.values()) for row in rows] == [
            ("sw0", "1", "0", "1"), ("hca1", "1", "0", "2"), ("sw0", "2", "1", "2"), ("hca0", "1", "1", "1")]
        counts = re.findall(r"\{ device: (\w+) +, ingress: +(\d) \} hitcount: +(\d+)", text)
        assert sorted(counts) == [("hca0", "1", "1"), ("hca1", "1", "1"), ("sw0", "1", "1"), ("sw0", "2", "1")]

    def test_latency_by_hop(self, pair):
        text = run(pair, "latency hop,returning", f"{ASK} 0,1,2 && {ASK} 0,1,2")
        counts = re.findall(r"\{ hop: +(\d), returning: +(\d) \} hitcount: +(\d+)", text)
        assert sorted(counts) == [("1", "0", "2"), ("1", "1", "2"), ("2", "0", "2"), ("2", "1", "2")]

    def test_unloading_is_refused_while_a_trigger_is_set_in_an_instance(self, pair):
        pair.check(f"mkdir {TRACING}/instances/mine")
        trigger = f"{TRACING}/instances/mine/events/ib_smi/ib_smi_discard/trigger"
        pair.check(f"echo hist:key=reason >{trigger}")
        status, _, err = pair.run("/src/scripts/unload")
        pair.check(f"echo '!hist:key=reason' >{trigger}; rmdir {TRACING}/instances/mine")
        assert status != 0 and f"remove the trigger first (write it with '!' before it to the same file): {trigger}" in err


class TestBpf:
    """bpftrace."""

    def test_discards(self, pair):
        text = run(pair, "bpf discards", TestTriggers.LOSE)
        assert sorted(re.findall(r"@discards\[(.*)\]: (\d+)", text)) == [
            ("0, 1, 3 no-such-port", "2"), ("0, 1, 4 port-zero", "1"), ("1, 1, 5 ca-in-transit", "1")]

    def test_slowest(self, direct):
        text = run(direct, "bpf slowest", f"{ASK} 0,1 && {ASK} -P 2 0,2 && {ASK} 0,1")
        assert sorted(re.findall(r"^ *\d+ us +mean +\d+ us +(\d+) times +(\S+)$", text, re.MULTILINE)) == [
            ("1", "0,2"), ("2", "0,1")]

    def test_latency(self, direct):
        text = run(direct, "bpf latency", f"{ASK} 0,1 && {ASK} 0,1")
        assert sorted(re.findall(r"@us\[(\w+) *, (\d+)\]: count (\d+),", text)) == [
            ("request", "1", "2"), ("response", "1", "2")]

    def test_latency_through_a_switch(self, pair):
        text = run(pair, "bpf latency", f"{ASK} 0,1,2")
        assert sorted(re.findall(r"@us\[(\w+) *, (\d+)\]: count (\d+),", text)) == [
            ("request", "1", "1"), ("request", "2", "1"), ("response", "1", "1"), ("response", "2", "1")]

    def test_no_such_program(self, pair):
        assert "discards, slowest or latency" in refused(pair, "bpf nosuch")


class TestMissing:
    """What recipes say when something is missing."""

    @pytest.mark.parametrize("words", ["events", "discards", "snapshot", "stacktrace", "latency", "bpf discards"])
    def test_the_module(self, stock, words):
        assert "ib_smi is not loaded: load it with scripts/load" in refused(stock, words)

    @pytest.mark.usefixtures("perf")
    def test_the_module_for_perf_trace(self, stock):
        assert "ib_smi is not loaded: load it with scripts/load" in refused(stock, "perf-trace")

    @pytest.mark.parametrize("words, tool, package", [
        ("record", "trace-cmd", "trace-cmd"), ("perf-script", "perf", "linux-perf"), ("perf-trace", "perf", "linux-perf"),
        ("bpf slowest", "bpftrace", "bpftrace")])
    def test_a_tool(self, stock, words, tool, package):
        stock.check(f"mkdir -p /tmp/bin; ln -sf /usr/bin/* /usr/sbin/* /tmp/bin; rm -f /tmp/bin/{tool}")
        status, _, err = stock.run(f"PATH=/tmp/bin {RECIPES}/{words} -- true")
        stock.check("rm -r /tmp/bin")
        assert status == BROKEN and err == f"{words.split()[0]}: error: {tool} is not installed: it is in the package {package}\n"

    def test_ib_core(self, guest_stock):
        prepare(guest_stock, "direct", False)
        guest_stock.check("rmmod ibfabric; modprobe -r ib_umad; ! test -d /sys/module/ib_core")
        for words in ("functions", "graph", "kprobes", "fprobes", "tid 1", "record", "bpf slowest"):
            assert "modprobe ib_core" in refused(guest_stock, words), words

    def test_tracefs(self, stock):
        status, _, err = stock.run(f"TRACEFS=/nowhere {RECIPES}/functions -- true")
        assert status == BROKEN and "mount -t tracefs tracefs /sys/kernel/tracing" in err

    @pytest.mark.parametrize("words, said", [
        ("functions one", "too many arguments"), ("tid", "give a TID"), ("tid 0xg", "give a TID"), ("bpf", "give a program")])
    def test_arguments(self, stock, words, said):
        assert said in refused(stock, words)

    def test_the_command(self, stock):
        status, _, err = stock.run(f"{RECIPES}/functions -- nosuch")
        assert (status, err) == (BROKEN, "functions: error: there is no command 'nosuch'\n")


class TestEnd:
    """How recipes end."""

    @pytest.mark.parametrize("words", ["kprobes", "tid 1"])
    def test_until_it_is_interrupted(self, stock, words):
        text = stock.check(
            f"{RECIPES}/{words} >/tmp/out 2>/tmp/err & recipe=$!\n"
            "until grep -q Ctrl-C /tmp/err; do sleep 0.2; done\n"
            f"{ASK.replace(f'{TID:#x}', '1')} 0,1 >/dev/null; kill -TERM $recipe; wait $recipe; cat /tmp/out; rm /tmp/out /tmp/err")
        assert "recv" in text
        assert left_behind(stock) == ""

    def test_ended_at_any_point(self, stock):
        stock.check(
            "for seconds in 0.1 0.3 0.6 1 1.5; do timeout $seconds "
            f"{RECIPES}/kprobes -- sleep 1 2>/dev/null; done; true")
        assert left_behind(stock) == ""

    def test_ended_while_the_instance_is_made(self, stock):
        """By a signal that mkdir gets too, when it has made it."""
        stock.check("mkdir /tmp/killed; cd /tmp/killed\n"
                    "printf '#!/bin/sh\\n/usr/bin/mkdir \"$@\"; kill -TERM $$\\n' >mkdir; chmod +x mkdir")
        status, _, err = stock.run(f"PATH=/tmp/killed:$PATH {RECIPES}/kprobes -- true")
        stock.check("rm -r /tmp/killed")
        assert status == BROKEN and "cannot make a tracing instance" in err
        assert left_behind(stock) == ""

    def test_ended_while_the_folder_is_made(self, stock):
        """By a signal that reaches all of its process group."""
        stock.check("mkdir /tmp/killed; cd /tmp/killed\n"
                    "printf '#!/bin/bash\\nmade=$(/usr/bin/mktemp \"$@\"); kill -TERM -- -$LEADER; echo \"$made\"\\n' >mktemp; "
                    "chmod +x mktemp")
        status, *_ = stock.run(f"TMPDIR=/tmp/killed setsid -w sh -c 'LEADER=$$ PATH=/tmp/killed:$PATH exec {RECIPES}/record -- true'")
        left = stock.check("ls /tmp/killed; rm -r /tmp/killed").split()
        assert status == 128 + signal.SIGTERM
        assert left == ["mktemp"]

    def test_the_status_is_passed_on(self, stock):
        for words in ("functions", "record", "bpf slowest"):
            run(stock, words, "exit 7", status=7)


def test_every_recipe_is_documented():
    scripts = {path.name for path in RECIPES.iterdir() if path.read_bytes().startswith(b"#!/bin/bash")}
    assert {literal(name) for name, *_ in rows("tracing.rst", "Recipes")} == scripts
    for name in scripts:
        shown = subprocess.run([RECIPES / name, "--help"], capture_output=True, text=True, check=True).stdout
        assert re.match(rf"{name} .*\[-- COMMAND\]: ", shown), shown
