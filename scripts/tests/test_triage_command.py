# SPDX-License-Identifier: GPL-2.0
"""smi-triage as a command, on traces written by hand: what it reads, prints and exits with. No guest is needed."""

import json
import os
import runpy
import subprocess
import sys
import xml.etree.ElementTree
from contextlib import contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

# pylint: disable=wrong-import-position
from trace_cases import CASES, dropped_by_a_switch, lost_going_out, silence  # noqa: E402
from traces import Writer  # noqa: E402
from triage import gather, judge, ledger, live, source  # noqa: E402
from triage.scene import Scene  # noqa: E402

TRIAGE = Path(__file__).resolve().parents[1] / "smi-triage"


def run(*words, text=None, **environment):
    """Runs the command. Returns its status, output and error output."""
    done = subprocess.run([sys.executable, "-B", TRIAGE, *words], input=text, capture_output=True, text=True,
                          check=False, env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


def main(monkeypatch, capsys, *words):
    """Runs it in this process. Returns its status, output and error output."""
    monkeypatch.setattr(sys, "argv", ["smi-triage", *words])
    status = runpy.run_path(str(TRIAGE), run_name="smi-triage")["main"]()
    return (status, *capsys.readouterr())


@pytest.mark.parametrize("words, says", [
    (["--tid", "zz", "-"], "'zz' is no hexadecimal number"), (["--expect", "0xhca", "-"], "'0xhca' is no hexadecimal number"),
    (["smpquery", "-C", "hca0"], "what is -C hca0? A command stands behind --")])
def test_wrong_arguments(words, says):
    status, out, err = run(*words)
    assert (status, out) == (2, "") and says in err


def test_no_room_for_the_output():
    writer, _ = silence()
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([sys.executable, "-B", TRIAGE, "-"], input="\n".join(writer.lines), stdout=full,
                              stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1 and done.stderr.splitlines() == ["smi-triage: [Errno 28] No space left on device"]


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
    # As the clocks counter and x86-tsc have it.
    ("240000000000: ib_smi_recv: sw0\n", 1, "-:1: 240000000000 is no time in seconds: record with the clock mono"),
])
def test_what_cannot_be_judged(text, status, says):
    got, out, err = run("-", text=text)
    assert (got, out) == (status, "") and says in err


def test_what_a_terminal_would_act_on_is_escaped():
    """Anybody can name a program so, and a trace can come from anywhere."""
    writer, _ = dropped_by_a_switch()
    evil = [f"a\x1b]0;b\x07\x9b2Jc-1 {line.lstrip()}" for line in writer.lines]
    for words in ((), ("--story",), ("--all",), ("--json",)):
        status, out, err = run(*words, "-", text="\n".join(evil))
        assert status == 12 and not set(out + err) & set("\x1b\x07\x9b")
    assert "\\x1b]0;b" in run("-", text="\n".join(evil))[1]


@pytest.mark.parametrize("device", ["sw0;reboot", "$(reboot)", "`reboot`", "a\x1b[2J", "'", "|x", ">x"])
def test_a_device_that_is_no_word_of_a_shell(device):
    """Its name would be in a command that is proposed to root."""
    writer, _ = dropped_by_a_switch()
    text = "\n".join(line.replace("sw1 port", f"{device} port") for line in writer.lines)
    status, out, _ = run("-", text=text)
    assert status != 1 and "does not begin with a device" in out
    assert device not in out


@pytest.mark.parametrize("alphabet", ["ascii", "iso8859-1"])
def test_an_alphabet_without_arrows(alphabet):
    writer, _ = dropped_by_a_switch()
    status, out, err = run("-", text="\n".join(writer.lines), PYTHONIOENCODING=alphabet)
    assert (status, err) == (12, "") and r"hop 0\u21921 of 4" in out and "1 request: " in out


