#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0
"""A warm Python in a guest of the tests, which forks to run a script for a caller.

The caller is `python` beside this file: it writes its process number to the pipe `ask`. Arguments, environment,
folder and standard files of the script are the caller's, as /proc has them. The caller finds the number
of the script's process, or `no`, in the file NUMBER.child, and at its end its status, which is that of a
signal below zero, in NUMBER.status. The pipe NUMBER wakes it for each.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib
import os
import runpy
import select
import signal
import sys
import threading
from pathlib import Path

FOLDER = Path("/run/guest/nursery")
CLIENT = "/run/guest/bin/python3"
SCRIPTS = Path("/src/scripts")
# What the scripts of the project import.
LIBRARY = ("argparse", "ctypes", "collections", "dataclasses", "enum", "errno", "fcntl", "functools", "itertools", "json",
           "mmap", "os", "pathlib", "re", "select", "shutil", "signal", "socket", "struct", "subprocess", "tempfile",
           "textwrap", "threading", "time", "typing")
PACKAGES = ("topo", "triage", "triage/host")
# Not every kernel has them all.
IDENTITY = ("Uid", "Gid", "CapEff", "NoNewPrivs", "Seccomp")
SPACES = ("mnt", "pid", "net", "user")
# What a caller may have ignored, as a shell does for what runs in its background.
SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
PIDFD_GETFD = 438


def warm():
    """Imports what the scripts will."""
    sys.path.insert(0, str(SCRIPTS))
    names = list(LIBRARY)
    for package in PACKAGES:
        names += [f"{package.replace('/', '.')}.{file.stem}" for file in sorted((SCRIPTS / package).glob("[!_]*.py"))]
    for name in names:
        importlib.import_module(name)
    del sys.path[0]


def words(path):
    """The strings of a file in /proc, each of which a zero byte ends."""
    return [os.fsdecode(word) for word in path.read_bytes().split(b"\0")[:-1]]


def fields(proc):
    """The fields of /proc/PID/status."""
    return dict(line.split(":\t", 1) for line in (proc / "status").read_text().splitlines())


def alike(proc, of):
    """Whether a fork of this process is what an interpreter started by the caller would be."""
    if words(proc / "cmdline")[2:3] != [CLIENT]:
        # The number is of another namespace.
        return False
    mine = fields(Path("/proc/self"))
    return all(of.get(name) == mine.get(name) for name in IDENTITY) and all(
        os.readlink(proc / "ns" / space) == os.readlink(f"/proc/self/ns/{space}") for space in SPACES)


def become(proc, of, pidfd):
    """Takes over what an interpreter would have from the caller, and returns the script's arguments."""
    libc = ctypes.CDLL(None, use_errno=True)
    for number in range(3):
        taken = libc.syscall(PIDFD_GETFD, pidfd, number, 0)
        if taken < 0:
            os.close(number)
        else:
            os.dup2(taken, number)
            os.close(taken)
    with contextlib.suppress(OSError):
        # Whether it can seek is asked when it is opened, and this one may not.
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
    os.chdir(proc / "cwd")
    os.umask(int(of["Umask"], 8))
    for number in SIGNALS:
        handler = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, signal.SIG_IGN if int(of["SigIgn"], 16) & 1 << number - 1 else handler)
    os.environ.clear()
    os.environ.update(word.split("=", 1) for word in words(proc / "environ") if "=" in word)
    # busybox, sh and the path of `python` come first.
    return words(proc / "cmdline")[3:]


class Script:
    """A script that runs for a caller."""

    def __init__(self, number):
        """Forks: in the script's process `arguments` are there, and in this one they are None.

        Raises OSError when a fork would not do for this caller, who is told.
        """
        proc = Path("/proc") / number
        self.number = number
        self.arguments = None
        self.caller = None
        # Not to wait for a caller that is gone.
        self.answer = os.open(FOLDER / number, os.O_RDWR)
        try:
            self.caller = os.pidfd_open(int(number))
            of = fields(proc)
            if not alike(proc, of):
                raise PermissionError
        except OSError:
            self.tell("child", "no")
            self.close()
            raise
        self.child = os.fork()
        if self.child == 0:
            self.arguments = become(proc, of, self.caller)
            return
        self.pidfd = os.pidfd_open(self.child)
        self.tell("child", self.child)

    def tell(self, name, word):
        """Answers the caller."""
        (FOLDER / f"{self.number}.{name}").write_text(f"{word}\n", encoding="ascii")
        os.write(self.answer, b"\n")

    def close(self):
        """Closes what was opened for the caller."""
        os.close(self.answer)
        if self.caller is not None:
            os.close(self.caller)

    def abandon(self):
        """Ends the script, whose caller is gone."""
        os.kill(self.child, signal.SIGTERM)

    def end(self):
        """Tells the caller how the script ended."""
        _, ended = os.waitpid(self.child, 0)
        self.tell("status", os.waitstatus_to_exitcode(ended))
        os.close(self.pidfd)
        self.close()


class Nursery:
    """The scripts that run, and the pipe by which callers ask for more."""

    def __init__(self):
        FOLDER.mkdir(mode=0o700)
        (FOLDER / "pid").write_text(f"{os.getpid()}\n", encoding="ascii")
        os.mkfifo(FOLDER / "ask", 0o600)
        self.asked = os.open(FOLDER / "ask", os.O_RDWR)
        self.scripts = []
        # Callers that are gone, whose script was told so.
        self.gone = set()

    def serve(self):
        """Returns, in a fork each time, the arguments of a script to run."""
        while True:
            callers = [script.caller for script in self.scripts if script.caller not in self.gone]
            ready, _, _ = select.select([self.asked, *callers, *(script.pidfd for script in self.scripts)], [], [])
            for script in list(self.scripts):
                if script.pidfd in ready:
                    self.scripts.remove(script)
                    self.gone.discard(script.caller)
                    script.end()
                elif script.caller in ready:
                    self.gone.add(script.caller)
                    script.abandon()
            if self.asked in ready:
                arguments = self.begin(os.read(self.asked, 4096).decode().split())
                if arguments:
                    return arguments

    def begin(self, numbers):
        """Forks for callers. In a fork, returns the arguments of its script."""
        for number in numbers:
            with contextlib.suppress(OSError):
                script = Script(number)
                if script.arguments:
                    return self.leave(script)
                self.scripts.append(script)
        return None

    def leave(self, script):
        """In the fork of a script: closes what is not its own."""
        for other in self.scripts:
            os.close(other.pidfd)
            other.close()
        script.close()
        os.close(self.asked)
        return script.arguments


def run(arguments):
    """Runs a script, and ends without taking the interpreter down piece by piece."""
    sys.argv = arguments
    sys.path.insert(0, os.path.dirname(os.path.realpath(arguments[0])))
    status = 0
    try:
        runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as end:
        status = end.code or 0
        if not isinstance(status, int):
            print(status, file=sys.stderr)
            status = 1
    if threading.active_count() == 1:
        atexit._run_exitfuncs()
        try:
            sys.stdout.flush()
        except OSError:
            status = 120
        os._exit(status)
    sys.exit(status)


warm()
# Collecting what the forks share would copy it.
gc.freeze()
run(Nursery().serve())
