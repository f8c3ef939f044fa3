# SPDX-License-Identifier: GPL-2.0
"""What those who are not root can reach, and what nobody gets to see: Documentation/security.rst, held against a guest.

An unprivileged user is one without groups and capabilities; a container is a root in user, mount, network and PID
namespaces of its own that such a user made.
"""

import fnmatch
import re

import pytest

import sma
from smp import make
from test_docs import literal, rows
from test_smi import VECTORS

CONTROL = "/proc/dynamic_debug/control"
TRACING = "/sys/kernel/tracing"
CONFIG = "/sys/kernel/config/ibfabric"
GROUP = 4242
NOBODY = "setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --"
# With the capabilities that let it pass over modes, root could open more, to no effect.
ROOT = "setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-dac_override,-dac_read_search --"
MEMBER = f"setpriv --reuid 1000 --regid 1000 --groups {GROUP} --no-new-privs --"
CONTAINER = f"{NOBODY} unshare --user --map-root-user --mount --net --pid --ipc --fork --mount-proc --"
# Where all that is ours is, and what of the kernel's tells of it.
PLACES = (f"/sys/kernel/debug/ib_smi /sys/kernel/debug/ibfabric {CONFIG} {TRACING}/events/ib_smi {TRACING}/trace "
          f"/sys/kernel/livepatch/ib_smi /sys/module/ib_smi /sys/module/ibfabric {CONTROL} /dev/infiniband "
          "/sys/class/infiniband/hca0/ /sys/class/infiniband_mad/ /dev/kmsg")
KEY = 0x1122334455667788


@pytest.fixture(name="guest", scope="module")
def guest_fixture(guest_stock):
    """Two HCAs and a switch under the module, and one of each kind of directory in configfs."""
    guest_stock.check(
        "modprobe ib_umad; insmod $MODULES/ibfabric.ko topology=pair capture=1000; /src/scripts/load\n"
        f"cd {CONFIG}; mkdir -p nodes/hca0/1 links/hca0:1-sw0:1 faults/hca0/1")
    return guest_stock


def files(guest):
    """Every file there is, with its mode."""
    out = guest.check(f"find -H {PLACES} -type f -printf '%m %p\\n' -o -type c -printf '%m %p\\n'")
    return {path: f"{int(mode, 8):04o}" for mode, path in (line.split(" ", 1) for line in out.splitlines())}


def reach(guest, paths, who=""):
    """What those can do with each file."""
    lines = "\n".join(paths)
    out = guest.check(f"{who} /src/scripts/tests/reach <<'END'\n{lines}\nEND")
    return {path: set(ways.split(",")) - {"-"} for path, ways in (line.rsplit(" ", 1) for line in out.splitlines())}


def table():
    """The rows of the document: pattern, modes, and what root, members and others can do."""
    kinds = {"reads": {"read"}, "writes": {"write"}, "reads, writes": {"read", "write"}, "nothing": set()}
    return [(literal(place), set(re.findall(r"0\d{3}", modes)), *(kinds[cell] for cell in cells))
            for place, modes, *cells in rows("security.rst", "Who reaches what")]


def by_row(paths):
    """The files of each row of the document: the first that fits has a file."""
    found = {}
    for path in paths:
        place = next((place for place, *_ in table() if fnmatch.fnmatchcase(path, place)), None)
        assert place is not None, f"{path} is in no row"
        found.setdefault(place, []).append(path)
    return found


def differences(guest, who, column):
    """Rows in which those can do something else than the document says."""
    there = by_row(files(guest))
    can = reach(guest, [path for paths in there.values() for path in paths], who)
    return [f"{place}: {sorted(found)} instead of {sorted(row[column])}" for place, *row in table()
            if (found := set().union(*(can[path] for path in there[place]))) != row[column]]


@pytest.fixture(name="member")
def member_fixture(guest):
    """The device files belong to a group."""
    guest.check(f"chgrp {GROUP} /dev/infiniband/*; chmod 0660 /dev/infiniband/*")
    yield guest
    guest.check("chgrp 0 /dev/infiniband/*; chmod 0600 /dev/infiniband/*")


@pytest.fixture(name="opened")
def opened_fixture(guest):
    """Everybody may enter debugfs and tracefs."""
    guest.check(f"mount -o remount,mode=755 /sys/kernel/debug; mount -o remount,mode=755 {TRACING}")
    yield guest
    guest.check(f"mount -o remount,mode=700 /sys/kernel/debug; mount -o remount,mode=700 {TRACING}")


