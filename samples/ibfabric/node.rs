// SPDX-License-Identifier: GPL-2.0

//! A node: an HCA or a switch, as the RDMA core sees it.

mod device;
mod spec;

pub(crate) use self::spec::{
    NodeSpec,
    PortSpec, //
};
use crate::{
    capture::Capture,
    compat::{
        new_spinlock_irq,
        SpinLockIrq, //
    },
    faults::Software,
    lft::Lft,
    link::LinkLock,
    managed,
    mft::Mft,
    packet::GrhView,
    port::{
        self,
        Port,
        PortConfig,
        PortInit, //
    },
    provider::{
        DeviceInfo,
        Grh,
        NodeType,
        PortEvent,
        Reporter,
        GRH_SIZE, //
    },
    slvl::SlToVl,
    trap::{
        Trap,
        Traps, //
    },
};
use kernel::{prelude::*, str::CString, sync::Arc};

/// A locally administered OUI.
pub(crate) const VENDOR_ID: u32 = 0x02_1bfa;

/// The number of the device, as the vendor numbers them.
pub(crate) const DEVICE_ID: u16 = 0x0001;

/// Hardware revision.
pub(crate) const REVISION: u32 = 1;

/// Entries of a port's P_Key table.
pub(crate) const PKEYS: u16 = port::PKEYS as u16;

/// Entries of a port's GID table.
pub(crate) const GIDS: u8 = managed::GUIDS as u8;

/// How long an answer may take, as PortInfo.RespTimeValue has it: 4.096 µs times a power of two.
pub(crate) const RESPONSE_TIME: u8 = 16;

/// Entries of the largest completion queue.
const MAX_CQE: u32 = 1 << 16;

/// What a subnet manager can change of a switch.
#[derive(Clone, Copy)]
pub(crate) struct SwitchConfig {
    /// The highest LID in the forwarding table.
    pub(crate) linear_top: u16,
    /// Where packets go whose LID is in no random forwarding table. There is none.
    pub(crate) default_port: u8,
    /// Where multicast packets go that no entry is for.
    pub(crate) multicast_primary: u8,
    /// Where such packets go if they came in from there.
    pub(crate) multicast_other: u8,
    /// How long a packet may live.
    pub(crate) life_time: u8,
    /// Whether the state of some port changed.
    pub(crate) port_state_change: bool,
}

/// The description of a node that has none of its own.
fn default_desc(name: &CString) -> [u8; 64] {
    let mut desc = [0; 64];
    let text = [&b"ibfabric "[..], name.to_bytes()].into_iter().flatten();
    for (to, from) in desc.iter_mut().zip(text) {
        *to = *from;
    }
    desc
}

/// A node.
#[pin_data]
pub(crate) struct Node {
    /// Its name, `hca0` or `sw0`.
    pub(crate) name: CString,
    /// HCA or switch.
    pub(crate) node_type: NodeType,
    /// GUID of the node.
    pub(crate) guid: u64,
    /// GUID of the system.
    pub(crate) system_guid: u64,
    /// Vendor, 24 bits.
    pub(crate) vendor_id: u32,
    /// Device, as the vendor numbers them.
    pub(crate) device_id: u16,
    /// Whether port 0 of a switch is an enhanced one.
    pub(crate) enhanced_port0: bool,
    /// Whether it has the management datagrams of Omni-Path besides InfiniBand's.
    pub(crate) opa: bool,
    /// The forwarding table of a switch.
    pub(crate) lft: Option<Lft>,
    /// The multicast forwarding table of a switch.
    pub(crate) mft: Option<Mft>,
    /// Who remembers what is on the wires.
    pub(crate) capture: Arc<Capture>,
    /// Guards changes to links.
    pub(crate) links: Arc<LinkLock>,
    /// All ports, in order: from 0 on a switch, from 1 on an HCA.
    pub(crate) ports: KVec<Pin<KBox<Port>>>,
    /// What a subnet manager set, on a switch; also lets one write to the forwarding table at a time.
    #[pin]
    pub(crate) switch: SpinLockIrq<SwitchConfig>,
    /// How service levels are mapped to lanes.
    #[pin]
    pub(crate) slvl: SlToVl,
    /// What runs on it, as far as it is faulty.
    #[pin]
    pub(crate) software: Software,
    /// What a subnet manager has to hear of.
    #[pin]
    pub(crate) traps: Traps,
    #[pin]
    desc: SpinLockIrq<[u8; 64]>,
    #[pin]
    reporter: Reporter,
}

