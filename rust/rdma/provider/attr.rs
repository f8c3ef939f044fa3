// SPDX-License-Identifier: GPL-2.0

//! What a device and its ports say about themselves.
//!
//! C header: [`include/rdma/ib_verbs.h`](srctree/include/rdma/ib_verbs.h)

use crate::{
    bindings,
    compat::limit, //
};

/// The kind of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeType {
    /// A channel adapter.
    Ca,
    /// A switch.
    Switch,
}

impl NodeType {
    /// The number that the core has for it.
    pub(super) fn to_c(self) -> u8 {
        let number = match self {
            NodeType::Ca => bindings::RDMA_NODE_IB_CA,
            NodeType::Switch => bindings::RDMA_NODE_IB_SWITCH,
        };
        // CAST: The numbers are 1 and 2.
        number as u8
    }
}

/// The state of a link, with the numbers of `PortInfo.PortState`.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum PortState {
    /// No link.
    Down = 1,
    /// A link that no subnet manager has seen yet.
    Init = 2,
    /// Configured.
    Armed = 3,
    /// In use.
    Active = 4,
}

impl PortState {
    /// Its name, as the diagnostic programs write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            PortState::Down => "Down",
            PortState::Init => "Initialize",
            PortState::Armed => "Armed",
            PortState::Active => "Active",
        }
    }
}

/// The physical state of a link, with the numbers of `PortInfo.PortPhysicalState`.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum PhysState {
    /// Nothing heard yet.
    Polling = 2,
    /// Switched off.
    Disabled = 3,
    /// The other side is there.
    LinkUp = 5,
}

impl PhysState {
    /// Its name, as the diagnostic programs write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            PhysState::Polling => "Polling",
            PhysState::Disabled => "Disabled",
            PhysState::LinkUp => "LinkUp",
        }
    }
}

/// Limits and identity of a device.
pub(crate) struct DeviceAttr {
    /// GUID of the system.
    pub(crate) sys_image_guid: u64,
    /// Vendor, a 24-bit OUI.
    pub(crate) vendor_id: u32,
    /// Device, as the vendor numbers them.
    pub(crate) part_id: u32,
    /// Hardware revision.
    pub(crate) revision: u32,
    /// Number of ports with queue pairs.
    pub(crate) ports: u32,
    /// Largest send or receive queue.
    pub(crate) max_wr: u32,
    /// Largest completion queue.
    pub(crate) max_cqe: u32,
    /// Gather entries of a send.
    pub(crate) max_send_sge: u32,
    /// Entries of a port's P_Key table.
    pub(crate) max_pkeys: u16,
}

impl DeviceAttr {
    /// Fills in the C form, which the core has zeroed.
    pub(super) fn to_c(&self, out: &mut bindings::ib_device_attr) {
        out.sys_image_guid = self.sys_image_guid.to_be();
        out.vendor_id = self.vendor_id;
        out.vendor_part_id = self.part_id;
        out.hw_ver = self.revision;
        out.fw_ver = 1 << 32;
        out.kernel_cap_flags = bindings::ib_kernel_cap_flags_IBK_LOCAL_DMA_LKEY.into();
        out.max_qp = limit(self.ports.saturating_mul(2));
        out.max_qp_wr = limit(self.max_wr);
        out.max_cq = limit(self.ports.saturating_mul(4));
        out.max_cqe = limit(self.max_cqe);
        out.max_send_sge = limit(self.max_send_sge);
        out.max_recv_sge = 1;
        out.max_pd = limit(self.ports.saturating_mul(4));
        out.max_ah = limit(u16::MAX.into());
        out.max_pkeys = self.max_pkeys;
    }
}

/// What `query_port` tells.
pub(crate) struct PortAttr {
    /// Logical state.
    pub(crate) state: PortState,
    /// Physical state.
    pub(crate) phys_state: PhysState,
    /// The port's LID.
    pub(crate) lid: u16,
    /// How many low bits of the LID are free.
    pub(crate) lmc: u8,
    /// LID of the subnet manager.
    pub(crate) sm_lid: u16,
    /// Service level to the subnet manager.
    pub(crate) sm_sl: u8,
    /// Capability mask.
    pub(crate) cap_mask: u32,
    /// First half of every GID of the port.
    pub(crate) subnet_prefix: u64,
    /// Subnet timeout.
    pub(crate) subnet_timeout: u8,
    /// Largest MTU, by its code.
    pub(crate) max_mtu: u8,
    /// MTU in use, by its code.
    pub(crate) active_mtu: u8,
    /// Width in use, by its code.
    pub(crate) active_width: u8,
    /// Speed in use, by its code.
    pub(crate) active_speed: u16,
    /// Entries of the GID table.
    pub(crate) gids: u32,
    /// Entries of the P_Key table.
    pub(crate) pkeys: u16,
    /// Whether the port has the management datagrams of Omni-Path besides InfiniBand's.
    pub(crate) opa: bool,
}

impl PortAttr {
    /// Fills in the C form, which the core has zeroed.
    pub(super) fn to_c(&self, out: &mut bindings::ib_port_attr) {
        // CAST: Enumerators of an enum with that representation.
        out.state = u32::from(self.state as u8);
        // CAST: As above.
        out.phys_state = self.phys_state as u8;
        out.lid = self.lid.into();
        out.lmc = self.lmc;
        out.sm_lid = self.sm_lid.into();
        out.sm_sl = self.sm_sl;
        out.port_cap_flags = self.cap_mask;
        out.subnet_prefix = self.subnet_prefix.to_be();
        out.subnet_timeout = self.subnet_timeout;
        out.max_mtu = self.max_mtu.into();
        out.active_mtu = self.active_mtu.into();
        out.active_width = self.active_width;
        out.active_speed = self.active_speed;
        out.gid_tbl_len = i32::try_from(self.gids).unwrap_or(0);
        out.pkey_tbl_len = self.pkeys;
        out.max_msg_sz = 1 << 12;
        out.max_vl_num = 1;
    }
}