def test_modes(guest):
    there, modes = by_row(files(guest)), files(guest)
    assert {place: {modes[path] for path in paths} for place, paths in there.items()} == {
        place: expected for place, expected, *_ in table()}
    # The other parameters of both modules are no files.
    assert guest.check("cd /sys/module; ls -d ib_smi/parameters/* ibfabric/parameters/* 2>/dev/null; true").split() == [
        "ibfabric/parameters/topology"]


@pytest.mark.parametrize("who", [NOBODY, CONTAINER], ids=["user", "container"])
def test_what_others_reach(guest, who):
    assert differences(guest, who, 3) == []


@pytest.mark.parametrize("who", [NOBODY, CONTAINER], ids=["user", "container"])
def test_what_others_reach_where_all_may_enter(opened, who):
    assert differences(opened, who, 3) == []


def test_what_a_member_of_the_group_reaches(member):
    assert differences(member, MEMBER, 2) == []


def test_what_root_reaches(guest):
    assert differences(guest, ROOT, 1) == []


@pytest.mark.parametrize("kind", ["tracefs", "debugfs", "configfs"])
def test_a_container_mounts_none_of_it(guest, kind):
    # What it may mount, it can.
    guest.check(f"{CONTAINER} mount -t tmpfs none /tmp")
    assert guest.run(f"{CONTAINER} mount -t {kind} none /tmp")[0] != 0


@pytest.mark.parametrize("what", [
    "insmod $MODULES/ib_smi.ko", "rmmod -f ib_smi", "rmmod ibfabric", "sh -c 'echo 0 >/sys/kernel/livepatch/ib_smi/enabled'",
    f"sh -c 'echo module ib_smi +p >{CONTROL}'", "rdma dev set hca0 name other", "rdma system set netns exclusive",
    f"mkdir {CONFIG}/nodes/other", f"rmdir {CONFIG}/links/hca0:1-sw0:1", "dmesg", "dmesg -n 8",
])
def test_a_container_changes_nothing(guest, what):
    assert guest.run(f"{NOBODY} {what}")[0] != 0
    assert guest.run(f"{CONTAINER} {what}")[0] != 0
    # Nor does what it tried: all is as it was.
    guest.check("test 1 = $(cat /sys/kernel/livepatch/ib_smi/enabled) && test -e /sys/class/infiniband/hca0 && rdma system | grep -q shared"
                f" && ! grep -q 'ib_smi.*=p' {CONTROL} && test -d {CONFIG}/links/hca0:1-sw0:1")


def test_a_container_sees_the_names_of_devices(guest):
    """As of any RDMA device, while the RDMA core shares them among network namespaces; and none where it does not."""
    assert "hca0" in guest.check(f"{CONTAINER} rdma dev")
    guest.check("rdma system set netns exclusive")
    try:
        assert guest.check(f"{CONTAINER} rdma dev").strip() == ""
    finally:
        guest.check("rdma system set netns shared")


PERF = """
import ctypes, os, struct
attr = ctypes.create_string_buffer(struct.pack("=IIQQQ", 2, 112, NUMBER, 1, 1 << 10), 112)
libc = ctypes.CDLL(None, use_errno=True)
file = libc.syscall(298, attr, TASK, CPU, -1, 0)
print(os.strerror(ctypes.get_errno()) if file < 0 else "opened")
"""


@pytest.mark.parametrize("who, expected", [("", "opened"), (NOBODY, "Permission denied"), (CONTAINER, "Permission denied")],
                         ids=["root", "user", "container"])
@pytest.mark.parametrize("task, cpu", [(0, -1), (-1, 0)], ids=["of itself", "of a processor"])
def test_perf(guest, who, expected, task, cpu):
    """Even who knows the event's number gets it only with the right to: kernel.perf_event_paranoid is 3, Debian's default."""
    number = guest.check(f"cat {TRACING}/events/ib_smi/ib_smi_recv/id").strip()
    program = PERF.replace("NUMBER", number).replace("TASK", str(task)).replace("CPU", str(cpu))
    assert guest.check(f"cat >/tmp/perf.py <<'END'\n{program}\nEND\n{who} python3 /tmp/perf.py").strip() == expected


# What nobody gets to see.