impl Node {
    /// Makes a node. Its ports have the GUIDs after `guid`, unless `spec` has others.
    pub(crate) fn new(
        name: CString,
        spec: &NodeSpec,
        guid: u64,
        capture: Arc<Capture>,
        links: Arc<LinkLock>,
    ) -> Result<Arc<Self>> {
        let node_type = spec.node_type;
        let (first, lft) = match node_type {
            NodeType::Ca => (1, None),
            NodeType::Switch => (0, Some(Lft::new()?)),
        };
        let extended_speeds = spec.has_extended_speeds();
        let mut list = KVec::with_capacity(usize::from(spec.ports).saturating_add(1), GFP_KERNEL)?;
        for number in first..=spec.ports {
            let port = spec.port(number);
            let init = PortInit {
                number,
                guid: port.guid.unwrap_or(guid.wrapping_add(number.into())),
                rate: spec.rate(&port),
                disabled: port.disabled,
                extended_speeds,
                opa: spec.opa,
            };
            list.push(KBox::pin_init(Port::new(init), GFP_KERNEL)?, GFP_KERNEL)?;
        }
        let all_ports = usize::from(spec.ports).saturating_add(1);
        let (mft, slvl, traps) = match node_type {
            NodeType::Ca => (
                None,
                SlToVl::new(spec.ports.into(), 1)?,
                Traps::new(spec.ports.into())?,
            ),
            NodeType::Switch => (
                Some(Mft::new(spec.ports)?),
                SlToVl::new(all_ports, all_ports)?,
                Traps::new(1)?,
            ),
        };
        let desc = spec.desc.unwrap_or(default_desc(&name));
        let system_guid = spec.system_guid.unwrap_or(guid);
        Arc::pin_init(
            pin_init!(Self {
                name,
                node_type,
                guid,
                system_guid,
                vendor_id: spec.vendor_id,
                device_id: spec.device_id,
                enhanced_port0: spec.enhanced_port0,
                opa: spec.opa,
                lft,
                mft,
                capture,
                links,
                ports: list,
                switch <- new_spinlock_irq!(
                    SwitchConfig {
                        linear_top: 0,
                        default_port: 0,
                        multicast_primary: 0,
                        multicast_other: 0,
                        life_time: 18,
                        port_state_change: false,
                    },
                    "ibfabric_node_switch"
                ),
                slvl <- slvl,
                software <- Software::new(),
                traps <- traps,
                desc <- new_spinlock_irq!(desc, "ibfabric_node_desc"),
                reporter <- Reporter::new(),
            }),
            GFP_KERNEL,
        )
    }

    /// The port of that number.
    pub(crate) fn port(&self, number: u8) -> Option<&Port> {
        let first = match self.node_type {
            NodeType::Ca => 1,
            NodeType::Switch => 0,
        };
        let index = usize::from(number.checked_sub(first)?);
        self.ports.get(index).map(|port| &**port)
    }

    /// The port of that number that a link can be plugged into.
    pub(crate) fn external_port(&self, number: u8) -> Option<&Port> {
        if number == 0 {
            return None;
        }
        self.port(number)
    }

    /// The port of that number, as the RDMA core numbers them.
    fn find(&self, number: u32) -> Result<&Port> {
        let number = u8::try_from(number).map_err(|_| EINVAL)?;
        self.port(number).ok_or(EINVAL)
    }

    /// How many ports a link can be plugged into.
    pub(crate) fn external_ports(&self) -> u8 {
        let zero = usize::from(self.node_type == NodeType::Switch);
        u8::try_from(self.ports.len().saturating_sub(zero)).unwrap_or(u8::MAX)
    }

    /// Whether a port has a LID of its own: every port of an HCA, port 0 of a switch.
    pub(crate) fn has_lid(&self, port: &Port) -> bool {
        self.node_type == NodeType::Ca || port.number == 0
    }

    /// All ports with a LID of their own, in order.
    pub(crate) fn addressed_ports(&self) -> impl Iterator<Item = &Port> {
        self.ports
            .iter()
            .map(|port| &**port)
            .filter(|port| self.has_lid(port))
    }

