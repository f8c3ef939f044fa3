# SPDX-License-Identifier: GPL-2.0
"""SMPs for tests of subnet management agents: made, exchanged through umad in a guest, and taken apart.

Places of fields are those of the specification, by bits from the start of an attribute; nothing here
comes from the sources of the fabric.

In a guest this file is a program: it reads `MS DEVICE PORT LID HEX` lines from one pipe and writes a line
each into another, the answer in hexadecimal, or `-` when none came in so many milliseconds. It stays, for
starting it takes longer than many an SMP.
"""

import importlib.machinery
import importlib.util
import itertools
import struct
import types
from pathlib import Path

GET, SET, TRAP, REPRESS, RESPONSE = 0x01, 0x02, 0x05, 0x07, 0x81
LID_ROUTED, DIRECTED = 0x01, 0x81
PERMISSIVE = 0xFFFF

NOTICE, NODE_DESC, NODE_INFO, SWITCH_INFO, GUID_INFO, PORT_INFO, PKEY_TABLE, SLVL, VLARB, LFT, RFT, MFT = (
    0x02, 0x10, 0x11, 0x12, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1A, 0x1B)
SM_INFO, VENDOR_DIAG, LED_INFO, VENDOR, EXT_PORT_INFO = 0x20, 0x30, 0x31, 0xFF00, 0xFF90

# Status codes of the common MAD header.
OK, BAD_VERSION, BAD_METHOD, BAD_ATTRIBUTE, BAD_VALUE = 0x00, 0x04, 0x08, 0x0C, 0x1C

DOWN, INIT, ARMED, ACTIVE = 1, 2, 3, 4
POLLING, DISABLED, LINK_UP = 2, 3, 5

# name: (first bit, bits)
FIELDS = {
    PORT_INFO: {
        "mkey": (0, 64), "gid_prefix": (64, 64), "lid": (128, 16), "sm_lid": (144, 16), "cap_mask": (160, 32),
        "diag_code": (192, 16), "lease_period": (208, 16), "local_port": (224, 8), "width_enabled": (232, 8),
        "width_supported": (240, 8), "width_active": (248, 8), "speed_supported": (256, 4), "state": (260, 4),
        "phys_state": (264, 4), "down_default": (268, 4), "protect": (272, 2), "lmc": (277, 3),
        "speed_active": (280, 4), "speed_enabled": (284, 4), "mtu": (288, 4), "sm_sl": (292, 4), "vl_cap": (296, 4),
        "high_limit": (304, 8), "arb_high_cap": (312, 8), "arb_low_cap": (320, 8), "mtu_cap": (332, 4),
        "stall_count": (336, 3), "hoq_life": (339, 5), "vls": (344, 4), "mkey_violations": (352, 16),
        "pkey_violations": (368, 16), "qkey_violations": (384, 16), "guid_cap": (400, 8), "reregister": (408, 1),
        "timeout": (411, 5), "resp_time": (419, 5), "phy_errors": (424, 4), "overruns": (428, 4),
        "ext_active": (496, 4), "ext_supported": (500, 4), "ext_enabled": (507, 5),
    },
    SWITCH_INFO: {
        "linear_cap": (0, 16), "random_cap": (16, 16), "multicast_cap": (32, 16), "linear_top": (48, 16),
        "default_port": (64, 8), "primary": (72, 8), "not_primary": (80, 8), "life_time": (88, 5), "change": (93, 1),
        "opt_slvl": (94, 2), "lids_per_port": (96, 16), "pkey_cap": (112, 16), "enhanced0": (132, 1),
        "multicast_top": (144, 16),
    },
    NODE_INFO: {
        "base_version": (0, 8), "class_version": (8, 8), "type": (16, 8), "ports": (24, 8), "system_guid": (32, 64),
        "guid": (96, 64), "port_guid": (160, 64), "pkey_cap": (224, 16), "local_port": (288, 8), "vendor": (296, 24),
    },
    NOTICE: {
        "generic": (0, 1), "type": (1, 7), "producer": (8, 24), "number": (32, 16), "issuer": (48, 16),
        # Trap 128
        "lid_128": (80, 16),
        # Trap 144
        "lid_144": (96, 16), "other": (127, 1), "cap_mask": (128, 32), "desc": (175, 1),
        # Trap 256
        "lid_256": (96, 16), "dr_slid": (112, 16), "method": (128, 8), "attribute": (144, 16), "modifier": (160, 32),
        "mkey": (192, 64), "dr": (264, 1), "truncated": (265, 1), "hops": (266, 6), "path": (272, 240),
    },
}