def key_in(text):
    """How the key shows in a text, whatever the bytes are joined by and in whichever order; none if it does not."""
    digits = re.sub(r"0x|[^0-9a-z]", "", text.lower())
    forms = [number.to_bytes(size, order).hex() for number, size in ((KEY, 8), (KEY >> 32, 4), (KEY & 0xFFFFFFFF, 4))
             for order in ("big", "little")]
    return [form for form in forms if form in digits] + [text for text in (str(KEY), oct(KEY)[2:]) if text in digits]


ADDRESS = re.compile(r"(?<![0-9a-f])(?:0x)?ffff[89a-f][0-9a-f]{11}(?![0-9a-f])")


def test_the_scanner_sees_a_key():
    assert not key_in("tid=0x1122 path={0x11,0x22,0x33}")
    for text in ("mkey 0x1122334455667788", "11 22 33 44 55 66 77 88", "8877665544332211", "{0x11,0x22,0x33,0x44}",
                 "mod=0x55667788", "1234605616436508552"):
        assert key_in(text), text
    assert ADDRESS.search("at ffff888012345678 in") and ADDRESS.search("0xffffffffc0a01234")
    assert not ADDRESS.search("drslid=0xffff drdlid=0xffffffff 0xffffffffffffffffff")


def with_key(smp):
    """The same SMP with the key as its M_Key, and all over its data."""
    return smp[:24] + KEY.to_bytes(8, "big") + smp[32:64] + KEY.to_bytes(8, "big") * 8 + smp[128:]


def lock(guest, key, now=0):
    """Gives the switch and hca1 a key, at the level at which nothing is told without it."""
    for number, path in enumerate([(1,), (1, 2)]):
        data = sma.one(guest, sma.PORT_INFO, number, path=path, mkey=now).data
        data = sma.pack(sma.PORT_INFO, data, mkey=key, protect=3, state=0, phys_state=0, reregister=0)
        answer = sma.one(guest, sma.PORT_INFO, number, data, method=sma.SET, path=path, mkey=now)
        assert answer.status == sma.OK and sma.unpack(sma.PORT_INFO, answer.data).mkey == key


@pytest.fixture(name="traffic", scope="module")
def traffic_fixture(guest):
    """SMPs with keys of every fate, with all events and messages on; and what came of it, by its source."""
    lock(guest, KEY)
    guest.check(
        f"dmesg -c >/dev/null; cd {TRACING}; echo >trace; echo 1 >events/ib_smi/enable\n"
        f"echo 'module ib_smi +pmfl' >{CONTROL}; echo 'module ibfabric +pmfl' >{CONTROL}; echo clear >/sys/kernel/debug/ib_smi/ledger")
    key = f"-y {KEY:#x}"
    rows_ = "\n".join(f"{node} {port} {with_key(smp).hex()}" for _, node, port, smp, *_ in VECTORS)
    raw = " ".join(with_key(smp).hex() for *_, smp, _, _, _ in VECTORS)
    said = guest.check(
        f"while read -r line; do echo \"$line\" >/sys/kernel/debug/ibfabric/inject; done <<'END'\n{rows_}\nEND\n"
        f"/src/scripts/dr-smp -C hca0 --timeout 100 --raw {raw} 2>&1\n"
        # What the command itself prints is its own matter.
        f"/src/scripts/smi-triage --all -- sh -c 'smpquery -C hca0 -t 200 {key} -D portinfo 0,1,2 1 >/dev/null' 2>&1\n"
        "/src/scripts/smi-triage --all -- smpquery -C hca0 -t 200 -y 0x99 -D portinfo 0,1,2 1 2>&1\n"
        f"/src/scripts/smi-triage --json -- smpquery -C hca0 -t 200 {key} -D portinfo 0,1,9 2>&1\n"
        "/src/scripts/smi-triage --ledger --all 2>&1; /src/scripts/ib-smi status 2>&1; true", timeout=600)
    lock(guest, 0, now=KEY)
    return {
        "tools": said,
        "events": guest.check(f"echo 0 >{TRACING}/events/ib_smi/enable; cat {TRACING}/trace"),
        "raw events": guest.check(f"for cpu in {TRACING}/per_cpu/cpu*; do timeout 2 cat $cpu/trace_pipe_raw; done | od -An -v -tx1 | tr -d ' \\n'"),
        "log": guest.dmesg(),
        "counted": guest.check("find /sys/kernel/debug/ib_smi -type f -exec cat {} +"),
    }


SOURCES = ("tools", "events", "raw events", "log", "counted")


