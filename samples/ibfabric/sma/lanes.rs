// SPDX-License-Identifier: GPL-2.0

//! Attribute SLtoVLMappingTable.
//!
//! On a switch the modifier names the ports by which a packet comes in and leaves, and two bits of it
//! stand for all of either in a Set, as SwitchInfo.OptimizedSLtoVLMappingProgramming has it.

use super::smp::Fault;
use crate::{
    node::Node,
    provider::NodeType,
    slvl::Mapping, //
};

/// Stands for all ports to leave by.
const ALL_OUT: u32 = 1 << 16;

/// Stands for all ports to come in by.
const ALL_IN: u32 = 1 << 17;

/// Where a mapping is: row and column, each of them `None` for all.
struct Place {
    row: Option<usize>,
    column: Option<usize>,
}

/// Finds the mapping that is meant.
fn place(node: &Node, ingress: u8, modifier: u32) -> Result<Place, Fault> {
    if node.node_type == NodeType::Ca {
        // A row with one mapping for every port.
        let row = ingress.checked_sub(1).ok_or(Fault::Value)?;
        return Ok(Place {
            row: Some(row.into()),
            column: Some(0),
        });
    }
    let [reserved, all, input, output] = modifier.to_be_bytes();
    if reserved != 0 || u32::from(all) << 16 & !(ALL_IN | ALL_OUT) != 0 {
        return Err(Fault::Value);
    }
    let row = if modifier & ALL_OUT != 0 {
        None
    } else {
        let port = node.port(output).ok_or(Fault::Value)?;
        if !node.has_lanes(port) {
            return Err(Fault::Value);
        }
        Some(usize::from(output))
    };
    let column = if modifier & ALL_IN != 0 {
        None
    } else {
        node.port(input).ok_or(Fault::Value)?;
        Some(usize::from(input))
    };
    Ok(Place { row, column })
}

/// As it is on the wire.
fn value(mapping: Mapping) -> [u8; 64] {
    let mut out = [0; 64];
    for (to, from) in out.iter_mut().zip(mapping) {
        *to = from;
    }
    out
}

/// The value. There is no reading of many at once.
pub(super) fn get(node: &Node, ingress: u8, modifier: u32) -> Result<[u8; 64], Fault> {
    match place(node, ingress, modifier)? {
        Place {
            row: Some(row),
            column: Some(column),
        } => node.slvl.get(row, column).map(value).ok_or(Fault::Value),
        _ => Err(Fault::Value),
    }
}

/// Changes the value. Returns the new one.
pub(super) fn set(
    node: &Node,
    ingress: u8,
    modifier: u32,
    asked: &[u8; 64],
) -> Result<[u8; 64], Fault> {
    let place = place(node, ingress, modifier)?;
    let mut mapping = Mapping::default();
    for (to, from) in mapping.iter_mut().zip(asked) {
        *to = *from;
    }
    let rows = match place.row {
        Some(row) => row..row.saturating_add(1),
        None => {
            usize::from(!node.enhanced_port0)..usize::from(node.external_ports()).saturating_add(1)
        }
    };
    for row in rows {
        // A failure is a lack of memory: what was set stays, and the status tells.
        node.slvl
            .set(row, place.column, mapping)
            .map_err(|_| Fault::Busy)?;
    }
    Ok(value(mapping))
}
