# SPDX-License-Identifier: GPL-2.0
"""Steps through calls of ib_smi in a guest, and counts their instructions by function: steps.py FOLDER CALLS

FOLDER has what scripts/bench-steps leaves there: the socket `gdb` of QEMU, which speaks the debugger's remote
protocol, and `symbols`, lines of /proc/kallsyms. What is counted ends where the driver is called.
"""

import bisect
import collections
import socket
import sys
from pathlib import Path

# Where a call begins, and where what is counted ends besides where it returns.
BEGINS = ("ib_smi_handle_dr_smp_recv", "ib_smi_handle_dr_smp_send", "ib_smi_check_forward_dr_smp",
          "ib_smi_agent_send_response")
ENDS = "clock_post_send"
# The numbers of these registers in the protocol.
RSP, RIP = 7, 16
# More instructions than any call has.
MOST = 100_000


class Debugger:
    """The other end of QEMU's interface for debuggers."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.received = b""
        self.ask("?")

    def ask(self, command):
        """Sends a command and returns the answer."""
        command = command.encode()
        self.socket.sendall(b"$%s#%02x" % (command, sum(command) % 256))
        while True:
            begin = self.received.find(b"$")
            end = self.received.find(b"#", begin)
            if begin >= 0 and 0 <= end <= len(self.received) - 3:
                answer = self.received[begin + 1:end]
                self.received = self.received[end + 3:]
                self.socket.sendall(b"+")
                return answer.decode()
            more = self.socket.recv(1 << 16)
            if not more:
                sys.exit("steps.py: the guest has ended")
            self.received += more

    def register(self, number):
        """The value of a register."""
        return int.from_bytes(bytes.fromhex(self.ask(f"p{number:x}")), "little")

    def word(self, address):
        """A word of memory."""
        return int.from_bytes(bytes.fromhex(self.ask(f"m{address:x},8")), "little")

    def run_to(self, addresses):
        """Lets the guest run until it is at one of the addresses, which it returns."""
        for address in addresses:
            self.ask(f"Z1,{address:x},1")
        self.ask("vCont;c")
        for address in addresses:
            self.ask(f"z1,{address:x},1")
        return self.register(RIP)


class Symbols:
    """The functions of the kernel, by address."""

    def __init__(self, path):
        words = (line.split() for line in path.read_text().splitlines())
        self.list = sorted((int(address, 16), name) for address, _, name, *_ in words)
        self.addresses = [address for address, _ in self.list]

    def at(self, address):
        """The name of the function at an address."""
        return self.list[bisect.bisect_right(self.addresses, address) - 1][1]

    def find(self, name):
        """The address of a function."""
        return next(address for address, of in self.list if of == name)


def step(debugger, end):
    """Steps through the function that has just been called, and returns the addresses of its instructions."""
    stack = debugger.register(RSP)
    caller = debugger.word(stack)
    addresses = []
    while len(addresses) < MOST:
        address = debugger.register(RIP)
        if address == end or (address == caller and debugger.register(RSP) > stack):
            break
        addresses.append(address)
        debugger.ask("vCont;s")
    return addresses


def main():
    """Prints a table for each call."""
    folder, calls = Path(sys.argv[1]), int(sys.argv[2])
    symbols = Symbols(folder / "symbols")
    debugger = Debugger(folder / "gdb")
    begins = [symbols.find(name) for name in BEGINS]
    for _ in range(calls):
        began = debugger.run_to(begins)
        addresses = step(debugger, symbols.find(ENDS))
        print(f"{len(addresses):6}  {symbols.at(began)}, of which", flush=True)
        for name, count in collections.Counter(map(symbols.at, addresses)).most_common():
            print(f"{count:14}  {name}")


if __name__ == "__main__":
    main()
