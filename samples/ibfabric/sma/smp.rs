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

/// Attribute Notice.
pub(crate) const NOTICE: u16 = 0x0002;
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
/// Attribute SLtoVLMappingTable.
pub(crate) const SL_TO_VL_TABLE: u16 = 0x0017;
/// Attribute VLArbitrationTable.
pub(crate) const VL_ARBITRATION_TABLE: u16 = 0x0018;
/// Attribute LinearForwardingTable.
pub(crate) const LINEAR_FORWARDING_TABLE: u16 = 0x0019;
/// Attribute MulticastForwardingTable.
pub(crate) const MULTICAST_FORWARDING_TABLE: u16 = 0x001b;
/// Attribute SMInfo, which belongs to a subnet manager.
pub(crate) const SM_INFO: u16 = 0x0020;
/// Attribute ExtendedPortInfo, of one vendor.
pub(crate) const EXTENDED_PORT_INFO: u16 = 0xff90;

/// The direction bit of a directed route, in the status field.
pub(crate) const STATUS_DIRECTION: u16 = 0x8000;

/// What is wrong with a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Not now, for a lack of memory.
    Busy,
    /// A class version that is not known here.
    Version,
    /// A method that is not known here.
    Method,
    /// An attribute that is not known here, or not with this method.
    Attribute,
    /// An attribute or modifier with an invalid value.
    Value,
    /// Nothing, but a test wants that status.
    Staged(u16),
}

impl Fault {
    /// The number of the status field.
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::Busy => 0x0001,
            Self::Version => 0x0004,
            Self::Method => 0x0008,
            Self::Attribute => 0x000c,
            Self::Value => 0x001c,
            Self::Staged(status) => status,
        }
    }
}

wire_view! {
    /// A subnet management packet.
    Smp[256] {
        /// Version of the datagram.
        base_version, set_base_version: u8(0);
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
        /// The ports that the route came by.
        return_path, set_return_path: bytes(192, 64);
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
        /// Where packets go whose LID is in no random forwarding table.
        default_port, set_default_port: u8(8);
        /// Where multicast packets go that no entry is for.
        multicast_primary, set_multicast_primary: u8(9);
        /// Where such packets go if they came in from there.
        multicast_other, set_multicast_other: u8(10);
        /// How long a packet may live.
        life_time, set_life_time: bits(11, 3, 5);
        /// Whether the state of some port changed.
        port_state_change, set_port_state_change: bits(11, 2, 1);
        /// How many mappings of SLtoVLMappingTable can be set at once, by code.
        optimized_slvl, set_optimized_slvl: bits(11, 0, 2);
        /// How many P_Keys a port can enforce.
        enforcement_cap, set_enforcement_cap: u16(14);
        /// Whether port 0 is an enhanced one.
        enhanced_port0, set_enhanced_port0: bits(16, 3, 1);
        /// The highest LID in the multicast forwarding table.
        multicast_top, set_multicast_top: u16(18);
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
        /// How much high priority may send before low priority.
        high_limit, set_high_limit: u8(38);
        /// Entries for high priority in the VL arbitration table.
        arbitration_high_cap, set_arbitration_high_cap: u8(39);
        /// Entries for low priority there.
        arbitration_low_cap, set_arbitration_low_cap: u8(40);
        /// What the subnet manager answers to the kind of initialisation that was asked for.
        init_reply, set_init_reply: bits(41, 4, 4);
        /// The largest MTU.
        mtu_cap, set_mtu_cap: bits(41, 0, 4);
        /// How many packets may be dropped in sequence before a lane stalls.
        stall_count, set_stall_count: bits(42, 5, 3);
        /// How long a packet may wait at the head of a queue.
        head_life, set_head_life: bits(42, 0, 5);
        /// Virtual lanes in use, by code.
        operational_vls, set_operational_vls: bits(43, 4, 4);
        /// Requests with a wrong management key.
        mkey_violations, set_mkey_violations: u16(44);
        /// Packets with a wrong P_Key.
        pkey_violations, set_pkey_violations: u16(46);
        /// Packets with a wrong Q_Key.
        qkey_violations, set_qkey_violations: u16(48);
        /// Entries of the GUID table.
        guid_cap, set_guid_cap: u8(50);
        /// Asks clients to register again.
        client_reregister, set_client_reregister: bits(51, 7, 1);
        /// Subnet timeout.
        subnet_timeout, set_subnet_timeout: bits(51, 0, 5);
        /// Response time.
        resp_time, set_resp_time: bits(52, 0, 5);
        /// How many physical errors there may be.
        phy_errors, set_phy_errors: bits(53, 4, 4);
        /// How many buffer overruns there may be.
        overrun_errors, set_overrun_errors: bits(53, 0, 4);
        /// Extended speed in use.
        speed_extended_active, set_speed_extended_active: bits(62, 4, 4);
        /// Extended speeds there are.
        speed_extended_supported, set_speed_extended_supported: bits(62, 0, 4);
        /// Extended speeds that are switched on.
        speed_extended_enabled, set_speed_extended_enabled: bits(63, 0, 5);
    }
}