def in_the_ledger(monkeypatch, text):
    """Has the ledger say something, or refuse to."""
    read_text = Path.read_text

    def read(file, *args, **more):
        if file != ledger.FILE:
            return read_text(file, *args, **more)
        if isinstance(text, OSError):
            raise text
        return text

    monkeypatch.setattr(Path, "read_text", read)


# As the user guide has it.
HEAD = "{} size={} entered={} evicted=0 missed=0\n"


@pytest.mark.parametrize("text, status, says", [
    (HEAD.format("on", 256, 0), 3, "has sent no directed-route request since the module was loaded\n"),
    (HEAD.format("on", 256, 7), 3, "has sent no directed-route request since it was cleared\n"),
    (HEAD.format("off", 256, 0), 3, "the ledger is off"),
    (HEAD.format("off", 0, 0), 3, "the module was loaded with ledger=0\n"),
    (PermissionError(), 1, "the kernel is locked down"),
    (FileNotFoundError(), 1, "is the module loaded and debugfs mounted?"),
])
def test_a_ledger_without_requests(monkeypatch, capsys, text, status, says):
    in_the_ledger(monkeypatch, text)
    got, out, err = main(monkeypatch, capsys, "--ledger")
    assert (got, out) == (status, "") and says in err


def test_the_ledger_needs_root(monkeypatch, capsys):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    in_the_ledger(monkeypatch, PermissionError())
    status, out, err = main(monkeypatch, capsys, "--ledger")
    assert (status, out) == (1, "") and "needs root" in err and "locked down" not in err


def test_the_device_of_a_request_is_gone(monkeypatch, capsys):
    in_the_ledger(monkeypatch, HEAD.format("on", 4, 1) + (
        "seq=1 device=- port=1 tid=0x19 method=0x01 attr=0x0011 mod=0x0 hops=2 path=0,1,9 drdlid=0xffff timeout_ms=50 "
        "retries=0 age_us=7 state=lost last=recv@sw0:0 in=2 out=0 hop=1 verdict=discard reason=no-such-port last_us=7\n"))
    status, out, _ = main(monkeypatch, capsys, "--ledger")
    assert status == 12 and "smpquery -D nodeinfo 0,1\n" in out and "-C" not in out


def test_wrong_arguments(tmp_path):
    for words in ([], ["--watch", "soon"], ["--"], ["-", "--watch", "1s"], ["-", "--guid", "hca0"],
                  ["-", "--expect", "0xhca0"]):
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
        assert any("#cf222e" in (part.get("stroke") or "") for part in root.iter()), case.__name__
        assert f"at hop {hop}" in out


# As ibnetdiscover writes it, of a fabric with a router, with HCAs that have a cable between them, with speeds that
# the virtual fabric has not, and with one that ibnetdiscover does not know.
REAL = """#
# Topology file: generated on Mon Nov 30 08:00:00 2026
#
# Initiated from node 0000000000000010 port 0000000000000011

vendid=0x2c9
devid=0xc738
sysimgguid=0x2
switchguid=0x2(2)
Switch\t4 "S-0000000000000002"\t\t# "leaf" base port 0 lid 1 lmc 0
[1]\t"H-0000000000000010"[1](11) \t\t# "one hca0" lid 2 4xFDR10
[2]\t"R-0000000000000030"[1](31) \t\t# "gate" lid 3 4x???
[3]\t"H-0000000000000020"[1](21) \t\t# "two hca0" lid 4 4xXDR

vendid=0x2c9
devid=0x1003
sysimgguid=0x10
caguid=0x10
Ca\t2 "H-0000000000000010"\t\t# "one hca0"
[1](11) \t"S-0000000000000002"[1]\t\t# lid 2 lmc 0 "leaf" lid 1 4xFDR10
[2](12) \t"H-0000000000000020"[2] (22) \t\t# lid 0 lmc 0 "two hca0" lid 0 4xFDR s=4 w=2 v=4

vendid=0x2c9
devid=0x1003
caguid=0x20
Ca\t2 "H-0000000000000020"\t\t# "two hca0"
[1](21) \t"S-0000000000000002"[3]\t\t# lid 4 lmc 0 "leaf" lid 1 4xXDR
[2](22) \t"H-0000000000000010"[2] (12) \t\t# lid 0 lmc 0 "one hca0" lid 0 4xFDR s=4 w=2 v=4

vendid=0x8f1
devid=0x5a5a
rtguid=0x30
Rt\t2 "R-0000000000000030"\t\t# "gate"
[1](31) \t"S-0000000000000002"[2]\t\t# lid 3 lmc 0 "leaf" lid 1 4x???
"""