DEBUG = "/sys/kernel/debug/ibfabric"
TIDS = itertools.count(0x51A00001)


def unpack(attribute, data):
    """The fields of an attribute's 64 bytes."""
    bits = int.from_bytes(data, "big")
    return types.SimpleNamespace(**{
        name: bits >> (512 - first - length) & (1 << length) - 1
        for name, (first, length) in FIELDS[attribute].items()})


def pack(attribute, data=bytes(64), **fields):
    """An attribute's 64 bytes with some fields changed."""
    bits = int.from_bytes(data, "big")
    for name, value in fields.items():
        first, length = FIELDS[attribute][name]
        assert value >> length == 0, name
        shift = 512 - first - length
        bits = bits & ~((1 << length) - 1 << shift) | value << shift
    return bits.to_bytes(64, "big")


def make(attribute, modifier=0, data=bytes(64), *, method=GET, path=(), mkey=0, tid=None, version=1, slid=PERMISSIVE,
         dlid=PERMISSIVE, directed=True):
    """The 256 bytes of a request, as a client hands it to umad."""
    header = struct.pack(
        ">BBBBHBBQHHIQHH28x", 1, DIRECTED if directed else LID_ROUTED, version, method, 0, 0, len(path),
        next(TIDS) if tid is None else tid, attribute, 0, modifier, mkey, slid, dlid)
    return header + data + bytes((0, *path)).ljust(64, b"\0") + bytes(64)


class Answer:
    """What came back."""

    def __init__(self, mad):
        self.mad = mad
        self.method = mad[3]
        self.direction = mad[4] >> 7
        self.status = int.from_bytes(mad[4:6], "big") & 0x7FFF
        self.tid = int.from_bytes(mad[8:16], "big")
        self.attribute, = struct.unpack_from(">H", mad, 16)
        self.modifier, self.mkey, self.slid, self.dlid = struct.unpack_from(">IQHH", mad, 20)
        self.data = mad[64:128]

    def __getattr__(self, name):
        return getattr(unpack(self.attribute, self.data), name)


STOP = "[ ! -e /tmp/sma.pid ] || { kill $(cat /tmp/sma.pid); rm -f /tmp/sma.*; }\n"
START = (
    "mkfifo /tmp/sma.in /tmp/sma.out\n"
    "setsid python3 -B /src/scripts/tests/sma.py </dev/null >/tmp/sma.log 2>&1 & echo $! >/tmp/sma.pid\n")


def exchange(guest, rows, timeout=1000):
    """Sends (device, port, lid, smp) rows one after another, and returns the answers; None for none."""
    # As many at a time as a pipe holds.
    return [answer for at in range(0, len(rows), 64) for answer in exchange_few(guest, rows[at:at + 64], timeout)]


def exchange_few(guest, rows, timeout):
    """Does so with some."""
    lines = "\n".join(f"{timeout} {device} {port} {lid} {smp.hex()}" for device, port, lid, smp in rows)
    out = guest.check(
        f"[ -e /tmp/sma.pid ] || {{\n{START}}}\n"
        f"cat >/tmp/sma.in <<'END'\n{lines}\nEND\n"
        f"timeout 100 head -n {len(rows)} /tmp/sma.out || cat /tmp/sma.log", timeout=120)
    answers = out.split()
    assert len(answers) == len(rows), out
    return [None if word == "-" else Answer(bytes.fromhex(word)) for word in answers]