@pytest.mark.parametrize("source", SOURCES)
def test_no_key_and_no_address(traffic, source):
    text = traffic[source]
    # It has what it should, of every fate.
    told = {"tools": "NOT ANSWERED", "events": "verdict=discard", "raw events": "73773000", "log": "ib_smi: recv: port=",
            "counted": "discard no-such-port"}
    assert told[source] in text
    assert key_in(text) == []
    if source != "raw events":
        assert ADDRESS.findall(text) == []


def test_an_event_has_no_pointer(guest):
    out = guest.check(f"cat {TRACING}/events/ib_smi/*/format")
    assert out.count("field:") > 5 * 20 and not re.search(r"field:[^;]*\*", out)


def test_what_others_can_read_has_neither(traffic, guest):
    out = guest.check(f"{NOBODY} sh -c 'find {PLACES} -type f -readable -exec cat {{}} + 2>/dev/null; cat /proc/modules; "
                      "grep -E \"\\[(ib_smi|ibfabric)\\]\" /proc/kallsyms'")
    assert traffic and "ib_smi" in out and "021b:fa00" in out
    assert key_in(out) == [] and ADDRESS.findall(out) == []


def test_where_root_asks_for_keys(traffic, guest):
    """What is on the wires, which is kept only with capture=; and ib_core's own events."""
    assert traffic and key_in(guest.check("cat /sys/kernel/debug/ibfabric/wire"))
    guest.check(f"cd {TRACING}; echo >trace; echo 1 >events/ib_mad/enable")
    sma.one(guest, sma.PORT_INFO, 1, path=(1, 2), mkey=KEY)
    assert key_in(guest.check(f"cd {TRACING}; echo 0 >events/ib_mad/enable; cat trace"))


def test_a_program_may_have_any_name(guest):
    """Also one that a terminal would act on, while root looks at who has a port open."""
    out = guest.check("bash -c 'printf \"a\\033[2J\" >/proc/$$/comm; exec 3</dev/infiniband/umad0; /src/scripts/ib-smi status; true'")
    assert "umad0: a\\x1b[2J (" in out and "\x1b" not in out


# Who may send, but is not root.


def ledger(guest):
    """The numbers in the first line of the ledger, and the other lines."""
    head, *lines = guest.check("cat /sys/kernel/debug/ib_smi/ledger").splitlines()
    return {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", head)}, lines


def test_a_member_asks_and_is_answered(member):
    assert "status 0x0000" in member.check(f"{MEMBER} /src/scripts/dr-smp -C hca0 0,1,2")
    assert member.run(f"{NOBODY} /src/scripts/dr-smp -C hca0 0,1,2")[0] == 3


def test_a_member_cannot_keep_others_out_of_the_ledger(member):
    before, _ = ledger(member)
    lost = make(0, 2, (1, 9))
    # All of them still wait for an answer when another asks.
    member.check(
        f"{MEMBER} /src/scripts/tests/flood hca0 2000 60000 {lost.hex()} >/dev/null & flood=$!\n"
        f"until grep -q ' entered={before['entered'] + 2000} ' /sys/kernel/debug/ib_smi/ledger; do sleep 0.2; done\n"
        "/src/scripts/dr-smp -C hca1 --tid 0xABCDE 0,1 >/dev/null; told=$?; kill $flood; exit $told", timeout=240)
    after, lines = ledger(member)
    assert after["entered"] - before["entered"] == 2001 and len(lines) <= after["size"] == 256
    assert after["evicted"] - before["evicted"] >= 2000 - 256
    assert len([line for line in lines if re.search(r"device=hca1 .*tid=0x\w*abcde .*state=answered", line)]) == 1


def test_a_member_cannot_keep_others_from_being_answered(member):
    """A flood through the switch, of what is answered; meanwhile others go through it with the usual retries."""
    smp = make(0, 2, (1, 2))
    out = member.check(
        f"{MEMBER} /src/scripts/tests/flood hca0 3000 1000 {smp.hex()} >/tmp/flood & flood=$!\n"
        "sleep 2; for try in 1 2 3 4 5; do smpquery -C hca1 -D nodedesc 0,1,1 || exit 1; cat /sys/kernel/debug/ib_smi/sw0/0/queue; done\n"
        "wait $flood; cat /tmp/flood", timeout=240)
    assert out.count("ibfabric hca0") == 5
    assert all(int(count) <= 256 for count in re.findall(r"own_waiting (\d+)", out))
    assert "answered 3000" in out
