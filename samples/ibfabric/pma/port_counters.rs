// SPDX-License-Identifier: GPL-2.0

//! Attributes PortCounters and PortCountersExtended: the same counters, narrow and wide.
//!
//! Narrow ones stay at their highest value, wide ones begin again. Counters can be written (they are
//! `RW` in sections 16.1.3.5 and 16.1.4.11), each where its bit of CounterSelect is set; tools write
//! zeros. With all ports selected a Get adds up, and a Set writes to each.

use super::{
    gmp::{
        Fault,
        PortCounters,
        PortCountersExtended,
        Value, //
    },
    Selection, //
};
use crate::counters::Field;

/// The sum of a field over the ports that are selected.
fn sum(ports: &Selection<'_>, field: Field) -> u64 {
    ports.ports().fold(0, |sum: u64, port| {
        sum.saturating_add(port.counters.read(field))
    })
}

/// The same, as far as it can be told in so many bits.
fn sum32(ports: &Selection<'_>, field: Field) -> u32 {
    u32::try_from(sum(ports, field)).unwrap_or(u32::MAX)
}

/// As above.
fn sum16(ports: &Selection<'_>, field: Field) -> u16 {
    u16::try_from(sum(ports, field)).unwrap_or(u16::MAX)
}

/// As above.
fn sum8(ports: &Selection<'_>, field: Field) -> u8 {
    u8::try_from(sum(ports, field)).unwrap_or(u8::MAX)
}

/// As above.
fn sum4(ports: &Selection<'_>, field: Field) -> u8 {
    sum8(ports, field).min(0xf)
}

/// Writes a field where a bit of the selection of counters says so.
fn write(
    ports: &Selection<'_>,
    selected: u32,
    bit: u32,
    field: Field,
    value: u64,
) -> Result<(), Fault> {
    if selected & 1 << bit != 0 {
        for port in ports.ports() {
            port.counters.write(field, value).map_err(|_| Fault::Busy)?;
        }
    }
    Ok(())
}

/// Reads PortCounters.
pub(super) fn get(ports: &Selection<'_>) -> Result<Value, Fault> {
    let mut out = PortCounters::zeroed();
    out.set_port_select(ports.select);
    out.set_symbol_errors(sum16(ports, Field::SymbolErrors));
    out.set_link_recoveries(sum8(ports, Field::LinkRecoveries));
    out.set_link_downed(sum8(ports, Field::LinkDowned));
    out.set_rcv_errors(sum16(ports, Field::RcvErrors));
    out.set_rcv_remote_physical(sum16(ports, Field::RcvRemotePhysical));
    out.set_rcv_switch_relay(sum16(ports, Field::RcvSwitchRelay));
    out.set_xmit_discards(sum16(ports, Field::XmitDiscards));
    out.set_xmit_constraint(sum8(ports, Field::XmitConstraint));
    out.set_rcv_constraint(sum8(ports, Field::RcvConstraint));
    out.set_local_integrity(sum4(ports, Field::LocalIntegrity));
    out.set_buffer_overrun(sum4(ports, Field::BufferOverrun));
    out.set_vl15_dropped(sum16(ports, Field::Vl15Dropped));
    out.set_xmit_data(sum32(ports, Field::XmitData));
    out.set_rcv_data(sum32(ports, Field::RcvData));
    out.set_xmit_packets(sum32(ports, Field::XmitPackets));
    out.set_rcv_packets(sum32(ports, Field::RcvPackets));
    out.set_qp1_dropped(sum16(ports, Field::Qp1Dropped));
    out.set_xmit_wait(sum32(ports, Field::XmitWait));
    Ok(out.0)
}

/// Writes PortCounters. Returns the new value.
pub(super) fn set(ports: &Selection<'_>, value: &Value) -> Result<Value, Fault> {
    let asked = PortCounters(*value);
    let selected = u32::from(asked.counter_select2()) << 16 | u32::from(asked.counter_select());
    let set = |bit, field, value| write(ports, selected, bit, field, value);
    set(0, Field::SymbolErrors, asked.symbol_errors().into())?;
    set(1, Field::LinkRecoveries, asked.link_recoveries().into())?;
    set(2, Field::LinkDowned, asked.link_downed().into())?;
    set(3, Field::RcvErrors, asked.rcv_errors().into())?;
    set(
        4,
        Field::RcvRemotePhysical,
        asked.rcv_remote_physical().into(),
    )?;
    set(5, Field::RcvSwitchRelay, asked.rcv_switch_relay().into())?;
    set(6, Field::XmitDiscards, asked.xmit_discards().into())?;
    set(7, Field::XmitConstraint, asked.xmit_constraint().into())?;
    set(8, Field::RcvConstraint, asked.rcv_constraint().into())?;
    set(9, Field::LocalIntegrity, asked.local_integrity().into())?;
    set(10, Field::BufferOverrun, asked.buffer_overrun().into())?;
    set(11, Field::Vl15Dropped, asked.vl15_dropped().into())?;
    set(12, Field::XmitData, asked.xmit_data().into())?;
    set(13, Field::RcvData, asked.rcv_data().into())?;
    set(14, Field::XmitPackets, asked.xmit_packets().into())?;
    set(15, Field::RcvPackets, asked.rcv_packets().into())?;
    set(17, Field::Qp1Dropped, asked.qp1_dropped().into())?;
    set(16, Field::XmitWait, asked.xmit_wait().into())?;
    get(ports)
}

/// Reads PortCountersExtended.
pub(super) fn get_extended(ports: &Selection<'_>) -> Result<Value, Fault> {
    let mut out = PortCountersExtended::zeroed();
    out.set_port_select(ports.select);
    out.set_xmit_data(sum(ports, Field::XmitData));
    out.set_rcv_data(sum(ports, Field::RcvData));
    out.set_xmit_packets(sum(ports, Field::XmitPackets));
    out.set_rcv_packets(sum(ports, Field::RcvPackets));
    out.set_unicast_xmit(sum(ports, Field::UnicastXmit));
    out.set_unicast_rcv(sum(ports, Field::UnicastRcv));
    out.set_multicast_xmit(sum(ports, Field::MulticastXmit));
    out.set_multicast_rcv(sum(ports, Field::MulticastRcv));
    Ok(out.0)
}

/// Writes PortCountersExtended. Returns the new value.
pub(super) fn set_extended(ports: &Selection<'_>, value: &Value) -> Result<Value, Fault> {
    let asked = PortCountersExtended(*value);
    let selected = u32::from(asked.counter_select());
    let set = |bit, field, value| write(ports, selected, bit, field, value);
    set(0, Field::XmitData, asked.xmit_data())?;
    set(1, Field::RcvData, asked.rcv_data())?;
    set(2, Field::XmitPackets, asked.xmit_packets())?;
    set(3, Field::RcvPackets, asked.rcv_packets())?;
    set(4, Field::UnicastXmit, asked.unicast_xmit())?;
    set(5, Field::UnicastRcv, asked.unicast_rcv())?;
    set(6, Field::MulticastXmit, asked.multicast_xmit())?;
    set(7, Field::MulticastRcv, asked.multicast_rcv())?;
    get_extended(ports)
}
