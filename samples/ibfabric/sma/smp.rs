// SPDX-License-Identifier: GPL-2.0

//! The wire format of subnet management packets and their attributes.
//!
//! C header: [`include/rdma/ib_smi.h`](srctree/include/rdma/ib_smi.h)

use crate::view::wire_view;

/// LID routed subnet management.
pub(crate) const CLASS_LID_ROUTED: u8 = 0x01;
/// Directed route subnet management.
pub(crate) const CLASS_DIRECTED_ROUTE: u8 = 0x81;
/// The only version of both.
pub(crate) const CLASS_VERSION: u8 = 1;

/// Reads an attribute.
pub(crate) const METHOD_GET: u8 = 0x01;
/// Writes an attribute.
pub(crate) const METHOD_SET: u8 = 0x02;
/// Tells that something happened; meant for a subnet manager.
pub(crate) const METHOD_TRAP: u8 = 0x05;
/// Answers a trap.
pub(crate) const METHOD_TRAP_REPRESS: u8 = 0x07;
/// Answers a Get or Set.
pub(crate) const METHOD_GET_RESP: u8 = 0x81;
/// Set in the methods of answers.
pub(crate) const METHOD_RESPONSE: u8 = 0x80;

/// Attribute NodeDescription.
pub(crate) const NODE_DESC: u16 = 0x0010;
/// Attribute NodeInfo.
pub(crate) const NODE_INFO: u16 = 0x0011;
/// Attribute SwitchInfo.
pub(crate) const SWITCH_INFO: u16 = 0x0012;
/// Attribute GUIDInfo.
pub(crate) const GUID_INFO: u16 = 0x0014;
/// Attribute PortInfo.
pub(crate) const PORT_INFO: u16 = 0x0015;
/// Attribute P_KeyTable.
pub(crate) const PKEY_TABLE: u16 = 0x0016;
/// Attribute LinearForwardingTable.
pub(crate) const LINEAR_FORWARDING_TABLE: u16 = 0x0019;
/// Attribute SMInfo, which belongs to a subnet manager.
pub(crate) const SM_INFO: u16 = 0x0020;

/// The direction bit of a directed route, in the status field.
pub(crate) const STATUS_DIRECTION: u16 = 0x8000;

/// What is wrong with a request, with the number of the status field.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Fault {
    /// A class version that is not known here.
    Version = 0x0004,
    /// A method that is not known here.
    Method = 0x0008,
    /// An attribute that is not known here, or not with this method.
    Attribute = 0x000c,
    /// An attribute or modifier with an invalid value.
    Value = 0x001c,
}

wire_view! {
    /// A subnet management packet.
    Smp[256] {
        /// Class: directed route or not.
        class, set_class: u8(1);
        /// Version of the class.
        class_version, set_class_version: u8(2);
        /// Method.
        method, set_method: u8(3);
        /// Direction bit and status.
        status, set_status: u16(4);
        /// How far along the route it is.
        hop_ptr, set_hop_ptr: u8(6);
        /// How long the route is.
        hop_count, set_hop_count: u8(7);
        /// Transaction.
        tid, set_tid: u64(8);
        /// Attribute.
        attribute, set_attribute: u16(16);
        /// Which of several such attributes.
        modifier, set_modifier: u32(20);
        /// Management key.
        mkey, set_mkey: u64(24);
        /// Where the route came in by LID.
        dr_slid, set_dr_slid: u16(32);
        /// Where the route goes on by LID.
        dr_dlid, set_dr_dlid: u16(34);
        /// The attribute's value.
        data, set_data: bytes(64, 64);
    }
}

wire_view! {
    /// Attribute NodeInfo.
    NodeInfo[64] {
        /// Version of the datagrams.
        base_version, set_base_version: u8(0);
        /// Version of the class.
        class_version, set_class_version: u8(1);
        /// 1 for a channel adapter, 2 for a switch.
        node_type, set_node_type: u8(2);
        /// Number of external ports.
        num_ports, set_num_ports: u8(3);
        /// GUID of the system.
        system_guid, set_system_guid: u64(4);
        /// GUID of the node.
        node_guid, set_node_guid: u64(12);
        /// GUID of the port asked.
        port_guid, set_port_guid: u64(20);
        /// Entries of the P_Key table.
        partition_cap, set_partition_cap: u16(28);
        /// Device, as the vendor numbers them.
        device_id, set_device_id: u16(30);
        /// Hardware revision.
        revision, set_revision: u32(32);
        /// The port that the request came in by, and below it the vendor, 24 bits.
        port_and_vendor, set_port_and_vendor: u32(36);
    }
}