def load(guest, words=""):
    """Puts a fabric up under the module."""
    guest.check(
        f"modprobe ib_umad\n{STOP}"
        "pkill -x opensm; while pgrep -x opensm >/dev/null; do sleep 0.1; done\n"
        "[ ! -d /sys/module/ibfabric ] || rmmod ibfabric\n"
        f"insmod $MODULES/ibfabric.ko {words}\n"
        "[ -d /sys/module/ib_smi ] || /src/scripts/load")


def ask(guest, *smps, device="hca0", port=1, timeout=1000):
    """Sends requests from one port."""
    return exchange(guest, [(device, port, PERMISSIVE, smp) for smp in smps], timeout)


def one(guest, *args, device="hca0", port=1, timeout=1000, **more):
    """Sends one request."""
    answer, = ask(guest, make(*args, **more), device=device, port=port, timeout=timeout)
    return answer


def change(guest, attribute, modifier=0, path=(), mkey=0, device="hca0", **fields):
    """Reads an attribute, and writes it with some fields changed. States are commands, so that they are
    left out unless asked for. Returns the answer to the Set."""
    port = 0 if device.startswith("sw") or device == "esw" else 1
    now = one(guest, attribute, modifier, path=path, mkey=mkey, device=device, port=port)
    if attribute == PORT_INFO:
        fields = {"state": 0, "phys_state": 0, "reregister": 0, **fields}
    if attribute == SWITCH_INFO:
        fields = {"change": 0, **fields}
    data = pack(attribute, now.data, **fields)
    return one(guest, attribute, modifier, data, method=SET, path=path, mkey=mkey, device=device, port=port)


def lid(guest, device):
    """The LID of a device's first port."""
    return int(guest.check(f"cat /sys/class/infiniband/{device}/ports/[01]/lid").split()[0], 16)


def guid(guest, device):
    """The node GUID of a device."""
    return int(guest.check(f"cat /sys/class/infiniband/{device}/node_guid").strip().replace(":", ""), 16)


def traps(guest, number=None):
    """The traps that were seen on wires: (microseconds, from, LRH DLID, SMP, notice)."""
    found = []
    for line in guest.check(f"cat {DEBUG}/wire").splitlines():
        when, start, _, _, dlid, data = line.split()
        smp = bytes.fromhex(data)
        if smp[1] == 0x01 and smp[3] == TRAP:
            answer = Answer(smp)
            if number in (None, answer.number):
                found.append((int(when), start, int(dlid.partition("=")[2], 16), answer))
    return found


def main():
    """The program."""
    loader = importlib.machinery.SourceFileLoader("dr_smp", str(Path(__file__).parents[1] / "dr-smp"))
    dr_smp = importlib.util.module_from_spec(importlib.util.spec_from_loader("dr_smp", loader))
    loader.exec_module(dr_smp)
    # Opened for both, so that neither ever ends.
    answers = open("/tmp/sma.out", "r+b", buffering=0)  # pylint: disable=consider-using-with
    files = {}
    for line in open("/tmp/sma.in", "r+b", buffering=0):  # pylint: disable=consider-using-with
        timeout, device, port, lid, smp = line.decode().split()
        if (device, port) not in files:
            file = dr_smp.os.open(dr_smp.find_port(device, int(port)), dr_smp.os.O_RDWR)
            files[device, port] = file, dr_smp.register(file)
        file, agent = files[device, port]
        options = types.SimpleNamespace(timeout=int(timeout), retries=0, lid=int(lid))
        # Late answers are not for this request.
        while dr_smp.select.select([file], [], [], 0)[0]:
            dr_smp.os.read(file, dr_smp.HEADER.size + 256)
        answer = dr_smp.receive(file, options) if dr_smp.post(file, agent, bytes.fromhex(smp), options) else None
        answers.write((answer.hex() if answer else "-").encode() + b"\n")


if __name__ == "__main__":
    main()
