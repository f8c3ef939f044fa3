// SPDX-License-Identifier: GPL-2.0

//! Attribute ExtendedPortInfo of Mellanox, by which their devices tell of speed FDR10.
//!
//! OpenSM and `ibnetdiscover` ask every node for it that has the device ID of one that knows it, and
//! complain if it does not. A node with the vendor ID of Mellanox is taken for such a one. It says
//! which speeds there are, are switched on and in use beyond those of PortInfo: here, none.

use super::{
    port_info,
    smp::Fault, //
};
use crate::node::Node;

/// The OUI of Mellanox.
const VENDOR: u32 = 0x00_02c9;

/// The value. To write it changes nothing, for there is nothing to switch on.
pub(super) fn get(node: &Node, ingress: u8, modifier: u32) -> Result<[u8; 64], Fault> {
    if node.vendor_id != VENDOR {
        return Err(Fault::Attribute);
    }
    port_info::target(node, ingress, modifier)?;
    Ok([0; 64])
}