wire_view! {
    /// Attribute SwitchInfo.
    SwitchInfo[64] {
        /// Entries of the linear forwarding table.
        linear_cap, set_linear_cap: u16(0);
        /// Entries of the multicast forwarding table.
        multicast_cap, set_multicast_cap: u16(4);
        /// The highest LID in the linear forwarding table.
        linear_top, set_linear_top: u16(6);
        /// How long a packet may live.
        life_time, set_life_time: bits(11, 3, 5);
        /// Whether the state of some port changed.
        port_state_change, set_port_state_change: bits(11, 2, 1);
        /// How many P_Keys a port can enforce.
        enforcement_cap, set_enforcement_cap: u16(14);
        /// Whether port 0 is an enhanced one.
        enhanced_port0, set_enhanced_port0: bits(16, 3, 1);
    }
}

wire_view! {
    /// Attribute PortInfo.
    PortInfo[64] {
        /// Management key.
        mkey, set_mkey: u64(0);
        /// First half of all GIDs.
        gid_prefix, set_gid_prefix: u64(8);
        /// LID.
        lid, set_lid: u16(16);
        /// LID of the subnet manager.
        sm_lid, set_sm_lid: u16(18);
        /// Capabilities.
        cap_mask, set_cap_mask: u32(20);
        /// How long the management key holds.
        mkey_lease_period, set_mkey_lease_period: u16(26);
        /// The port that the request came in by.
        local_port, set_local_port: u8(28);
        /// Widths that are switched on.
        width_enabled, set_width_enabled: u8(29);
        /// Widths there are.
        width_supported, set_width_supported: u8(30);
        /// Width in use.
        width_active, set_width_active: u8(31);
        /// Speeds there are.
        speed_supported, set_speed_supported: bits(32, 4, 4);
        /// Logical state.
        port_state, set_port_state: bits(32, 0, 4);
        /// Physical state.
        phys_state, set_phys_state: bits(33, 4, 4);
        /// State to go to when the link is lost.
        down_default, set_down_default: bits(33, 0, 4);
        /// What the management key protects.
        mkey_protect, set_mkey_protect: bits(34, 6, 2);
        /// How many low bits of the LID are free.
        lmc, set_lmc: bits(34, 0, 3);
        /// Speed in use.
        speed_active, set_speed_active: bits(35, 4, 4);
        /// Speeds that are switched on.
        speed_enabled, set_speed_enabled: bits(35, 0, 4);
        /// MTU in use.
        neighbor_mtu, set_neighbor_mtu: bits(36, 4, 4);
        /// Service level to the subnet manager.
        sm_sl, set_sm_sl: bits(36, 0, 4);
        /// Virtual lanes there are, by code.
        vl_cap, set_vl_cap: bits(37, 4, 4);
        /// The largest MTU.
        mtu_cap, set_mtu_cap: bits(41, 0, 4);
        /// Virtual lanes in use, by code.
        operational_vls, set_operational_vls: bits(43, 4, 4);
        /// Requests with a wrong management key.
        mkey_violations, set_mkey_violations: u16(44);
        /// Entries of the GUID table.
        guid_cap, set_guid_cap: u8(50);
        /// Asks clients to register again.
        client_reregister, set_client_reregister: bits(51, 7, 1);
        /// Subnet timeout.
        subnet_timeout, set_subnet_timeout: bits(51, 0, 5);
        /// Response time.
        resp_time, set_resp_time: bits(52, 0, 5);
        /// Extended speed in use.
        speed_extended_active, set_speed_extended_active: bits(62, 4, 4);
        /// Extended speeds there are.
        speed_extended_supported, set_speed_extended_supported: bits(62, 0, 4);
        /// Extended speeds that are switched on.
        speed_extended_enabled, set_speed_extended_enabled: bits(63, 0, 5);
    }
}
