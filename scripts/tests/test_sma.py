# SPDX-License-Identifier: GPL-2.0
"""The subnet management agents of the virtual fabric: every attribute, management keys, and traps.

What is expected comes from chapter 14.2 of the specification, and from field reports (C5, C12 to C18).
"""

import struct
import time

import pytest

from sma import (
    ACTIVE, ARMED, BAD_ATTRIBUTE, BAD_METHOD, BAD_VALUE, BAD_VERSION, DISABLED, DOWN, EXT_PORT_INFO, GET,
    GUID_INFO, INIT, LED_INFO, LFT, LINK_UP, MFT, NODE_DESC, NODE_INFO, NOTICE, OK, PERMISSIVE, PKEY_TABLE, POLLING, PORT_INFO,
    REPRESS, RESPONSE, RFT, SET, SLVL, SM_INFO, STOP, SWITCH_INFO, VENDOR, VENDOR_DIAG, VLARB, Answer, ask,
    change, exchange, guid, lid, load, make, one, pack, traps, unpack)

KEY = 0x1122334455667788

# Paths from hca0: to itself, to the switch, and over its port 2 to hca1.
HERE, SWITCH, THERE = (), (1,), (1, 2)


@pytest.fixture(name="pair")
def pair_fixture(guest_stock):
    """Two HCAs and a switch of four ports, configured, with the last packets remembered."""
    load(guest_stock, "topology=pair capture=200")
    return guest_stock


