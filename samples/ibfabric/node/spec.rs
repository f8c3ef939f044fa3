// SPDX-License-Identifier: GPL-2.0

//! What a node shall be, before there is one.

use super::{
    Node,
    DEVICE_ID,
    VENDOR_ID, //
};
use crate::{
    provider::NodeType,
    rate::{
        Rate,
        Speed,
        Width, //
    }, //
};
use kernel::prelude::*;

/// How a port differs from the others of its node.
#[derive(Clone, Copy)]
pub(crate) struct PortSpec {
    /// Its number.
    pub(crate) number: u8,
    /// Its GUID, if not the usual one.
    pub(crate) guid: Option<u64>,
    /// Its width, if not that of the node.
    pub(crate) width: Option<Width>,
    /// Its speed, if not that of the node.
    pub(crate) speed: Option<Speed>,
    /// Whether its link is kept down from this end.
    pub(crate) disabled: bool,
}

impl PortSpec {
    /// A port that is like the others.
    pub(crate) fn new(number: u8) -> Self {
        Self {
            number,
            guid: None,
            width: None,
            speed: None,
            disabled: false,
        }
    }
}

/// What a node shall be.
pub(crate) struct NodeSpec {
    /// HCA or switch.
    pub(crate) node_type: NodeType,
    /// GUID of the node; chosen by the fabric if not given.
    pub(crate) guid: Option<u64>,
    /// GUID of the system; that of the node if not given.
    pub(crate) system_guid: Option<u64>,
    /// Node description; made from the name if not given.
    pub(crate) desc: Option<[u8; 64]>,
    /// Number of external ports.
    pub(crate) ports: u8,
    /// Whether port 0 of a switch is an enhanced one.
    pub(crate) enhanced_port0: bool,
    /// Whether it has the management datagrams of Omni-Path besides InfiniBand's.
    pub(crate) opa: bool,
    /// Vendor, 24 bits.
    pub(crate) vendor_id: u32,
    /// Device, as the vendor numbers them.
    pub(crate) device_id: u16,
    /// What its ports can do.
    pub(crate) rate: Rate,
    /// Ports that are not like the others.
    pub(crate) port_specs: KVec<PortSpec>,
}

impl NodeSpec {
    /// Ports that a node can have at most.
    pub(crate) const MAX_PORTS: u8 = 254;

    /// A node with nothing special.
    pub(crate) fn new(node_type: NodeType, ports: u8) -> Self {
        Self {
            node_type,
            guid: None,
            system_guid: None,
            desc: None,
            ports,
            enhanced_port0: false,
            opa: false,
            vendor_id: VENDOR_ID,
            device_id: DEVICE_ID,
            rate: Rate::DEFAULT,
            port_specs: KVec::new(),
        }
    }

    /// What that node is.
    pub(crate) fn of(node: &Node) -> Self {
        Self {
            guid: Some(node.guid),
            system_guid: Some(node.system_guid),
            desc: Some(node.desc()),
            enhanced_port0: node.enhanced_port0,
            opa: node.opa,
            vendor_id: node.vendor_id,
            device_id: node.device_id,
            ..Self::new(node.node_type, node.external_ports())
        }
    }

    /// How a port differs.
    pub(crate) fn port(&self, number: u8) -> PortSpec {
        self.port_specs
            .iter()
            .find(|spec| spec.number == number)
            .copied()
            .unwrap_or(PortSpec::new(number))
    }

    /// Changes how a port differs.
    pub(crate) fn set_port(&mut self, spec: PortSpec) -> Result {
        match self
            .port_specs
            .iter_mut()
            .find(|old| old.number == spec.number)
        {
            Some(old) => *old = spec,
            None => self.port_specs.push(spec, GFP_KERNEL)?,
        }
        Ok(())
    }

    /// Lets a port be like the others again.
    pub(crate) fn forget_port(&mut self, number: u8) {
        self.port_specs.retain(|port| port.number != number);
    }

    /// What a port can do.
    pub(crate) fn rate(&self, port: &PortSpec) -> Rate {
        Rate {
            width: port.width.unwrap_or(self.rate.width),
            speed: port.speed.unwrap_or(self.rate.speed),
        }
    }

    /// Whether any port has an extended speed, which the whole node then announces.
    pub(crate) fn has_extended_speeds(&self) -> bool {
        let mut speeds = self.port_specs.iter().filter_map(|port| port.speed);
        self.rate.speed.is_extended() || speeds.any(Speed::is_extended)
    }
}