def test_a_fabric_as_it_is_discovered(tmp_path):
    """Its cables are read, whatever its speeds; a router answers as any node does."""
    (tmp_path / "fabric").write_text(REAL)
    words = ("--fabric", str(tmp_path / "fabric"), "--guid", "hca0=0x10", "-")
    for path, back, name in (((1, 2), (1, 1), "gate"), ((1, 3), (1, 1), "two hca0"), ((2,), (2,), "two hca0")):
        chain = (("hca0", 0, path[0]), *(("x", 0, 0) for _ in path))
        writer = Writer()
        writer.send(chain, path)
        writer.back(0, 0, (("hca0", path[0], path[0]),), back)
        for expect, expected in ((name, 0), ("leaf", 14)):
            status, out, err = run("--expect", expect, *words, text="\n".join(writer.lines))
            assert status == expected, f"{path} {expect}: {out}{err}"


def test_a_fabric_is_read_before_anything_is_recorded(tmp_path):
    (tmp_path / "bad.txt").write_text("nonsense\n")
    status, _, err = run("--fabric", str(tmp_path / "bad.txt"), "--", "touch", str(tmp_path / "ran"))
    assert status == 1 and "bad.txt:1:" in err and not (tmp_path / "ran").exists()


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
    # The path leads to the node with this description and GUID, past another.
    for expect, expected in (("two hca0", 0), ("0x20", 0), ("leaf", 14), ("0x2", 14), ("one hca0", 14), ("0x10", 14)):
        assert run("--expect", expect, *words, text="\n".join(writer.lines))[0] == expected, expect
    status, out, _ = run("--expect", "two hca0", "-", text="\n".join(writer.lines))
    assert status == 1 and "who answered 1 of them cannot be told from here, and so not whether it was two hca0" in out
    writer = Writer()
    writer.send(chain, (1, 2))
    writer.back(0, 0, chain, (3, 1))
    status, out, _ = run(*words, text="\n".join(writer.lines))
    assert status == 14 and 'entered by port 3' in out and 'leads to "leaf" by port 1' in out
    writer = Writer()
    writer.send(chain, (1, 2))
    status, out, _ = run(*words, text="\n".join(writer.lines))
    assert status == 20 and '"leaf":1' in out and "It cannot be known from here" in out


def test_what_is_under_way_at_the_end_is_not_lost(monkeypatch, tmp_path):
    """However long it takes to read the trace."""
    clock = [100.0]
    writer = Writer(start=clock[0] - 0.005)
    writer.send()
    writer.out(1, 2)
    (tmp_path / "events/ib_smi").mkdir(parents=True)

    @contextmanager
    def instance(_):
        yield tmp_path

    def read_text(file, **_):
        if file != tmp_path / "trace":
            raise FileNotFoundError
        clock[0] += 1.2
        return "\n".join(writer.lines)

    monkeypatch.setattr(live, "instance", instance)
    monkeypatch.setattr(live.time, "clock_gettime", lambda _: clock[0])
    monkeypatch.setattr(Path, "read_text", read_text)
    recording = live.watch(0, 64)
    requests, inferred = gather.gather(recording.trace.events)
    judge.judge_all(Scene(recording.trace, requests, inferred, cut=recording.cut))
    assert [request.finding.verdict for request in requests] == ["waiting"]
