# SPDX-License-Identifier: GPL-2.0
"""The guest runner itself: what it passes on, and what it notices."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from guestlib.guest import Guest, GuestDied, GuestTimeout, KernelReport, new_results

PROCESSORS = 2
SRC = Path("/src")

# A fault for the runner to see, written to the kernel's log as the kernel would write it.
WARN = """------------[ cut here ]------------
WARNING: net/core/dev.c:1234 at made_up+0x1/0x2, CPU#0: sh/1
Call Trace:
 <TASK>
 </TASK>
---[ end trace 0000000000000000 ]---"""
WRITE_WARN = "".join(f"echo '<4>{line}' >/dev/kmsg\n" for line in WARN.splitlines())


def runner(*words, **options):
    """Runs scripts/guest."""
    return subprocess.run(
        [SRC / "scripts/guest", "--kernel", "stock", *map(str, words)],
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=180, **options,
    )


def qemus():
    """The command lines of the QEMU processes that run in this namespace."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].startswith(b"qemu-system"):
            found.append(b" ".join(words))
    return found


class TestCommandLine:
    """scripts/guest."""

    def test_passes_outputs_and_status(self, tmp_path):
        done = runner("--results", tmp_path, "--", "sh", "-c", "echo out; echo err >&2; echo again >/dev/stderr; exit 37")
        assert (done.returncode, done.stdout) == (37, "out\n")
        assert done.stderr == "err\nagain\n"
        assert "Linux version 7" in (tmp_path / "console.log").read_text()

    def test_results_come_back(self, tmp_path):
        done = runner("--results", tmp_path, "--", "sh", "-c", "echo kept >/results/note; echo kept >$RESULTS/note2")
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "note").read_text() == "kept\n"
        assert (tmp_path / "note2").read_text() == "kept\n"
        assert not (tmp_path / ".commands").exists()

    def test_arguments_arrive_as_given(self, tmp_path):
        done = runner("--results", tmp_path, "--", "printf", "[%s]", "a b", "$HOME", "'\"", "")
        assert done.stdout == "[a b][$HOME]['\"][]"

    def test_time_limit(self, tmp_path):
        began = time.monotonic()
        done = runner("--results", tmp_path, "--timeout", 8, "--", "sleep", 1000)
        assert done.returncode == 124
        assert "8 s" in done.stderr
        # To boot takes three quarters of it on a host with much else to do.
        assert time.monotonic() - began < 60
        assert not any(str(tmp_path).encode() in line for line in qemus())

    def test_report_fails_the_run(self, tmp_path):
        done = runner("--results", tmp_path, "--", "sh", "-c", WRITE_WARN)
        assert done.returncode == 122
        assert "made_up+0x1/0x2" in done.stderr
        assert "command status 0" in done.stderr

    @pytest.mark.long
    def test_expected_report(self, tmp_path):
        done = runner("--results", tmp_path, "--expect-report", "made_up", "--", "sh", "-c", WRITE_WARN + "exit 3")
        assert done.returncode == 3, done.stderr

    def test_panic(self, tmp_path):
        done = runner("--results", tmp_path, "--", "sh", "-c", "echo before; echo c >/proc/sysrq-trigger; sleep 60")
        assert done.returncode == 123
        assert done.stdout == "before\n"
        assert "the guest died" in done.stderr
        assert "sysrq triggered crash" in done.stderr

    def test_nothing_to_run(self):
        done = runner()
        assert done.returncode == 125
        assert "give a command" in done.stderr

    @pytest.mark.parametrize("number", [
        signal.SIGKILL, *(pytest.param(number, marks=pytest.mark.long) for number in (signal.SIGTERM, signal.SIGINT))])
    def test_signals_leave_nothing_behind(self, tmp_path, number):
        process = subprocess.Popen(
            [SRC / "scripts/guest", "--kernel", "stock", "--results", tmp_path, "--", "sh", "-c", "echo up; sleep 1000"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        )
        try:
            assert process.stdout.readline() == b"up\n"
            assert any(str(tmp_path).encode() in line for line in qemus())
            os.kill(process.pid, number)
            process.wait(20)
            deadline = time.monotonic() + 5
            while any(str(tmp_path).encode() in line for line in qemus()):
                assert time.monotonic() < deadline, "QEMU outlived the runner"
                time.sleep(0.1)
        finally:
            process.kill()
            process.wait()


class TestGuest:
    """What a guest offers, with Debian's kernel."""

    def test_statuses(self, guest_stock):
        for status in (0, 1, 2, 122, 124, 126, 127, 137, 200, 255):
            assert guest_stock.run(f"exit {status}")[0] == status

    def test_large_outputs(self, guest_stock):
        status, out, err = guest_stock.run("seq 200000; seq 100000 >&2")
        assert status == 0
        assert out == "".join(f"{n}\n" for n in range(1, 200001))
        assert err == "".join(f"{n}\n" for n in range(1, 100001))

    def test_output_without_a_newline(self, guest_stock):
        assert guest_stock.run("printf end; printf err >&2") == (0, "end", "err")

    def test_command_timeout_spares_the_guest(self, guest_stock):
        with pytest.raises(GuestTimeout):
            guest_stock.run("sleep 1000", timeout=2)
        assert guest_stock.run("echo alive")[1] == "alive\n"

    def test_checkout_is_read_only(self, guest_stock):
        assert guest_stock.run("test -f /src/Kbuild && ! touch /src/made_up")[0] == 0

    def test_root_is_writable_and_fresh(self, guest_stock):
        assert guest_stock.run("touch /etc/made_up && rm /etc/made_up")[0] == 0
        assert not Path("/etc/made_up").exists()

    def test_file_systems(self, guest_stock):
        guest_stock.check(
            "for dir in /proc /sys /dev /dev/shm /dev/pts /tmp /run /sys/kernel/debug /sys/kernel/tracing;"
            " do mountpoint -q $dir || { echo $dir >&2; exit 1; }; done"
        )

    def test_processors_and_memory(self, guest_stock):
        assert guest_stock.check("nproc").strip() == "2"
        assert int(guest_stock.check("awk '/MemTotal/ { print $2 }' /proc/meminfo")) > 1_900_000

    def test_dmesg(self, guest_stock):
        guest_stock.check("echo made-up line >/dev/kmsg")
        assert "made-up line" in guest_stock.dmesg(clear=True)
        assert "made-up line" not in guest_stock.dmesg()

    def test_umad_device(self, guest_stock):
        guest_stock.check("modprobe ib_umad && test -d /sys/class/infiniband_mad")


class TestStock:
    """Debian's kernel in the same guest."""

    def test_release(self, guest_stock):
        assert "Debian" in guest_stock.check("uname -v")

    def test_modules(self, guest_stock):
        guest_stock.check("modprobe ib_umad && grep -q ^ib_umad /proc/modules")

    def test_configfs(self, guest_stock):
        guest_stock.check("mountpoint -q /sys/kernel/config")

    def test_umad_node(self, guest_stock):
        """A node in /dev appears without udev. A software device has no management port, so uverbs stands in."""
        guest_stock.check(
            "modprobe ib_uverbs && modprobe rdma_rxe && ip link set lo up &&"
            " rdma link add rxe0 type rxe netdev lo && test -c /dev/infiniband/uverbs0 && rdma link del rxe0"
        )


class TestFaults:
    """Guests that end badly."""

    @pytest.mark.long
    def test_report_at_the_end_of_the_block(self):
        with pytest.raises(KernelReport, match="made_up"):
            with Guest("stock", results=new_results("fault-report")) as guest:
                guest.check(WRITE_WARN)

    @pytest.mark.long
    def test_death(self):
        with pytest.raises((GuestDied, KernelReport), match="sysrq triggered crash"):
            with Guest("stock", results=new_results("fault-death")) as guest:
                guest.run("echo c >/proc/sysrq-trigger; sleep 60")

    def test_a_boot_that_stands_still(self, monkeypatch, capfd):
        wait = Guest.wait_ready
        waits = []

        def once(guest, patience):
            waits.append(patience)
            if len(waits) == 1:
                raise GuestTimeout("made up")
            wait(guest, patience)

        monkeypatch.setattr(Guest, "wait_ready", once)
        with Guest("stock", results=new_results("fault-boot")) as guest:
            assert guest.check("echo up") == "up\n"
        assert waits[0] < waits[1] and "the guest did not boot, once more: made up" in capfd.readouterr().err

    def test_real_trace(self):
        """A trace of the kernel's own making, though it is not in trouble."""
        with pytest.raises(KernelReport, match="(?s)Call Trace:.*write_sysrq_trigger"):
            with Guest("stock", results=new_results("fault-trace")) as guest:
                guest.check("echo l >/proc/sysrq-trigger")


SCRIPT = """#!/usr/bin/env python3
import os, sys, time
print(sys.argv, sys.stdin.read(), os.environ.get("WORD"), os.getcwd(), os.umask(0), __name__, sys.path[0], flush=True)
print("to stderr", file=sys.stderr)
time.sleep(float(sys.argv[2]))
if sys.argv[1].startswith("-"):
    os.kill(os.getpid(), -int(sys.argv[1]))
    time.sleep(10)
sys.exit(int(sys.argv[1]) if sys.argv[1].isdigit() else sys.argv[1])
"""


class TestWarmPython:
    """The interpreter that forks for scripts is as one that starts for them."""

    @pytest.fixture(scope="class")
    def guest(self, guest_stock):
        guest_stock.check(f"cat >/tmp/script <<'END'\n{SCRIPT}END\nchmod +x /tmp/script")
        guest_stock.check("while [ ! -e /run/guest/nursery/ask ]; do sleep 0.2; done")
        return guest_stock

    def both(self, guest, command):
        """What a command does with a warm interpreter, which is checked to be what it does with a cold one."""
        warm = guest.run(f"cd /usr; umask 027; {command}")
        assert warm == guest.run(f"PATH=${{PATH#*:}}; cd /usr; umask 027; {command}")
        return warm

    @pytest.mark.parametrize("end", ["0", "3", "255", "words", "-9", "-15", "-1"])
    def test_end(self, guest, end):
        status, out, err = self.both(guest, f"echo in | WORD='a b' /tmp/script {end} 0 ' x  y' '' 'ü'")
        assert "in\n a b /usr 23 __main__ /tmp" in out and "to stderr" in err
        wanted = int(end) if end.isdigit() else 128 - int(end) if end.startswith("-") else 1
        assert status == wanted

    def test_interrupted(self, guest):
        status, _, err = guest.run("/tmp/script -2 0 </dev/null")
        assert status == 130 and err.rstrip().endswith("KeyboardInterrupt")

    def test_signals_are_passed_on(self, guest):
        assert guest.run("timeout -s TERM 2 /tmp/script 0 60 </dev/null")[0] == 124
        assert guest.run("timeout -s KILL 2 /tmp/script 0 60 </dev/null")[0] == 137
        # Once an abandoned script has ended, the nursery is alone.
        guest.check("for i in 1 2 3 4 5 6 7 8 9 10; do [ $(pgrep -cf nursery.py) = 1 ] && exit; sleep 0.5; done; false")

    @pytest.mark.long
    def test_its_input_is_the_callers(self, guest):
        """At whatever moment it looks for it."""
        guest.check("echo 'import sys; print(sys.stdin.read() * 2, end=str())' >/tmp/twice.py")
        many = "for i in $(seq 25); do echo $i | python3 /tmp/twice.py; done"
        out = guest.check(f"for n in 1 2 3 4 5 6; do ({many}) >/tmp/twice.$n & done; wait; cat /tmp/twice.?", timeout=240)
        assert out == "".join(f"{i}\n{i}\n" for i in range(1, 26)) * 6

    def test_what_wakes_is_no_answer(self, guest):
        """A wake at any moment, as when a wait ends in the middle of one, leaves the status what it is."""
        wake = "for pipe in /run/guest/nursery/[0-9]*; do [ ! -p $pipe ] || echo 1<>$pipe; done"
        assert guest.run(f"/tmp/script 3 4 </dev/null & sleep 1; {wake}; sleep 1; {wake}; wait $!")[0] == 3

    def test_others_have_their_own(self, guest):
        """Where a fork would not be what the caller asked for."""
        for wrap in ("unshare -n", "unshare -pf", "setpriv --reuid=65534 --clear-groups", "env PYTHONPATH= python3 -B"):
            assert self.both(guest, f"{wrap} /tmp/script 7 0 </dev/null")[0] == 7
