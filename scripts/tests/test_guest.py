# SPDX-License-Identifier: GPL-2.0
"""The guest runner itself: what it passes on, and what it notices."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from guestlib.guest import Guest, GuestDied, GuestTimeout, KernelReport, new_results

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
    """Runs scripts/guest with the test kernel, which boots fastest."""
    return subprocess.run(
        [SRC / "scripts/guest", "--kernel", "test", *map(str, words)],
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
        assert time.monotonic() - began < 20
        assert not any(str(tmp_path).encode() in line for line in qemus())

    def test_report_fails_the_run(self, tmp_path):
        done = runner("--results", tmp_path, "--", "sh", "-c", WRITE_WARN)
        assert done.returncode == 122
        assert "made_up+0x1/0x2" in done.stderr
        assert "command status 0" in done.stderr

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

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
    def test_signals_leave_nothing_behind(self, tmp_path, number):
        process = subprocess.Popen(
            [SRC / "scripts/guest", "--kernel", "test", "--results", tmp_path, "--", "sh", "-c", "echo up; sleep 1000"],
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
    """What a guest offers, with the test kernel."""

    def test_statuses(self, guest_test):
        for status in (0, 1, 2, 122, 124, 126, 127, 137, 200, 255):
            assert guest_test.run(f"exit {status}")[0] == status

    def test_large_outputs(self, guest_test):
        status, out, err = guest_test.run("seq 200000; seq 100000 >&2")
        assert status == 0
        assert out == "".join(f"{n}\n" for n in range(1, 200001))
        assert err == "".join(f"{n}\n" for n in range(1, 100001))

    def test_output_without_a_newline(self, guest_test):
        assert guest_test.run("printf end; printf err >&2") == (0, "end", "err")

    def test_command_timeout_spares_the_guest(self, guest_test):
        with pytest.raises(GuestTimeout):
            guest_test.run("sleep 1000", timeout=2)
        assert guest_test.run("echo alive")[1] == "alive\n"

    def test_checkout_is_read_only(self, guest_test):
        assert guest_test.run("test -f /src/Kbuild && ! touch /src/made_up")[0] == 0

    def test_root_is_writable_and_fresh(self, guest_test):
        assert guest_test.run("touch /etc/made_up && rm /etc/made_up")[0] == 0
        assert not Path("/etc/made_up").exists()

    def test_file_systems(self, guest_test):
        guest_test.check(
            "for dir in /proc /sys /dev /dev/shm /dev/pts /tmp /run /sys/kernel/debug /sys/kernel/tracing;"
            " do mountpoint -q $dir || { echo $dir >&2; exit 1; }; done"
        )

    def test_processors_and_memory(self, guest_test):
        assert guest_test.check("nproc").strip() == "2"
        assert int(guest_test.check("awk '/MemTotal/ { print $2 }' /proc/meminfo")) > 1_900_000

    def test_dmesg(self, guest_test):
        guest_test.check("echo made-up line >/dev/kmsg")
        assert "made-up line" in guest_test.dmesg(clear=True)
        assert "made-up line" not in guest_test.dmesg()

    def test_umad_device(self, guest_test):
        guest_test.check("modprobe ib_umad && test -d /sys/class/infiniband_mad")


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

    def test_report_at_the_end_of_the_block(self):
        with pytest.raises(KernelReport, match="made_up"):
            with Guest("test", results=new_results("fault-report")) as guest:
                guest.check(WRITE_WARN)

    def test_death(self):
        with pytest.raises((GuestDied, KernelReport), match="sysrq triggered crash"):
            with Guest("test", results=new_results("fault-death")) as guest:
                guest.run("echo c >/proc/sysrq-trigger; sleep 60")

    def test_real_trace(self):
        """A trace of the kernel's own making, though it is not in trouble."""
        with pytest.raises(KernelReport, match="(?s)Call Trace:.*write_sysrq_trigger"):
            with Guest("stock", results=new_results("fault-trace")) as guest:
                guest.check("echo l >/proc/sysrq-trigger")