# What is asked for, how, and the status that comes back. On the switch unless told otherwise.
STATUSES = [
    ("NodeDescription", NODE_DESC, 0, GET, SWITCH, OK),
    ("NodeDescription, modifier", NODE_DESC, 1, GET, SWITCH, BAD_VALUE),
    ("Set NodeDescription", NODE_DESC, 0, SET, SWITCH, BAD_ATTRIBUTE),
    ("NodeInfo", NODE_INFO, 0, GET, SWITCH, OK),
    ("NodeInfo, modifier", NODE_INFO, 7, GET, SWITCH, BAD_VALUE),
    ("Set NodeInfo", NODE_INFO, 0, SET, SWITCH, BAD_ATTRIBUTE),
    ("SwitchInfo", SWITCH_INFO, 0, GET, SWITCH, OK),
    ("SwitchInfo of an HCA", SWITCH_INFO, 0, GET, HERE, BAD_ATTRIBUTE),
    ("Set SwitchInfo of an HCA", SWITCH_INFO, 0, SET, THERE, BAD_ATTRIBUTE),
    ("GUIDInfo, first block", GUID_INFO, 0, GET, THERE, OK),
    ("GUIDInfo, block past GUIDCap", GUID_INFO, 1, GET, THERE, BAD_VALUE),
    ("PortInfo of port 0", PORT_INFO, 0, GET, SWITCH, OK),
    ("PortInfo of the last port", PORT_INFO, 4, GET, SWITCH, OK),
    ("PortInfo past the last port", PORT_INFO, 5, GET, SWITCH, BAD_VALUE),
    ("PortInfo of port 256", PORT_INFO, 256, GET, SWITCH, BAD_VALUE),
    ("PortInfo of an HCA's port 1", PORT_INFO, 1, GET, HERE, OK),
    ("PortInfo of an HCA's port 2", PORT_INFO, 2, GET, HERE, BAD_VALUE),
    ("P_KeyTable of a switch's port 3", PKEY_TABLE, 3 << 16, GET, SWITCH, OK),
    ("P_KeyTable of a switch's port 5", PKEY_TABLE, 5 << 16, GET, SWITCH, BAD_VALUE),
    ("P_KeyTable, block past PartitionCap", PKEY_TABLE, 1, GET, SWITCH, BAD_VALUE),
    ("SLtoVL, in 1 out 2", SLVL, 1 << 8 | 2, GET, SWITCH, OK),
    ("SLtoVL, in 5", SLVL, 5 << 8 | 2, GET, SWITCH, BAD_VALUE),
    ("SLtoVL, out 5", SLVL, 1 << 8 | 5, GET, SWITCH, BAD_VALUE),
    ("SLtoVL, Get of all", SLVL, 3 << 16, GET, SWITCH, BAD_VALUE),
    ("SLtoVL of an HCA", SLVL, 0, GET, HERE, OK),
    ("VLArbitration, block 1", VLARB, 1 << 16 | 1, GET, SWITCH, OK),
    ("VLArbitration, block 4", VLARB, 4 << 16 | 1, GET, SWITCH, OK),
    ("VLArbitration, block 0", VLARB, 1, GET, SWITCH, BAD_VALUE),
    ("VLArbitration, block 5", VLARB, 5 << 16 | 1, GET, SWITCH, BAD_VALUE),
    ("VLArbitration, port 5", VLARB, 1 << 16 | 5, GET, SWITCH, BAD_VALUE),
    ("LinearForwardingTable", LFT, 0, GET, SWITCH, OK),
    ("LinearForwardingTable past the end", LFT, 0xC000 // 64, GET, SWITCH, BAD_VALUE),
    ("LinearForwardingTable of an HCA", LFT, 0, GET, HERE, BAD_ATTRIBUTE),
    ("MulticastForwardingTable", MFT, 0, GET, SWITCH, OK),
    ("MulticastForwardingTable, position past the ports", MFT, 15 << 28, GET, SWITCH, BAD_VALUE),
    ("MulticastForwardingTable, block past the end", MFT, 0x1FF, GET, SWITCH, BAD_VALUE),
    ("MulticastForwardingTable, reserved bits", MFT, 1 << 20, GET, SWITCH, BAD_VALUE),
    ("MulticastForwardingTable of an HCA", MFT, 0, GET, HERE, BAD_ATTRIBUTE),
    ("RandomForwardingTable", RFT, 0, GET, SWITCH, BAD_ATTRIBUTE),
    ("VendorDiag", VENDOR_DIAG, 0, GET, SWITCH, BAD_ATTRIBUTE),
    ("LedInfo", LED_INFO, 0, GET, SWITCH, BAD_ATTRIBUTE),
    ("Set LedInfo", LED_INFO, 0, SET, THERE, BAD_ATTRIBUTE),
    ("a vendor's attribute", VENDOR, 0, GET, SWITCH, BAD_ATTRIBUTE),
    ("Notice", NOTICE, 0, GET, SWITCH, BAD_ATTRIBUTE),
    ("a method of no class", NODE_INFO, 0, 0x0B, SWITCH, BAD_METHOD),
]


def test_statuses(pair, parts):
    smps = [make(attribute, modifier, method=method, path=path)
            for _, attribute, modifier, method, path, _ in STATUSES]
    for (name, *_, status), smp, answer in zip(STATUSES, smps, ask(pair, *smps)):
        sent = Answer(smp)
        got = answer and (answer.method, answer.direction, answer.status, answer.tid & 0xFFFFFFFF, answer.attribute,
                          answer.modifier, answer.slid, answer.dlid)
        expected = (RESPONSE, 1, status, sent.tid, sent.attribute, sent.modifier, PERMISSIVE, PERMISSIVE)
        parts.add("passed" if got == expected else "failed", f"{name}: {got}")
    answer = one(pair, NODE_INFO, path=SWITCH, version=2)
    parts.add("passed" if answer and answer.status == BAD_VERSION else "failed", "class version 2")
    parts.verify()


def test_c5_lids_of_the_route_come_back_as_they_were(pair):
    lids = {device: lid(pair, device) for device in ("hca0", "sw0", "hca1")}
    rows = [("hca0", 1, lids["sw0"], make(PORT_INFO, 2, slid=lids["hca0"])),
            ("hca0", 1, PERMISSIVE, make(NODE_INFO, path=SWITCH, dlid=lids["hca1"], mkey=KEY))]
    first, second = exchange(pair, rows)
    assert (first.slid, first.dlid, first.local_port) == (lids["hca0"], PERMISSIVE, 1)
    assert (second.slid, second.dlid, second.guid) == (PERMISSIVE, lids["hca1"], guid(pair, "hca1"))
    assert second.mkey == KEY


def test_node_info(pair):
    switch, there = ask(pair, make(NODE_INFO, path=SWITCH), make(NODE_INFO, path=THERE))
    assert (switch.base_version, switch.class_version, switch.type, switch.ports) == (1, 1, 2, 4)
    assert (switch.guid, switch.port_guid, switch.local_port) == (guid(pair, "sw0"), guid(pair, "sw0"), 1)
    assert (there.type, there.ports, there.local_port, there.guid) == (1, 1, 1, guid(pair, "hca1"))
    # C16: the port by which the question came in, not the one that it was asked about.
    assert one(pair, NODE_INFO, path=SWITCH, device="hca1").local_port == 2
    assert one(pair, PORT_INFO, 3, path=SWITCH, device="hca1").local_port == 2


def test_switch_info(pair):
    before = one(pair, SWITCH_INFO, path=SWITCH)
    assert before.linear_cap > before.linear_top and before.multicast_cap > 0 and before.random_cap == 0
    answer = change(pair, SWITCH_INFO, path=SWITCH, life_time=9, default_port=3, primary=1, not_primary=2,
                    multicast_top=0xC00F)
    assert answer.status == OK
    after = one(pair, SWITCH_INFO, path=SWITCH)
    assert (after.life_time, after.default_port, after.primary, after.not_primary) == (9, 3, 1, 2)
    assert after.multicast_top == 0xC00F
    assert (after.linear_cap, after.multicast_cap) == (before.linear_cap, before.multicast_cap)
    # Read-only, whatever is written.
    assert change(pair, SWITCH_INFO, path=SWITCH, linear_cap=5, multicast_cap=0, enhanced0=1).enhanced0 == 0
    assert one(pair, SWITCH_INFO, path=SWITCH).linear_cap == before.linear_cap
    assert change(pair, SWITCH_INFO, path=SWITCH, linear_top=before.linear_cap).status == BAD_VALUE
    assert change(pair, SWITCH_INFO, path=SWITCH, multicast_top=0x1234).status == BAD_VALUE


def test_the_top_of_the_forwarding_table_holds(pair):
    there = lid(pair, "hca1")
    by_lid = ("hca0", 1, there, make(NODE_INFO, directed=False))
    assert exchange(pair, [by_lid])[0].guid == guid(pair, "hca1")
    top = one(pair, SWITCH_INFO, path=SWITCH).linear_top
    assert change(pair, SWITCH_INFO, path=SWITCH, linear_top=there - 1).status == OK
    assert exchange(pair, [by_lid]) == [None]
    assert change(pair, SWITCH_INFO, path=SWITCH, linear_top=top).status == OK
    assert exchange(pair, [by_lid])[0].guid == guid(pair, "hca1")


def test_port_state_change(pair):
    assert change(pair, SWITCH_INFO, path=SWITCH, change=1).change == 0
    assert change(pair, PORT_INFO, 2, path=SWITCH, state=DOWN).status == OK
    assert one(pair, SWITCH_INFO, path=SWITCH).change == 1
    # 0 leaves it, 1 clears it. A state that was commanded is no change.
    assert change(pair, SWITCH_INFO, path=SWITCH, change=0).change == 1
    assert change(pair, SWITCH_INFO, path=SWITCH, change=1).change == 0
    change(pair, PORT_INFO, 2, path=SWITCH, state=ARMED)
    change(pair, PORT_INFO, 2, path=SWITCH, state=ACTIVE)
    assert one(pair, SWITCH_INFO, path=SWITCH).change == 0


def test_port_states(pair):
    def state(**fields):
        """The status of a command to port 2 of the switch, and the states after it."""
        status = change(pair, PORT_INFO, 2, path=SWITCH, **fields).status
        now = one(pair, PORT_INFO, 2, path=SWITCH)
        return status, now.state, now.phys_state

    assert state(state=ACTIVE) == (OK, ACTIVE, LINK_UP)
    assert state(state=ARMED) == (BAD_VALUE, ACTIVE, LINK_UP)
    assert state(state=INIT) == (BAD_VALUE, ACTIVE, LINK_UP)
    # Down by command, and up again by itself.
    assert state(state=DOWN) == (OK, INIT, LINK_UP)
    assert state(state=ACTIVE) == (BAD_VALUE, INIT, LINK_UP)
    assert state(state=5) == (BAD_VALUE, INIT, LINK_UP)
    assert state(state=ARMED) == (OK, ARMED, LINK_UP)
    assert state(state=ARMED) == (OK, ARMED, LINK_UP)
    assert state(state=ACTIVE) == (OK, ACTIVE, LINK_UP)
    # Both at once make no sense; neither do states of training.
    assert state(state=ACTIVE, phys_state=POLLING) == (BAD_VALUE, ACTIVE, LINK_UP)
    assert state(phys_state=4) == (BAD_VALUE, ACTIVE, LINK_UP)
    assert state(phys_state=LINK_UP) == (BAD_VALUE, ACTIVE, LINK_UP)
    # Off, told to go down, and on again.
    assert state(phys_state=DISABLED) == (OK, DOWN, DISABLED)
    assert one(pair, PORT_INFO, path=THERE) is None
    assert one(pair, PORT_INFO, device="hca1").state == DOWN
    assert state(state=DOWN) == (OK, DOWN, DISABLED)
    assert state(state=ARMED) == (BAD_VALUE, DOWN, DISABLED)
    assert state(phys_state=POLLING) == (OK, INIT, LINK_UP)
    assert one(pair, PORT_INFO, path=THERE).state == INIT
    # The free port: polling, with nobody to hear it.
    free = one(pair, PORT_INFO, 3, path=SWITCH)
    assert (free.state, free.phys_state) == (DOWN, POLLING)
    assert change(pair, PORT_INFO, 3, path=SWITCH, state=ARMED).status == BAD_VALUE


def test_c17_links_begin_in_init(guest_stock):
    load(guest_stock, "topology=pair preset=0")
    for path, modifier in ((HERE, 1), (SWITCH, 1), (SWITCH, 2), (THERE, 1)):
        answer = one(guest_stock, PORT_INFO, modifier, path=path)
        assert (answer.state, answer.phys_state) == (INIT, LINK_UP)
    assert one(guest_stock, PORT_INFO, path=HERE).lid == 0


def test_port_info_of_an_hca(pair):
    answer = change(
        pair, PORT_INFO, 1, path=THERE, lid=0x30, lmc=2, sm_lid=0x31, sm_sl=3, gid_prefix=0xFEC0000000000001,
        timeout=7, lease_period=77, mtu=3, vls=2, high_limit=5, hoq_life=9, stall_count=4, phy_errors=6, overruns=5)
    assert answer.status == OK
    now = one(pair, PORT_INFO, 1, path=THERE)
    for info in (answer, now):
        assert (info.lid, info.lmc, info.sm_lid, info.sm_sl) == (0x30, 2, 0x31, 3)
        assert (info.gid_prefix, info.timeout, info.lease_period) == (0xFEC0000000000001, 7, 77)
        assert (info.mtu, info.vls, info.high_limit, info.hoq_life, info.stall_count) == (3, 2, 5, 9, 4)
        assert (info.phy_errors, info.overruns) == (6, 5)
    sysfs = "/sys/class/infiniband/hca1/ports/1"
    text = pair.check(f"cat {sysfs}/lid {sysfs}/lid_mask_count {sysfs}/sm_lid {sysfs}/gids/0")
    assert text.split() == ["0x30", "2", "0x31", f"fec0:0000:0000:0001:{gid_half(now, pair)}"]
    # All LIDs of the LMC are its own, and none more.
    change(pair, SWITCH_INFO, path=SWITCH, linear_top=0x3F)
    block = bytearray(one(pair, LFT, 0, path=SWITCH).data)
    block[0x2F:0x35] = bytes([2] * 6)
    assert one(pair, LFT, 0, bytes(block), method=SET, path=SWITCH).data == bytes(block)
    rows = [("hca0", 1, number, make(NODE_INFO, directed=False)) for number in (0x2F, 0x30, 0x33, 0x34)]
    assert [answer is not None for answer in exchange(pair, rows)] == [False, True, True, False]


def gid_half(_, guest):
    """The second half of hca1's GID, in sysfs's spelling."""
    port_guid = f"{one(guest, NODE_INFO, path=THERE).port_guid:016x}"
    return ":".join(port_guid[at:at + 4] for at in range(0, 16, 4))


BAD_VALUES = [
    {"lid": 0}, {"lid": 0xC000}, {"lid": 0xFFFF}, {"sm_lid": 0xC000}, {"sm_lid": 0xFFFF}, {"mtu": 0}, {"mtu": 5},
    {"mtu": 15}, {"vls": 5}, {"vls": 15}, {"down_default": 3}, {"down_default": 15}, {"width_enabled": 4},
    {"width_enabled": 0x80}, {"speed_enabled": 8}, {"ext_enabled": 1}, {"state": 2}, {"state": 7}, {"phys_state": 5},
    {"phys_state": 15},
]


def test_bad_values_change_nothing(pair, parts):
    before = one(pair, PORT_INFO, 1, path=THERE)
    for fields in BAD_VALUES:
        answer = change(pair, PORT_INFO, 1, path=THERE, **{"sm_sl": 9, "timeout": 3, **fields})
        same = one(pair, PORT_INFO, 1, path=THERE).data == before.data
        good = answer is not None and answer.status == BAD_VALUE and same
        parts.add("passed" if good else "failed", f"{fields}: {answer and answer.status}, {same}")
    # What was wrong was the one value.
    answer = change(pair, PORT_INFO, 1, path=THERE, sm_sl=9, timeout=3)
    assert (answer.status, answer.sm_sl, answer.timeout) == (OK, 9, 3)
    parts.verify()


def test_widths_and_speeds(pair):
    before = one(pair, PORT_INFO, 2, path=SWITCH)
    assert before.width_supported & before.width_active and before.speed_supported & before.speed_active
    # One at a time; in force when the link comes up again.
    answer = change(pair, PORT_INFO, 2, path=SWITCH, width_enabled=1, speed_enabled=2)
    assert (answer.width_enabled, answer.speed_enabled, answer.width_active) == (1, 2, before.width_active)
    change(pair, PORT_INFO, 2, path=SWITCH, state=DOWN)
    for path, modifier in ((SWITCH, 2), (THERE, 1)):
        now = one(pair, PORT_INFO, modifier, path=path)
        assert (now.width_active, now.speed_active, now.state) == (1, 2, INIT)
    # 0 changes nothing, all ones is all that is supported.
    answer = change(pair, PORT_INFO, 2, path=SWITCH, width_enabled=0, speed_enabled=0)
    assert (answer.width_enabled, answer.speed_enabled) == (1, 2)
    answer = change(pair, PORT_INFO, 2, path=SWITCH, width_enabled=0xFF, speed_enabled=0xF)
    assert (answer.width_enabled, answer.speed_enabled) == (before.width_supported, before.speed_supported)
    # With nothing in common the link stays down.
    change(pair, PORT_INFO, 1, path=THERE, width_enabled=2)
    change(pair, PORT_INFO, 2, path=SWITCH, width_enabled=1, state=DOWN)
    now = one(pair, PORT_INFO, 2, path=SWITCH)
    assert (now.state, now.phys_state) == (DOWN, POLLING)


def test_reregistration_reaches_the_core(pair):
    # The SA client forgets its multicast groups, and the core tells all its clients: seen as an event.
    pair.check("cd /sys/kernel/tracing && echo >trace\n"
               "echo 'p:told ib_core:ib_dispatch_event event=+8($arg1):u32' >kprobe_events\n"
               "echo 1 >events/kprobes/told/enable")
    answer = change(pair, PORT_INFO, 1, path=THERE, reregister=1)
    text = pair.check("cd /sys/kernel/tracing; echo 0 >events/kprobes/told/enable; cat trace; echo >kprobe_events")
    assert answer.reregister == 1
    assert one(pair, PORT_INFO, 1, path=THERE).reregister == 0
    assert text.count("told:") == 1


def test_guid_info(pair):
    before = one(pair, GUID_INFO, path=THERE).data
    own = one(pair, NODE_INFO, path=THERE).port_guid
    assert before == own.to_bytes(8, "big") + bytes(56)
    wanted = struct.pack(">8Q", 0xBAD, 0x0200000000001111, 0, 0x0200000000003333, 0, 0, 0, 7)
    after = one(pair, GUID_INFO, 0, wanted, method=SET, path=THERE)
    # The first one is the port's for ever.
    assert after.data == own.to_bytes(8, "big") + wanted[8:]
    gids = "/sys/class/infiniband/hca1/ports/1/gids"
    pair.check(f"for i in 1 2 3 4 5; do grep -q 1111 {gids}/1 && break; sleep 0.2; done")
    text = pair.check(f"cat {gids}/1 {gids}/3 {gids}/7").split()
    assert text == ["fe80:0000:0000:0000:0200:0000:0000:1111", "fe80:0000:0000:0000:0200:0000:0000:3333",
                    "fe80:0000:0000:0000:0000:0000:0000:0007"]


def test_pkey_tables_are_each_ports_own(pair):
    first = struct.pack(">32H", 0xFFFF, 0x8001, *[0] * 30)
    second = struct.pack(">32H", 0x7FFF, 0x0002, *[0] * 30)
    assert one(pair, PKEY_TABLE, 3 << 16, first, method=SET, path=SWITCH).data == first
    assert one(pair, PKEY_TABLE, 0, second, method=SET, path=THERE).data == second
    three, four, there = ask(pair, make(PKEY_TABLE, 3 << 16, path=SWITCH), make(PKEY_TABLE, 4 << 16, path=SWITCH),
                             make(PKEY_TABLE, path=THERE))
    assert (three.data, there.data) == (first, second)
    assert four.data[:4] == bytes((0xFF, 0xFF, 0, 0))
    # Entries past the table's end do not exist.
    answer = one(pair, PKEY_TABLE, 0, bytes([0x81] * 64), method=SET, path=THERE)
    cap = one(pair, NODE_INFO, path=THERE).pkey_cap
    assert answer.data == bytes([0x81] * 2 * cap) + bytes(64 - 2 * cap)
    assert "0x8181" in pair.check("cat /sys/class/infiniband/hca1/ports/1/pkeys/1")


def test_sl_to_vl(pair):
    mapping = bytes.fromhex("76543210fedcba98")
    other = bytes.fromhex("0011223344556677")

    def read(*places):
        return [answer.data[:8] for answer in
                ask(pair, *(make(SLVL, place_in << 8 | out, path=SWITCH) for place_in, out in places))]

    default, = read((1, 2))
    assert one(pair, SLVL, 1 << 8 | 2, mapping + bytes(56), method=SET, path=SWITCH).data[:8] == mapping
    assert read((1, 2), (2, 1), (1, 3)) == [mapping, default, default]
    # All that come in, to one port; and all of both.
    assert one(pair, SLVL, 1 << 17 | 3, other + bytes(56), method=SET, path=SWITCH).status == OK
    assert read((1, 3), (4, 3), (1, 2)) == [other, other, mapping]
    assert one(pair, SLVL, 3 << 16, mapping + bytes(56), method=SET, path=SWITCH).status == OK
    assert read((1, 3), (0, 4), (4, 1)) == [mapping] * 3
    assert one(pair, SLVL, 0, other + bytes(56), method=SET, path=THERE).data[:8] == other
    assert one(pair, SLVL, 0, path=HERE).data[:8] == default


def test_vl_arbitration(pair):
    blocks = {block: bytes(byte for entry in range(32) for byte in (entry % 8, block * 16 + entry)) for block in range(1, 5)}
    for block, data in blocks.items():
        assert one(pair, VLARB, block << 16 | 2, data, method=SET, path=SWITCH).data == data
    answers = ask(pair, *(make(VLARB, block << 16 | 2, path=SWITCH) for block in blocks))
    assert [answer.data for answer in answers] == list(blocks.values())
    assert one(pair, VLARB, 1 << 16 | 1, path=SWITCH).data != blocks[1]
    # Only the low half of a lane counts.
    assert one(pair, VLARB, 1 << 16, b"\xf3\x05" * 32, method=SET, path=THERE).data == b"\x03\x05" * 32


def test_forwarding_tables(pair):
    block = bytes(range(64))
    assert one(pair, LFT, 5, block, method=SET, path=SWITCH).data == block
    assert one(pair, LFT, 5, path=SWITCH).data == block
    assert one(pair, LFT, 6, path=SWITCH).data == b"\xff" * 64
    cap = one(pair, SWITCH_INFO, path=SWITCH).linear_cap
    last, past = ask(pair, make(LFT, cap // 64 - 1, block, method=SET, path=SWITCH),
                     make(LFT, cap // 64, block, method=SET, path=SWITCH))
    assert (last.status, past.status) == (OK, BAD_VALUE)
    masks = struct.pack(">32H", *(entry * 3 & 0x1F for entry in range(32)))
    assert one(pair, MFT, 2, masks, method=SET, path=SWITCH).data == masks
    assert one(pair, MFT, 2, path=SWITCH).data == masks
    assert one(pair, MFT, 1, path=SWITCH).data == bytes(64)
    blocks = one(pair, SWITCH_INFO, path=SWITCH).multicast_cap // 32
    last, past = ask(pair, make(MFT, blocks - 1, masks, method=SET, path=SWITCH),
                     make(MFT, blocks, masks, method=SET, path=SWITCH))
    assert (last.status, past.status) == (OK, BAD_VALUE)


def test_sm_info_is_not_the_agents(pair):
    assert ask(pair, make(SM_INFO, path=SWITCH), make(SM_INFO, path=THERE)) == [None, None]


def test_c18_port_0(pair):
    before = one(pair, PORT_INFO, 0, path=SWITCH)
    assert (before.lmc, before.lid) == (0, lid(pair, "sw0"))
    # Base: no link and no LMC, whatever is written; but a LID and a subnet manager.
    answer = change(pair, PORT_INFO, 0, path=SWITCH, state=DOWN, phys_state=DISABLED, mtu=15, lmc=3, vls=5, lid=0x21,
                    sm_lid=0x22)
    assert (answer.status, answer.state, answer.lmc, answer.mtu) == (OK, before.state, 0, before.mtu)
    assert (answer.lid, answer.sm_lid) == (0x21, 0x22)
    assert [answer.status for answer in ask(
        pair, make(VLARB, 1 << 16, path=SWITCH), make(SLVL, 1 << 8, path=SWITCH))] == [BAD_VALUE] * 2
    # Enhanced: as a port of an HCA.
    pair.check("cd /sys/kernel/config/ibfabric/nodes; mkdir esw; cd esw\n"
               "echo switch >type; echo 2 >ports; echo 1 >enhanced_port0; echo 1 >live; sleep 0.5")
    try:
        assert one(pair, SWITCH_INFO, device="esw", port=0).enhanced0 == 1
        answer = change(pair, PORT_INFO, 0, device="esw", lid=0x40, lmc=2, mtu=3, vls=2, sm_lid=0x41)
        assert (answer.status, answer.lid, answer.lmc, answer.mtu, answer.vls) == (OK, 0x40, 2, 3, 2)
        assert change(pair, PORT_INFO, 0, device="esw", lid=0x40, mtu=15).status == BAD_VALUE
        assert one(pair, VLARB, 1 << 16, device="esw", port=0).status == OK
    finally:
        pair.check("rmdir /sys/kernel/config/ibfabric/nodes/esw")


def protect(guest, level, period=0, path=THERE):
    """Gives hca1 the key, and a subnet manager: hca0."""
    answer = change(guest, PORT_INFO, 0, path=path, protect=level, lease_period=period, sm_lid=lid(guest, "hca0"),
                    timeout=16, mkey_violations=0)
    data = pack(PORT_INFO, answer.data, mkey=KEY, state=0, phys_state=0)
    answer = one(guest, PORT_INFO, 0, data, method=SET, path=path)
    assert (answer.status, answer.protect) == (OK, level)
    assert unpack(PORT_INFO, answer.data).mkey == KEY


# C12 and C13: what a wrong key gets: the answer to a Get of PortInfo and the key in it, that to a Get of
# NodeInfo, and that to a Set. None is no answer at all.
@pytest.mark.parametrize("level, shown, served", [(0, KEY, True), (1, 0, True), (2, None, False), (3, None, False)])
def test_management_keys(pair, level, shown, served):
    protect(pair, level)
    wrong = [0, KEY ^ 0xFF << 56, KEY ^ 1]
    for key in wrong:
        port_info, node_info = ask(pair, make(PORT_INFO, path=THERE, mkey=key), make(NODE_INFO, path=THERE, mkey=key))
        assert (port_info and unpack(PORT_INFO, port_info.data).mkey) == shown
        assert (node_info is not None) == served
    data = pack(PORT_INFO, one(pair, PORT_INFO, path=THERE, mkey=KEY).data, state=0, phys_state=0, mkey=0)
    for key in wrong:
        assert ask(pair, make(PORT_INFO, 0, data, method=SET, path=THERE, mkey=key),
                   make(PKEY_TABLE, 0, bytes(64), method=SET, path=THERE, mkey=key)) == [None, None]
    # The right one is served and shown, and has seen nothing changed; the others were counted.
    answer = one(pair, PORT_INFO, path=THERE, mkey=KEY)
    assert unpack(PORT_INFO, answer.data).mkey == KEY
    assert answer.mkey_violations == 6 + (0 if served else 6)
    assert one(pair, PKEY_TABLE, path=THERE, mkey=KEY).data[:2] == b"\xff\xff"
    # Counters can be set to zero, and to nothing else.
    assert change(pair, PORT_INFO, path=THERE, mkey=KEY, mkey_violations=5).mkey_violations == answer.mkey_violations
    assert change(pair, PORT_INFO, path=THERE, mkey=KEY, mkey_violations=0).mkey_violations == 0


def test_a_key_is_not_checked_in_transit(pair):
    change(pair, PORT_INFO, 0, path=SWITCH, sm_lid=lid(pair, "hca0"))
    data = pack(PORT_INFO, one(pair, PORT_INFO, 0, path=SWITCH).data, state=0, phys_state=0, mkey=KEY, protect=3)
    assert one(pair, PORT_INFO, 0, data, method=SET, path=SWITCH).status == OK
    assert one(pair, PORT_INFO, 2, path=SWITCH) is None
    assert one(pair, NODE_INFO, path=THERE).guid == guid(pair, "hca1")
    # The key of a switch is that of port 0, for all of its ports.
    assert one(pair, PORT_INFO, 2, path=SWITCH, mkey=KEY).status == OK
    assert unpack(PORT_INFO, one(pair, PORT_INFO, 2, path=SWITCH, mkey=KEY).data).mkey == 0
    # A subnet manager is asked for, whatever key: there is none, but no violation either.
    before = one(pair, PORT_INFO, 0, path=SWITCH, mkey=KEY).mkey_violations
    one(pair, SM_INFO, path=SWITCH)
    assert one(pair, PORT_INFO, 0, path=SWITCH, mkey=KEY).mkey_violations == before


def test_the_lease(pair):
    # Long enough for a busy host.
    protect(pair, 2, period=8)
    # It begins with an offence, and a right key ends it.
    assert one(pair, NODE_INFO, path=THERE, timeout=200) is None
    time.sleep(1)
    assert one(pair, NODE_INFO, path=THERE, mkey=KEY).status == OK
    time.sleep(7.5)
    assert one(pair, NODE_INFO, path=THERE, timeout=200) is None
    time.sleep(9)
    # Expired: protect bits are 0, and the key is still there, to be learnt by a new subnet manager.
    answer = one(pair, PORT_INFO, path=THERE)
    assert (answer.protect, unpack(PORT_INFO, answer.data).mkey) == (0, KEY)
    # Without a period it never ends.
    protect_again = pack(PORT_INFO, answer.data, state=0, phys_state=0, protect=2, lease_period=0)
    assert one(pair, PORT_INFO, 0, protect_again, method=SET, path=THERE, mkey=KEY).status == OK
    assert one(pair, NODE_INFO, path=THERE, timeout=200) is None
    time.sleep(4)
    assert one(pair, NODE_INFO, path=THERE, timeout=200) is None


def test_c14_a_trap_does_not_tell_the_key(pair):
    protect(pair, 2)
    assert one(pair, PORT_INFO, 1, path=THERE, mkey=0xBAD) is None
    time.sleep(1)
    found = traps(pair, 256)
    _, start, dlid, trap = found[0]
    assert (start, dlid) == ("hca1:1", lid(pair, "hca0"))
    assert trap.mad[24:32] == bytes(8)
    assert KEY.to_bytes(8, "big") not in trap.mad
    notice = unpack(NOTICE, trap.data)
    assert (notice.generic, notice.type, notice.producer, notice.number) == (1, 2, 1, 256)
    assert (notice.issuer, notice.lid_256, notice.dr_slid) == (lid(pair, "hca1"), PERMISSIVE, PERMISSIVE)
    assert (notice.method, notice.attribute, notice.modifier, notice.mkey) == (GET, PORT_INFO, 1, 0xBAD)
    assert (notice.dr, notice.truncated, notice.hops) == (1, 0, 2)
    # The return path as far as the SMP had come: out of the switch by 1, out of hca1 by 1.
    assert notice.path.to_bytes(30, "big")[:4] == bytes((0, 1, 1, 0))


def test_traps_are_repeated_but_not_for_ever(pair):
    protect(pair, 2)
    assert one(pair, NODE_INFO, path=THERE) is None
    time.sleep(3)
    found = traps(pair, 256)
    assert 2 <= len(found) // 2 <= 8, "on two wires each"
    assert len({trap.tid for *_, trap in found}) == 1
    # 4.096 µs times 2^16 is 268 ms.
    times = [when for when, start, *_ in found if start == "hca1:1"]
    assert all(later - earlier >= 260_000 for earlier, later in zip(times, times[1:]))
    time.sleep(2)
    assert len(traps(pair, 256)) == len(found)
    # Any number of offences makes no more traps than that.
    ask(pair, *(make(NODE_INFO, path=THERE) for _ in range(20)), timeout=50)
    times = [when for when, start, *_ in traps(pair, 256) if start == "hca1:1"]
    assert all(later - earlier >= 260_000 for earlier, later in zip(times, times[1:]))


def test_c15_a_trap_stops_when_it_was_heard(pair):
    here, there = lid(pair, "hca0"), lid(pair, "sw0")
    change(pair, PORT_INFO, 0, path=SWITCH, sm_lid=here, timeout=18)
    # A link state change, by hca1's own hand.
    assert change(pair, PORT_INFO, 1, device="hca1", phys_state=DISABLED).state == DOWN
    time.sleep(0.2)
    _, start, dlid, trap = traps(pair, 128)[0]
    assert (start, dlid) == ("sw0:1", here)
    notice = unpack(NOTICE, trap.data)
    assert (notice.generic, notice.type, notice.producer, notice.number) == (1, 1, 2, 128)
    assert (notice.issuer, notice.lid_128) == (there, there)
    # Somebody else's does not stop it; its own does, and is not answered.
    other, own = (make(NOTICE, 0, trap.data, method=REPRESS, directed=False, tid=tid) for tid in (trap.tid + 99, trap.tid))
    assert exchange(pair, [("hca0", 1, there, other)], timeout=50) == [None]
    time.sleep(1.2)
    before = len(traps(pair, 128))
    assert before >= 2
    assert exchange(pair, [("hca0", 1, there, own)], timeout=50) == [None]
    time.sleep(4)
    assert len(traps(pair, 128)) <= before + 1, "five are sent unless it is heard"


def test_c15_heard_from_its_own_node(pair):
    change(pair, PORT_INFO, 0, path=THERE, sm_lid=lid(pair, "hca0"), timeout=18)
    pair.check("echo 'one more name' >/sys/class/infiniband/hca1/node_desc; sleep 0.2")
    trap = traps(pair, 144)[-1][-1]

    def sent():
        return sum((start, other.tid) == ("hca1:1", trap.tid) for _, start, _, other in traps(pair, 144))

    before = sent()
    heard = make(NOTICE, 0, trap.data, method=REPRESS, tid=trap.tid)
    assert ask(pair, heard, device="hca1", timeout=50) == [None]
    time.sleep(4)
    assert sent() <= min(before + 1, 4), "five are sent unless it is heard"


def test_trap_144(pair):
    change(pair, PORT_INFO, 0, path=THERE, sm_lid=lid(pair, "hca0"))
    before = one(pair, PORT_INFO, 0, path=THERE).cap_mask
    pair.check("echo 'another name' >/sys/class/infiniband/hca1/node_desc; sleep 0.5")
    assert one(pair, NODE_DESC, path=THERE).data.rstrip(b"\0\n") == b"another name"
    _, start, dlid, trap = traps(pair, 144)[0]
    assert (start, dlid) == ("hca1:1", lid(pair, "hca0"))
    notice = unpack(NOTICE, trap.data)
    assert (notice.type, notice.producer, notice.lid_144) == (4, 1, lid(pair, "hca1"))
    assert (notice.cap_mask, notice.other, notice.desc) == (before, 1, 1)
    exchange(pair, [("hca0", 1, lid(pair, "hca1"), make(NOTICE, 0, trap.data, method=REPRESS, directed=False, tid=trap.tid))],
             timeout=50)
    # A subnet manager comes: the file is kept open for a while.
    pair.check("issm=$(for f in /sys/class/infiniband_mad/issm*; do [ $(cat $f/ibdev) = hca1 ] && basename $f; done)\n"
               "sleep 2 </dev/infiniband/$issm & sleep 1.5; wait")
    masks = [unpack(NOTICE, trap.data) for *_, trap in traps(pair, 144)]
    assert any((mask.cap_mask, mask.other) == (before | 2, 0) for mask in masks)


def test_no_trap_without_a_subnet_manager(pair):
    assert one(pair, PORT_INFO, path=THERE).sm_lid == 0
    pair.check("echo someone >/sys/class/infiniband/hca1/node_desc; sleep 0.5")
    assert traps(pair) == []


def test_removal_ends_traps(pair):
    protect(pair, 2)
    assert one(pair, NODE_INFO, path=THERE) is None
    pair.check(f"{STOP}rmmod ibfabric; sleep 1")


def test_extended_port_info_of_mellanox(pair):
    """Vendor 0x2c9, attribute 0xFF90: the ports have no FDR10. Nodes of other vendors do not know it."""
    pair.check("cd /sys/kernel/config/ibfabric; mkdir nodes/swx; cd nodes/swx\n"
               "echo switch >type; echo 4 >ports; echo 0x2c9 >vendor_id; echo 1 >live; mkdir ../../links/swx:2-sw0:3")
    try:
        there = (1, 3)
        for method in (GET, SET):
            answer = one(pair, EXT_PORT_INFO, 2, path=there, method=method)
            assert (answer.method, answer.status, answer.modifier, answer.data) == (RESPONSE, OK, 2, bytes(64))
        assert one(pair, EXT_PORT_INFO, 5, path=there).status == BAD_VALUE
        assert one(pair, EXT_PORT_INFO, 2, path=SWITCH).status == BAD_ATTRIBUTE
    finally:
        pair.check("cd /sys/kernel/config/ibfabric; rmdir links/swx:2-sw0:3 nodes/swx")


def test_hostile_sets(pair):
    """Whatever is written to whatever, everybody still answers."""
    smps = []
    for attribute in (SWITCH_INFO, GUID_INFO, PORT_INFO, PKEY_TABLE, SLVL, VLARB, LFT, MFT, NODE_DESC, NOTICE, SM_INFO):
        for modifier in (0, 1, 2, 4, 0xFF, 0xFFFF, 0x10000, 0x30000, 0x7FFFFFFF, 0x80000001, 0xF00001FF, 0xFFFFFFFF):
            for byte in (0, 0xFF):
                smps.append(make(attribute, modifier, bytes([byte] * 64), method=SET, path=SWITCH))
    # Nobody waits for SM_INFO's answers.
    exchange(pair, [("hca0", 1, PERMISSIVE, smp) for smp in smps], timeout=50)
    load(pair, "topology=pair")
    assert one(pair, NODE_INFO, path=THERE).guid == guid(pair, "hca1")
