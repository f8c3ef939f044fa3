# SPDX-License-Identifier: GPL-2.0
"""Which device and port an event concerns, on hosts with many of both, however an SMP came to be there."""

import pytest

from smp import follow, inject, make, tid_of
from test_smi import load

# All of it can go wrong on another kernel.
pytestmark = pytest.mark.kernel

# Four HCAs with two ports each, on one switch: port N of HCA M is at port 2 M + N.
TWO_PORTS = "Switch 8 \"sw\"\n" + "".join(
    f"[{2 * hca + port}] \"h{hca}\"[{port}]\n" for hca in range(4) for port in (1, 2)) + "".join(
    f"Hca 2 \"h{hca}\"\n" + "".join(f"[{port}] \"sw\"[{2 * hca + port}]\n" for port in (1, 2)) for hca in range(4))

LOW = 0x0DD5EED


@pytest.fixture(name="eight")
def eight_fixture(guest_stock):
    """Eight HCAs with a port each, and two switches."""
    load(guest_stock, "fattree leaves=1 spines=1 hosts=8")
    return guest_stock, [(f"hca{number}", 1) for number in range(8)]


@pytest.fixture(name="four")
def four_fixture(guest_stock):
    """Four HCAs with two ports each, and a switch."""
    load(guest_stock, "none")
    guest_stock.check(f"cat >/tmp/net <<'END'\n{TWO_PORTS}END\n/src/scripts/ibfabric load /tmp/net")
    names = guest_stock.check("cd /sys/class/infiniband && for d in *; do [ ! -e $d/ports/2 ] || echo $d; done").split()
    assert len(names) == 4
    yield guest_stock, [(name, port) for name in names for port in (1, 2)]
    guest_stock.check("/src/scripts/ibfabric unload")


def ask_all(guest, ports, path):
    """Asks along a path from all ports at once, with the same low word of the TID. Returns the events."""
    lines = "\n".join(f"/src/scripts/dr-smp -C {device} -P {port} --tid {LOW:#x} {path(port)} >/dev/null & all=\"$all $!\""
                      for device, port in ports)
    return follow(guest, f"all=\n{lines}\nfor one in $all; do wait $one || exit 1; done")


def check_all(events, ports):
    """Each port has asked in a TID of its own, and got its answer; nobody else has."""
    asked = {}
    for tid, told in events.items():
        assert tid & 0xFFFFFFFF == LOW
        send, = [event for event in told if event["event"] == "send"]
        place = send["device"], int(send["port"])
        assert place not in asked
        asked[place] = tid
        back = [event for event in told if event["event"] == "recv" and event["node"] == "ca"]
        assert [(event["device"], int(event["port"]), int(event["ingress"])) for event in back] == [(*place, place[1])]
    assert sorted(asked) == sorted(ports)


def test_eight_hcas_ask_with_the_same_tid(eight):
    guest, ports = eight
    check_all(ask_all(guest, ports, lambda port: "0,1"), ports)


def test_two_ports_of_four_hcas_ask_with_the_same_tid(four):
    guest, ports = four
    check_all(ask_all(guest, ports, lambda port: f"0,{port}"), ports)


@pytest.mark.parametrize("kind", ["eight", "four"])
def test_the_same_smp_comes_in_everywhere(kind, request):
    guest, ports = request.getfixturevalue(kind)
    smp = make(2, 2, (1, 2), (1, 2), tid=LOW)
    events = inject(guest, [(device, port, smp, "") for device, port in ports])[tid_of(smp)]
    for name, way in (("recv", "request"), ("reply", "response")):
        told = sorted((event["device"], int(event["port"]), int(event["ingress"]))
                      for event in events if event["event"] == name and event["way"] == way and event["node"] == "ca")
        assert told == sorted((device, port, port) for device, port in ports), name


def test_a_switch_is_port_0_whatever_port_it_comes_in_by(eight):
    guest, _ = eight
    smp = make(1, 1, (1,), tid=LOW)
    events = inject(guest, [("sw0", port, smp, "") for port in range(1, 9)])[tid_of(smp)]
    told = [(event["device"], event["port"], int(event["ingress"])) for event in events if event["event"] == "recv"
            and event["device"] == "sw0" and event["way"] == "request"]
    assert told == [("sw0", "0", port) for port in range(1, 9)]


@pytest.mark.parametrize("version", [0, 2, 0x80, 0xFF])
def test_whatever_base_version_a_client_names(eight, version):
    guest, _ = eight
    smp = bytes([version]) + make(0, 1, (1,), tid=LOW)[1:]
    out = guest.check(
        "cd /sys/kernel/tracing && echo >trace && echo 1 >events/ib_smi/enable\n"
        f"/src/scripts/dr-smp -C hca3 --timeout 100 --raw {smp.hex()}; echo 0 >events/ib_smi/enable\n"
        "grep ib_smi_send: trace")
    assert " hca3 port 1 ca request" in out
