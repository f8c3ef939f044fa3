// SPDX-License-Identifier: GPL-2.0

//! Attribute NodeInfo.

use super::smp::{
    Fault,
    NodeInfo,
    CLASS_VERSION, //
};
use crate::{
    node::{
        self,
        Node, //
    },
    provider::NodeType, //
};

/// The value, as asked by `ingress`. The port's GUID is that of port 0 on a switch.
pub(super) fn get(node: &Node, ingress: u8) -> Result<[u8; 64], Fault> {
    let (node_type, port) = match node.node_type {
        NodeType::Ca => (1, ingress),
        NodeType::Switch => (2, 0),
    };
    let port = node.port(port).ok_or(Fault::Value)?;
    let mut info = NodeInfo::zeroed();
    info.set_base_version(1);
    info.set_class_version(CLASS_VERSION);
    info.set_node_type(node_type);
    info.set_num_ports(node.external_ports());
    info.set_system_guid(node.system_guid);
    info.set_node_guid(node.guid);
    info.set_port_guid(port.guid);
    info.set_partition_cap(node::PKEYS);
    info.set_device_id(node.device_id);
    info.set_revision(node::REVISION);
    info.set_port_and_vendor(u32::from(ingress) << 24 | node.vendor_id);
    Ok(info.0)
}
