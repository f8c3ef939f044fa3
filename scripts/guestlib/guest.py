# SPDX-License-Identifier: GPL-2.0
"""A guest under QEMU, with the sysroot as its userland.

    with Guest("test") as guest:
        status, out, err = guest.run("modprobe ib_umad && lsmod")

The guest is killed when the block ends, and `KernelReport` is raised if its kernel complained about
anything that was not expected.
"""

import ctypes
import os
import re
import secrets
import selectors
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from . import accel, debug, disk, initramfs, kernels, reports

SRC = Path("/src")
CACHE = kernels.CACHE

# Slow kernels under emulation need this long on a busy machine.
BOOT_SECONDS = 180


class GuestError(Exception):
    """The guest did not do what it was asked."""


class GuestTimeout(GuestError):
    """A command, or the guest, took longer than it may."""


class GuestDied(GuestError):
    """QEMU ended while a command ran, or before the guest was up."""


class KernelReport(GuestError):
    """The guest's kernel reported a fault."""


def tell(message):
    """Prints a progress line like those of the shell scripts."""
    seconds = int(time.time()) - int(os.environ.get("IB_SMI_T0", int(time.time())))
    print(f"[{seconds // 60:2}:{seconds % 60:02}] {message}", file=sys.stderr, flush=True)


def die_with_parent():
    """Asks the kernel to kill this process when its parent dies, however that happens."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def kernel_release(kind):
    """The release name of a kernel that was prepared."""
    found = kernels.folder(kind) / kind / "include/config/kernel.release"
    if not found.exists():
        raise GuestError(f"the {kind} kernel is not set up: run scripts/kernel {kind}")
    return found.read_text().strip()


def new_results(name=None):
    """A fresh folder for what a guest leaves behind."""
    name = name or time.strftime("%Y%m%d-%H%M%S")
    base = SRC / "build" / "results"
    folder, number = base / name, 1
    while True:
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            number += 1
            folder = base / f"{name}.{number}"


class Stream:
    """One of the guest's outputs, whose end for a command shows as a mark within it."""

    def __init__(self, sock, sink):
        self.sock = sock
        self.sink = sink
        self.pending = b""
        self.collected = bytearray()

    def feed(self, data, mark):
        """Takes bytes from the guest. True when the mark was among them."""
        self.pending += data
        before, found, after = self.pending.partition(mark)
        if found:
            self.emit(before)
            self.pending = after
            return True
        # What may be the beginning of the mark waits for the rest of it.
        keep = next((n for n in range(min(len(mark), len(before)), 0, -1) if mark.startswith(before[-n:])), 0)
        self.emit(before[: len(before) - keep])
        self.pending = before[len(before) - keep :]
        return False

    def emit(self, data):
        """Passes on bytes of the command's own output."""
        if not data:
            return
        self.collected += data
        if self.sink is not None:
            self.sink.write(data)
            self.sink.flush()


