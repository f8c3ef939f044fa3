// SPDX-License-Identifier: GPL-2.0

//! The wire format of performance management and its attributes.
//!
//! C header: [`include/rdma/ib_pma.h`](srctree/include/rdma/ib_pma.h)

use crate::view::wire_view;

/// Performance management.
pub(super) const CLASS: u8 = 0x04;

/// Reads an attribute.
pub(super) const METHOD_GET: u8 = 0x01;
/// Writes an attribute.
pub(super) const METHOD_SET: u8 = 0x02;
/// Tells that something happened; meant for a manager.
pub(super) const METHOD_TRAP: u8 = 0x05;
/// Answers a trap.
pub(super) const METHOD_TRAP_REPRESS: u8 = 0x07;
/// Answers a Get or Set.
pub(super) const METHOD_GET_RESP: u8 = 0x81;
/// Set in the methods of answers.
pub(super) const METHOD_RESPONSE: u8 = 0x80;

/// Attribute ClassPortInfo.
pub(super) const CLASS_PORT_INFO: u16 = 0x0001;
/// Attribute PortCounters.
pub(super) const PORT_COUNTERS: u16 = 0x0012;
/// Attribute PortCountersExtended.
pub(super) const PORT_COUNTERS_EXTENDED: u16 = 0x001d;

/// The value of an attribute.
pub(super) type Value = [u8; 192];

/// What is wrong with a request, with the number of the status field (section 13.4.7).
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(super) enum Fault {
    /// A version that is not known here.
    Version = 0x0004,
    /// A method that is not known here.
    Method = 0x0008,
    /// An attribute that is not known here, or not with this method.
    Attribute = 0x000c,
    /// An attribute with an invalid value.
    Value = 0x001c,
    /// Not now.
    Busy = 0x0001,
}

wire_view! {
    /// A datagram of the class.
    Gmp[256] {
        /// Version of the datagram.
        base_version, set_base_version: u8(0);
        /// Class.
        class, set_class: u8(1);
        /// Version of the class.
        class_version, set_class_version: u8(2);
        /// Method.
        method, set_method: u8(3);
        /// Status.
        status, set_status: u16(4);
        /// Attribute.
        attribute, set_attribute: u16(16);
        /// The attribute's value.
        data, set_data: bytes(64, 192);
    }
}

wire_view! {
    /// Attribute ClassPortInfo.
    ClassPortInfo[192] {
        /// Version of the datagrams.
        base_version, set_base_version: u8(0);
        /// Version of the class.
        class_version, set_class_version: u8(1);
        /// What the agent can do.
        capability_mask, set_capability_mask: u16(2);
        /// How long an answer may take, by its code.
        response_time, set_response_time: bits(7, 0, 5);
    }
}

wire_view! {
    /// Attribute PortCounters.
    PortCounters[192] {
        /// The port.
        port_select, set_port_select: u8(1);
        /// Which counters a Set is about.
        counter_select, set_counter_select: u16(2);
        /// SymbolErrorCounter.
        symbol_errors, set_symbol_errors: u16(4);
        /// LinkErrorRecoveryCounter.
        link_recoveries, set_link_recoveries: u8(6);
        /// LinkDownedCounter.
        link_downed, set_link_downed: u8(7);
        /// PortRcvErrors.
        rcv_errors, set_rcv_errors: u16(8);
        /// PortRcvRemotePhysicalErrors.
        rcv_remote_physical, set_rcv_remote_physical: u16(10);
        /// PortRcvSwitchRelayErrors.
        rcv_switch_relay, set_rcv_switch_relay: u16(12);
        /// PortXmitDiscards.
        xmit_discards, set_xmit_discards: u16(14);
        /// PortXmitConstraintErrors.
        xmit_constraint, set_xmit_constraint: u8(16);
        /// PortRcvConstraintErrors.
        rcv_constraint, set_rcv_constraint: u8(17);
        /// The part of CounterSelect that did not fit.
        counter_select2, set_counter_select2: u8(18);
        /// LocalLinkIntegrityErrors.
        local_integrity, set_local_integrity: bits(19, 4, 4);
        /// ExcessiveBufferOverrunErrors.
        buffer_overrun, set_buffer_overrun: bits(19, 0, 4);
        /// QP1Dropped.
        qp1_dropped, set_qp1_dropped: u16(20);
        /// VL15Dropped.
        vl15_dropped, set_vl15_dropped: u16(22);
        /// PortXmitData.
        xmit_data, set_xmit_data: u32(24);
        /// PortRcvData.
        rcv_data, set_rcv_data: u32(28);
        /// PortXmitPkts.
        xmit_packets, set_xmit_packets: u32(32);
        /// PortRcvPkts.
        rcv_packets, set_rcv_packets: u32(36);
        /// PortXmitWait.
        xmit_wait, set_xmit_wait: u32(40);
    }
}

wire_view! {
    /// Attribute PortCountersExtended.
    PortCountersExtended[192] {
        /// The port.
        port_select, set_port_select: u8(1);
        /// Which counters a Set is about.
        counter_select, set_counter_select: u16(2);
        /// PortXmitData.
        xmit_data, set_xmit_data: u64(8);
        /// PortRcvData.
        rcv_data, set_rcv_data: u64(16);
        /// PortXmitPkts.
        xmit_packets, set_xmit_packets: u64(24);
        /// PortRcvPkts.
        rcv_packets, set_rcv_packets: u64(32);
        /// PortUnicastXmitPkts.
        unicast_xmit, set_unicast_xmit: u64(40);
        /// PortUnicastRcvPkts.
        unicast_rcv, set_unicast_rcv: u64(48);
        /// PortMulticastXmitPkts.
        multicast_xmit, set_multicast_xmit: u64(56);
        /// PortMulticastRcvPkts.
        multicast_rcv, set_multicast_rcv: u64(64);
    }
}
