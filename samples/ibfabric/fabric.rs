// SPDX-License-Identifier: GPL-2.0

//! The fabric: all nodes, and their registrations with the RDMA core.

use crate::{
    capture::Capture,
    link::LinkLock,
    node::Node,
    params::Params,
    port::PortRef,
    provider::{
        NodeType,
        Registration, //
    },
    routing,
    topology::{
        Link,
        Plan, //
    },
};
use kernel::{
    prelude::*,
    str::CString,
    sync::Arc, //
};

/// The GUIDs of all nodes begin with this: a locally administered OUI, as `node::VENDOR_ID`.
const GUID_BASE: u64 = 0x021b_fa00_0000_0000;

/// The low bits of a GUID that are for the ports of a node.
const GUID_PORT_BITS: u32 = 8;

/// All nodes.
///
/// Links make nodes refer to each other, so that they have to be unplugged at the end.
pub(crate) struct Fabric {
    registrations: KVec<Registration<Node>>,
    /// The nodes, in the order of the plan.
    pub(crate) nodes: KVec<Arc<Node>>,
    /// What went over the wires last.
    pub(crate) capture: Arc<Capture>,
    links: Arc<LinkLock>,
}

impl Fabric {
    /// Builds what is planned, with all links up and, if wanted, configured.
    pub(crate) fn build(plan: &Plan, params: &Params) -> Result<Self> {
        let mut fabric = Self {
            registrations: KVec::new(),
            nodes: KVec::new(),
            capture: Capture::new(params.capture.into())?,
            links: LinkLock::new()?,
        };
        for spec in &plan.nodes {
            let name = match spec.node_type {
                NodeType::Ca => CString::try_from_fmt(fmt!("hca{}", spec.index))?,
                NodeType::Switch => CString::try_from_fmt(fmt!("sw{}", spec.index))?,
            };
            let serial = u64::try_from(fabric.nodes.len())?.saturating_add(1);
            let guid = GUID_BASE | serial.checked_shl(GUID_PORT_BITS).ok_or(EINVAL)?;
            let node = Node::new(
                name,
                spec.node_type,
                guid,
                spec.ports,
                fabric.capture.clone(),
                fabric.links.clone(),
            )?;
            fabric.nodes.push(node, GFP_KERNEL)?;
        }
        for link in &plan.links {
            fabric.plug(link)?;
        }
        if params.preset {
            routing::assign_lids(&fabric.nodes)?;
            routing::fill_tables(&fabric.nodes)?;
            routing::activate(&fabric.nodes);
        }
        for node in &fabric.nodes {
            let registration =
                Registration::new(node.clone(), &node.device_info()).inspect_err(|error| {
                    pr_err!("cannot register {}: {:?}\n", node.name(), error);
                })?;
            fabric.registrations.push(registration, GFP_KERNEL)?;
        }
        Ok(fabric)
    }

    /// Plugs a link in.
    fn plug(&self, link: &Link) -> Result {
        let end = |(node, number): (usize, u8)| -> Result<PortRef> {
            let node = self.nodes.get(node).ok_or(EINVAL)?.clone();
            node.external_port(number).ok_or(EINVAL)?;
            Ok(PortRef { node, number })
        };
        self.links.plug(&end(link.a)?, &end(link.b)?)
    }

    /// The node of that name.
    pub(crate) fn find(&self, name: &[u8]) -> Option<&Arc<Node>> {
        self.nodes
            .iter()
            .find(|node| node.name().as_bytes() == name)
    }
}

impl Drop for Fabric {
    fn drop(&mut self) {
        // Devices go first, while their links are up, for that is what users of them expect.
        self.registrations.clear();
        for node in &self.nodes {
            for port in &node.ports {
                self.links.unplug(&PortRef {
                    node: node.clone(),
                    number: port.number,
                });
            }
        }
    }
}