class Guest:
    """A running guest. See the module's text for its use."""

    def __init__(self, kind="stock", *, smp=2, mem="2G", results=None, modules=True, expect=(),
                 append="", qemu=(), live=False, shell=False, icount=False, warm=False):
        self.kind = kind
        self.smp = 1 if icount else smp
        self.icount = icount
        self.mem = mem
        self.modules = modules
        self.expect = list(expect)
        self.append = append
        self.qemu = list(qemu)
        self.live = live
        self.shell = shell
        self.warm = warm
        self.results = Path(results) if results else new_results()
        self.results.mkdir(parents=True, exist_ok=True)
        self.commands = self.results / ".commands"
        self.console_log = self.results / "console.log"
        self.process = None
        self.control = None
        self.answers = b""
        self.streams = {}
        self.count = 0
        self.died = False
        self.last_words = []

    # Starting and stopping.

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, value, trace):
        self.listen()
        self.settle()
        self.stop()
        # A report explains a failure better than the failure that came of it.
        found = self.reports()
        if found:
            raise KernelReport("the guest's kernel reported:\n" + "\n\n".join(found))

    def start(self):
        """Boots, and returns when the guest can run commands.

        Under emulation QEMU was seen to die now and then while a guest boots, and a guest to stand still
        while it looked for its disks, before it had anything of ours: that is said, and tried once more.
        """
        try:
            self.boot(BOOT_SECONDS / 2)
        except (GuestDied, GuestTimeout) as error:
            tell(f"NOTE: the guest did not boot, once more: {error}")
            self.died = False
            self.answers = b""
            self.boot(BOOT_SECONDS)
        if self.modules:
            debug.prepare(self)

    @property
    def watches_itself(self):
        """Whether the kernel looks for faults of its own."""
        return self.kind in debug.KERNELS

    def patience(self, seconds):
        """How long this kernel may take for what takes others so long."""
        return seconds * debug.SLOWNESS.get(self.kind, 1)

    def boot(self, seconds):
        """Boots, and returns when the guest can run commands, for which it has so many seconds."""
        shutil.rmtree(self.commands, ignore_errors=True)
        self.commands.mkdir()
        self.console_log.write_bytes(b"")
        ours, theirs = {}, {}
        for name in ("control", "stdout", "stderr"):
            ours[name], theirs[name] = socket.socketpair()
        self.control = ours["control"]
        sinks = (sys.stdout.buffer, sys.stderr.buffer) if self.live else (None, None)
        for name, sink in zip(("stdout", "stderr"), sinks):
            self.streams[name] = Stream(ours[name], sink)
        command = self.command_line({name: sock.fileno() for name, sock in theirs.items()})
        (self.results / "qemu.cmd").write_text(shlex.join(command) + "\n")
        self.process = subprocess.Popen(
            command,
            stdin=None if self.shell else subprocess.DEVNULL,
            stdout=None if self.shell else subprocess.DEVNULL,
            stderr=(self.results / "qemu.log").open("wb"),
            pass_fds=[sock.fileno() for sock in theirs.values()],
            preexec_fn=die_with_parent,
            # Of its own, so that Ctrl-C reaches this program first.
            start_new_session=True,
        )
        for sock in theirs.values():
            sock.close()
        try:
            self.wait_ready(self.patience(seconds))
        except BaseException:
            self.stop()
            raise

    def listen(self):
        """Asks a kernel that watches itself what it has seen. Before `settle`, for the log has some of it too."""
        if not self.watches_itself or self.died:
            return
        try:
            self.last_words = debug.last_words(self)
        except (GuestError, OSError) as error:
            # Whoever hangs here must not pass.
            self.last_words = [f"the kernel could not be asked what it has seen: {error}"]

    def settle(self):
        """Waits until the console has what the kernel said so far, which it writes in its own time.

        Otherwise a report could be looked at when half of it is there.
        """
        mark = f"guest: the end {secrets.token_hex(4)}"
        try:
            self.run(f"echo '<3>{mark}' >/dev/kmsg", timeout=5)
            deadline = time.monotonic() + 5
            while mark not in self.console and time.monotonic() < deadline:
                time.sleep(0.02)
        except (GuestError, OSError):
            # A guest that is dead or does not answer says no more.
            pass

    def stop(self):
        """Kills the guest. What it wrote to its results folder is already there."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for sock in (self.control, *(stream.sock for stream in self.streams.values())):
            if sock is not None:
                sock.close()
        shutil.rmtree(self.commands, ignore_errors=True)

    def command_line(self, fds):
        """QEMU's command line. `fds` are its ends of the three sockets."""
        vmlinux = Path("/boot") / f"vmlinux-{self.kind}"
        release = kernel_release(self.kind)
        if not vmlinux.exists():
            raise GuestError(f"the {self.kind} kernel is not set up: run scripts/kernel {self.kind}")
        command = [
            "qemu-system-x86_64", "-nodefaults", "-display", "none", "-no-reboot", "-machine", "q35",
            *(accel.INSTRUCTIONS if self.icount else accel.choose(vmlinux, CACHE, tell)),
            "-smp", str(self.smp), "-m", str(self.mem),
            "-kernel", str(vmlinux), "-initrd", str(initramfs.build(release, CACHE)),
            "-append", self.kernel_arguments(),
            "-chardev", f"file,id=console,path={self.console_log},append=on", "-serial", "chardev:console",
            "-drive", f"file={disk.build(CACHE, tell)},format=raw,if=none,id=root,readonly=on,file.locking=off",
            "-device", "virtio-blk-pci,drive=root",
            "-device", "virtio-rng-pci",
            "-device", "virtio-serial-pci",
        ]
        for name, fd in fds.items():
            command += ["-chardev", f"socket,id={name},fd={fd}",
                        "-device", f"virtserialport,chardev={name},name={name}"]
        if self.shell:
            command += ["-chardev", "stdio,id=tty,signal=off", "-device", "virtconsole,chardev=tty"]
        for tag, path, options in self.shares():
            command += ["-virtfs", f"local,path={path},mount_tag={tag},security_model=none,multidevs=remap{options}"]
        return command + self.qemu

    def shares(self):
        """The folders that the guest sees, as (tag, path, options)."""
        found = [("modules", "/usr/lib/modules", ",readonly=on"), ("src", SRC, ",readonly=on"), ("results", self.results, "")]
        if Path("/shared").is_dir():
            found.append(("shared", "/shared", ",readonly=on"))
        return found

    def kernel_arguments(self):
        """The kernel's command line."""
        words = [
            "console=ttyS0 loglevel=7 panic=-1 nokaslr mitigations=off random.trust_cpu=1",
            "tsc=reliable no_timer_check nomodeset audit=0",
        ]
        # Waiting for RCU is much of what tests do. Where it is measured, it takes what it takes.
        if not self.icount:
            words.append("rcupdate.rcu_expedited=1")
        if self.modules:
            words.append(f"ibsmi.kind={self.kind}")
        if Path("/shared").is_dir():
            words.append("ibsmi.shared")
        if self.warm:
            words.append("ibsmi.warm")
        if self.watches_itself:
            words.append(debug.ARGUMENTS)
        return " ".join(words + [self.append]).strip()

    # Talking to the agent.

    def wait_ready(self, patience):
        """Waits for the agent's first line."""
        deadline = time.monotonic() + patience
        while True:
            line = self.read_answer(deadline, b"\0none")
            if line is None:
                raise GuestTimeout(f"the guest was not up after {patience} s\n{self.tail()}")
            if line == "ready":
                return

    def run(self, command, timeout=120):
        """Runs a shell command and returns its (status, stdout, stderr).

        The time is what a kernel needs that does not watch itself.
        """
        timeout = self.patience(timeout)
        self.count += 1
        number, mark = self.count, f"<{secrets.token_hex(12)}>\n"
        (self.commands / str(number)).write_text(command + "\n")
        for stream in self.streams.values():
            stream.collected.clear()
        began = time.monotonic()
        self.control.sendall(f"{number} {mark.strip()} {max(1, int(timeout))}\n".encode())
        # The guest ends the command itself. Only a guest that hangs meets this deadline.
        line = self.read_answer(began + timeout + 15, mark.encode())
        outputs = [stream.collected.decode(errors="replace") for stream in self.streams.values()]
        if line is None or time.monotonic() - began >= timeout:
            if line is None:
                self.process.kill()
            raise GuestTimeout(f"not done after {timeout} s: {command}\n{''.join(outputs)}{self.tail()}")
        answered, _, status = line.partition(" ")
        if answered != str(number):
            raise GuestError(f"the agent answered '{line}' to command {number}")
        return int(status), outputs[0], outputs[1]

    def check(self, command, timeout=120):
        """Runs a shell command that must succeed, and returns its stdout."""
        status, out, err = self.run(command, timeout)
        if status:
            raise GuestError(f"status {status} of: {command}\n{out}{err}")
        return out

    def read_answer(self, deadline, mark):
        """Passes the outputs on until both have ended with `mark`, and returns the agent's line.

        None when the deadline passes first.
        """
        # The agent's first line comes with no output to wait for.
        ended = set(self.streams) if mark == b"\0none" else set()
        with selectors.DefaultSelector() as selector:
            selector.register(self.control, selectors.EVENT_READ, None)
            for name, stream in self.streams.items():
                selector.register(stream.sock, selectors.EVENT_READ, name)
                if stream.pending and stream.feed(b"", mark):
                    ended.add(name)
            while b"\n" not in self.answers or len(ended) < len(self.streams):
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                for key, _ in selector.select(left):
                    try:
                        data = key.fileobj.recv(1 << 16)
                    except ConnectionResetError:
                        data = b""
                    if not data:
                        self.died = True
                        raise GuestDied(f"the guest died\n{self.tail()}")
                    if key.data is None:
                        self.answers += data
                    elif self.streams[key.data].feed(data, mark):
                        ended.add(key.data)
        line, _, self.answers = self.answers.partition(b"\n")
        return line.decode().strip()

    # What the kernel said.

    @property
    def console(self):
        """The console log so far."""
        return self.console_log.read_text(errors="replace")

    def dmesg(self, clear=False):
        """The kernel's log, and an empty one from here on when `clear` is set."""
        return self.check("dmesg -c" if clear else "dmesg")

    def reports(self):
        """The faults that the kernel reported and that were not expected."""
        return reports.unexpected(self.console, self.expect) + self.last_words

    def tail(self, lines=15):
        """The end of the console log and of what QEMU said, for error messages."""
        said = (self.results / "qemu.log").read_text(errors="replace").strip()
        text = "\n".join(self.console.splitlines()[-lines:])
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
        return (f"QEMU: {said}\n" if said else "") + f"the console's last lines:\n{text}"