    /// Whether a port has virtual lanes: all have, but a port 0 that is not an enhanced one.
    pub(crate) fn has_lanes(&self, port: &Port) -> bool {
        port.number != 0 || self.enhanced_port0
    }

    /// Changes the forwarding table of a switch, and what goes with it. One does so at a time.
    pub(crate) fn route<R>(&self, change: impl FnOnce(&Lft, &mut SwitchConfig) -> R) -> Option<R> {
        let lft = self.lft.as_ref()?;
        Some(change(lft, &mut self.switch.lock()))
    }

    /// The place of a port among those with a LID.
    fn place(&self, port: &Port) -> usize {
        match self.node_type {
            NodeType::Ca => usize::from(port.number).saturating_sub(1),
            NodeType::Switch => port.number.into(),
        }
    }

    /// Tells the subnet manager of something at a port with a LID. Works in any context.
    pub(crate) fn raise(&self, port: &Port, trap: Trap) {
        self.traps.raise(self.place(port), trap);
    }

    /// A subnet manager heard of a trap.
    pub(crate) fn repress(&self, port: &Port, tid: u64) {
        self.traps.repress(self.place(port), tid);
    }

    /// Tells the kernel about a port. Of a switch, it knows only port 0.
    pub(crate) fn report(&self, port: &Port, event: PortEvent) {
        if self.has_lid(port) {
            self.reporter.report(port.number, event);
        }
    }

    /// Notes that the state of some port changed.
    pub(crate) fn port_state_changed(&self) {
        self.switch.lock().port_state_change = true;
        if self.node_type == NodeType::Switch {
            self.traps.raise(0, Trap::LinkState);
        }
    }

    /// The node description.
    pub(crate) fn desc(&self) -> [u8; 64] {
        *self.desc.lock()
    }

    /// What the RDMA core has to know at once.
    pub(crate) fn device_info(&self) -> DeviceInfo<'_> {
        DeviceInfo {
            name: &self.name,
            node_type: self.node_type,
            guid: self.guid,
            desc: self.desc(),
            ports: self.external_ports().into(),
        }
    }

    /// The GID of a port at an index of its table. Without a GUID it is empty.
    fn gid(port: &Port, config: &PortConfig, index: usize) -> [u8; 16] {
        let guid = match index {
            0 => port.guid,
            _ => port.manage(|managed| managed.guids.get(index).copied().unwrap_or(0)),
        };
        if guid == 0 {
            return [0; 16];
        }
        (u128::from(config.gid_prefix) << 64 | u128::from(guid)).to_be_bytes()
    }

    /// The global route header of a packet from `port` with a datagram of `len` bytes.
    pub(crate) fn build_grh(&self, port: &Port, grh: &Grh, len: u16) -> [u8; GRH_SIZE] {
        /// `IPVer` of every such header.
        const VERSION: u32 = 6;
        /// `NxtHdr` of a packet with InfiniBand transport headers.
        const NEXT_HEADER: u8 = 0x1b;
        /// Length of what follows: transport headers and, behind the datagram, checksum.
        const LENGTH: u16 = 12 + 8 + 4;
        let mut header = GrhView::zeroed();
        header.set_version_class_flow(
            VERSION << 28 | u32::from(grh.traffic_class) << 20 | grh.flow_label & 0xf_ffff,
        );
        header.set_length(LENGTH.saturating_add(len));
        header.set_next_header(NEXT_HEADER);
        header.set_hop_limit(grh.hop_limit);
        header.set_sgid(&Self::gid(
            port,
            &port.config(),
            usize::from(grh.sgid_index),
        ));
        header.set_dgid(&grh.dgid);
        header.0
    }

    /// A GUID that this node and another both claim. A node may share one with its own ports.
    pub(crate) fn same_guid(&self, other: &Self) -> Option<u64> {
        if self.guid == other.guid {
            return Some(self.guid);
        }
        let of = |node: &Self, port: &Port| node.has_lid(port).then_some(port.guid);
        let theirs = || other.ports.iter().filter_map(|port| of(other, port));
        self.ports
            .iter()
            .filter_map(|port| of(self, port))
            .find(|mine| theirs().any(|guid| guid == *mine))
    }

    /// The name as text.
    pub(crate) fn name(&self) -> &str {
        self.name.to_str().unwrap_or_default()
    }
}
