// SPDX-License-Identifier: GPL-2.0

//! Attributes that are tables, read and written by blocks.

use super::smp::Fault;
use crate::{
    node::{
        self,
        Node, //
    },
    port::Port,
    provider::{
        NodeType,
        PortEvent, //
    },
};

/// GUIDs of a block of GUIDInfo.
const GUID_BLOCK: u32 = 8;

/// P_Keys of a block of P_KeyTable.
const PKEY_BLOCK: u32 = 32;

/// A block of GUIDInfo: all but the first GUID are free.
pub(super) fn guids(node: &Node, ingress: u8, block: u32) -> Result<[u8; 64], Fault> {
    let number = match node.node_type {
        NodeType::Ca => ingress,
        NodeType::Switch => 0,
    };
    let port = node.port(number).ok_or(Fault::Value)?;
    if block >= u32::from(node::GIDS).div_ceil(GUID_BLOCK) {
        return Err(Fault::Value);
    }
    let mut out = [0; 64];
    if block == 0 {
        for (to, from) in out.iter_mut().zip(port.guid.to_be_bytes()) {
            *to = from;
        }
    }
    Ok(out)
}

/// The port whose P_KeyTable is meant: on a switch that of the upper half of the modifier.
fn pkey_port(node: &Node, ingress: u8, modifier: u32) -> Result<&Port, Fault> {
    let (number, block) = (modifier >> 16, modifier & 0xffff);
    if block >= u32::from(node::PKEYS).div_ceil(PKEY_BLOCK) {
        return Err(Fault::Value);
    }
    let number = match node.node_type {
        NodeType::Ca => ingress,
        NodeType::Switch => u8::try_from(number).map_err(|_| Fault::Value)?,
    };
    node.port(number).ok_or(Fault::Value)
}

/// A block of P_KeyTable.
pub(super) fn pkeys(node: &Node, ingress: u8, modifier: u32) -> Result<[u8; 64], Fault> {
    let pkeys = pkey_port(node, ingress, modifier)?.pkeys();
    let mut out = [0; 64];
    for (to, from) in out.chunks_exact_mut(2).zip(pkeys) {
        to.copy_from_slice(&from.to_be_bytes());
    }
    Ok(out)
}

/// Writes a block of P_KeyTable. Returns the new value.
pub(super) fn set_pkeys(
    node: &Node,
    ingress: u8,
    modifier: u32,
    value: &[u8; 64],
) -> Result<[u8; 64], Fault> {
    let port = pkey_port(node, ingress, modifier)?;
    let mut pkeys = port.pkeys();
    for (to, from) in pkeys.iter_mut().zip(value.chunks_exact(2)) {
        *to = from.iter().fold(0, |all, byte| all << 8 | u16::from(*byte));
    }
    if port.set_pkeys(pkeys) {
        node.report(port, PortEvent::PkeyChange);
    }
    self::pkeys(node, ingress, modifier)
}

/// A block of LinearForwardingTable.
pub(super) fn forwarding(node: &Node, block: u32) -> Result<[u8; 64], Fault> {
    let lft = node.lft.as_ref().ok_or(Fault::Attribute)?;
    let block = u16::try_from(block).map_err(|_| Fault::Value)?;
    lft.read_block(block).ok_or(Fault::Value)
}

/// Writes a block of LinearForwardingTable. Returns the new value.
pub(super) fn set_forwarding(node: &Node, block: u32, value: &[u8; 64]) -> Result<[u8; 64], Fault> {
    let lft = node.lft.as_ref().ok_or(Fault::Attribute)?;
    let number = u16::try_from(block).map_err(|_| Fault::Value)?;
    {
        // One writer at a time.
        let _config = node.switch.lock();
        lft.write_block(number, value).map_err(|_| Fault::Value)?;
    }
    forwarding(node, block)
}
