// SPDX-License-Identifier: GPL-2.0

//! Attributes that are tables, read and written by blocks.

use super::smp::Fault;
use crate::{
    managed::{
        ARBITRATION_BLOCKS,
        GUIDS, //
    },
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
use kernel::prelude::*;

/// P_Keys of a block of P_KeyTable.
const PKEY_BLOCK: u32 = 32;

/// The port whose GUIDs are meant. There is but one block.
fn guid_port(node: &Node, ingress: u8, block: u32) -> Result<&Port, Fault> {
    if block != 0 {
        return Err(Fault::Value);
    }
    node.port(super::agent_port(node, ingress))
        .ok_or(Fault::Value)
}

/// A block of GUIDInfo.
pub(super) fn guids(node: &Node, ingress: u8, block: u32) -> Result<[u8; 64], Fault> {
    let port = guid_port(node, ingress, block)?;
    let mut guids = port.manage(|managed| managed.guids);
    if let Some(first) = guids.first_mut() {
        *first = port.guid;
    }
    let mut out = [0; 64];
    for (to, guid) in out.chunks_exact_mut(8).zip(guids) {
        to.copy_from_slice(&guid.to_be_bytes());
    }
    Ok(out)
}

/// Writes a block of GUIDInfo, of which the first entry cannot be changed. Returns the new value.
pub(super) fn set_guids(
    node: &Node,
    ingress: u8,
    block: u32,
    value: &[u8; 64],
) -> Result<[u8; 64], Fault> {
    let port = guid_port(node, ingress, block)?;
    let mut asked = [0u64; GUIDS];
    for (to, bytes) in asked.iter_mut().zip(value.chunks_exact(8)).skip(1) {
        *to = bytes
            .iter()
            .fold(0, |all, byte| all << 8 | u64::from(*byte));
    }
    let before = port.manage(|managed| core::mem::replace(&mut managed.guids, asked));
    if before != asked {
        node.report(port, PortEvent::GidChange);
    }
    guids(node, ingress, block)
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

/// Why a block was not written: there is none of that number, or no memory for it now.
fn unwritten(error: Error) -> Fault {
    if error == EINVAL {
        Fault::Value
    } else {
        Fault::Busy
    }
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
        lft.write_block(number, value).map_err(unwritten)?;
    }
    forwarding(node, block)
}

/// The block and the position of a modifier of MulticastForwardingTable.
fn multicast_place(modifier: u32) -> Result<(u16, u8), Fault> {
    let position = u8::try_from(modifier >> 28).map_err(|_| Fault::Value)?;
    match modifier & 0x0fff_ffff {
        block @ 0..0x200 => Ok((u16::try_from(block).map_err(|_| Fault::Value)?, position)),
        _ => Err(Fault::Value),
    }
}

/// A block of MulticastForwardingTable.
pub(super) fn multicast(node: &Node, modifier: u32) -> Result<[u8; 64], Fault> {
    let mft = node.mft.as_ref().ok_or(Fault::Attribute)?;
    let (block, position) = multicast_place(modifier)?;
    mft.read_block(block, position).ok_or(Fault::Value)
}

/// Writes a block of MulticastForwardingTable. Returns the new value.
pub(super) fn set_multicast(
    node: &Node,
    modifier: u32,
    value: &[u8; 64],
) -> Result<[u8; 64], Fault> {
    let mft = node.mft.as_ref().ok_or(Fault::Attribute)?;
    let (block, position) = multicast_place(modifier)?;
    {
        // One writer at a time.
        let _config = node.switch.lock();
        mft.write_block(block, position, value).map_err(unwritten)?;
    }
    multicast(node, modifier)
}

/// The port and the block of a modifier of VLArbitrationTable. Blocks are counted from 1.
fn arbitration_place(node: &Node, ingress: u8, modifier: u32) -> Result<(&Port, usize), Fault> {
    let block = usize::try_from(modifier >> 16)
        .ok()
        .and_then(|block| block.checked_sub(1))
        .filter(|block| *block < ARBITRATION_BLOCKS)
        .ok_or(Fault::Value)?;
    let number = match node.node_type {
        NodeType::Ca => ingress,
        NodeType::Switch => u8::try_from(modifier & 0xffff).map_err(|_| Fault::Value)?,
    };
    let port = node.port(number).ok_or(Fault::Value)?;
    if !node.has_lanes(port) {
        return Err(Fault::Value);
    }
    Ok((port, block))
}

/// A block of VLArbitrationTable.
pub(super) fn arbitration(node: &Node, ingress: u8, modifier: u32) -> Result<[u8; 64], Fault> {
    let (port, block) = arbitration_place(node, ingress, modifier)?;
    port.manage(|managed| managed.arbitration.get(block).copied())
        .ok_or(Fault::Value)
}

/// Writes a block of VLArbitrationTable. Returns the new value.
pub(super) fn set_arbitration(
    node: &Node,
    ingress: u8,
    modifier: u32,
    value: &[u8; 64],
) -> Result<[u8; 64], Fault> {
    let (port, block) = arbitration_place(node, ingress, modifier)?;
    let mut entries = *value;
    for lane in entries.iter_mut().step_by(2) {
        // The upper half is reserved.
        *lane &= 0xf;
    }
    port.manage(|managed| {
        if let Some(to) = managed.arbitration.get_mut(block) {
            *to = entries;
        }
    });
    arbitration(node, ingress, modifier)
}
