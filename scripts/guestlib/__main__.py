# SPDX-License-Identifier: GPL-2.0
"""The command line of scripts/guest, which see."""

import argparse
import os
import shlex
import signal
import sys
import termios
import threading
from pathlib import Path

from .guest import Guest, GuestDied, GuestError, GuestTimeout, new_results, tell

# Statuses of the runner itself, in the manner of timeout(1) and env(1).
REPORT, DIED, TIMEOUT, BROKEN = 122, 123, 124, 125


def processors(text):
    """A number of processors."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("a guest has one processor at least")
    return number


def arguments():
    """The parsed command line."""
    parser = argparse.ArgumentParser(
        prog="scripts/guest",
        description="Run a command in a fresh guest. Its status is passed on.",
        epilog=f"Statuses of the runner itself: {REPORT} the kernel reported a fault, {DIED} the guest died, "
               f"{TIMEOUT} the time limit passed, {BROKEN} the guest could not be started.",
    )
    parser.add_argument("--kernel", default="stock", metavar="NAME", help="the kernel to boot, see scripts/kernel")
    parser.add_argument("--smp", type=processors, default=2, metavar="N", help="processors")
    parser.add_argument("--mem", default="2G", metavar="SIZE", help="memory")
    parser.add_argument("--timeout", type=float, default=300, metavar="SECONDS", help="for boot and command together")
    parser.add_argument("--results", metavar="DIR", help="the folder that is /results in the guest")
    parser.add_argument("--no-modules", action="store_true", help="do not offer the project's modules")
    parser.add_argument("--expect-report", action="append", default=[], metavar="REGEX",
                        help="a kernel report that is no failure")
    parser.add_argument("--append", default="", metavar="WORDS", help="more kernel arguments")
    parser.add_argument("--qemu", action="append", default=[], metavar="WORD", help="one more QEMU argument")
    parser.add_argument("--icount", action="store_true",
                        help="one processor whose clock goes by instructions, a nanosecond each, to measure with")
    parser.add_argument("--shell", action="store_true", help="an interactive shell instead of a command")
    parser.add_argument("command", nargs="*", metavar="COMMAND")
    return parser.parse_args()


def shell_command():
    """The command that gives the guest's terminal to a shell."""
    size = os.get_terminal_size() if sys.stdout.isatty() else os.terminal_size((0, 0))
    term = shlex.quote(os.environ.get("TERM", "dumb"))
    # The modules are a symbolic link that is easy to miss.
    return (
        f"stty -F /dev/hvc0 rows {size.lines or 24} cols {size.columns or 80} sane 2>/dev/null\n"
        f"export TERM={term}\n"
        "exec setsid -w -c sh -c 'cd ${MODULES:-/}; exec bash -l' </dev/hvc0 >/dev/hvc0 2>&1"
    )


def run(guest, options):
    """Runs the command in a guest that is up, and returns its status."""
    if options.shell:
        tell(f"a shell in the {options.kernel} guest: modules in $MODULES, leave with 'exit'")
        return guest.run(shell_command(), timeout=options.timeout)[0]
    return guest.run("exec " + shlex.join(options.command), timeout=options.timeout)[0]


def limit(seconds):
    """Raises GuestTimeout in the main thread after so many seconds."""
    def expire(_signal, _frame):
        raise GuestTimeout(f"the time limit of {seconds:g} s passed")

    signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def main():
    """Runs the guest and returns this program's status."""
    options = arguments()
    if not options.command and not options.shell:
        tell("error: give a command, or --shell")
        return BROKEN
    if options.shell and not sys.stdin.isatty():
        tell("error: a shell needs a terminal; 'scripts/guest -- COMMAND' runs a command without one")
        return BROKEN
    results = Path(options.results) if options.results else new_results()
    guest = Guest(
        options.kernel, smp=options.smp, mem=options.mem, results=results, modules=not options.no_modules,
        expect=options.expect_report, append=options.append, qemu=options.qemu,
        live=True, shell=options.shell, icount=options.icount,
    )
    status = None
    try:
        limit(options.timeout)
        guest.start()
        status = run(guest, options)
        guest.listen()
        guest.settle()
    except GuestTimeout as error:
        tell(f"error: {error}")
        status = TIMEOUT
    except GuestDied as error:
        tell(f"error: {error}")
        status = DIED
    except GuestError as error:
        tell(f"error: {error}")
        status = BROKEN
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        guest.stop()
    for report in guest.reports():
        tell(f"error: the guest's kernel reported (command status {status}):\n{report}")
        if status != DIED and status != TIMEOUT:
            status = REPORT
    return status


def interrupted(number, _frame):
    """Turns a signal into an exit that cleans up."""
    sys.exit(128 + number)


if __name__ == "__main__":
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), interrupted)
    terminal = termios.tcgetattr(0) if sys.stdin.isatty() else None
    try:
        outcome = main()
    finally:
        if terminal is not None:
            termios.tcsetattr(0, termios.TCSADRAIN, terminal)
    sys.exit(outcome)
