// SPDX-License-Identifier: GPL-2.0

//! What a subnet manager would do: gives LIDs and fills forwarding tables, once, at the start.

use crate::{
    lft,
    node::Node,
    port::PortRef,
    provider::PortState,
    ring::Ring, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Gives LIDs in the order of nodes and ports, from 1 on.
pub(crate) fn assign_lids(nodes: &[Arc<Node>]) -> Result {
    let mut next = 1u16;
    for node in nodes {
        for port in node.ports.iter().filter(|port| node.has_lid(port)) {
            port.configure(|config| config.lid = next);
            next = next.checked_add(1).ok_or(EINVAL)?;
        }
    }
    Ok(())
}

/// Takes all links that are up into use.
pub(crate) fn activate(nodes: &[Arc<Node>]) {
    for port in nodes.iter().flat_map(|node| &node.ports) {
        port.configure(|config| {
            if config.state != PortState::Down {
                config.state = PortState::Active;
            }
        });
    }
}

/// Fills the forwarding tables of all switches with shortest ways, by a search from every LID.
pub(crate) fn fill_tables(nodes: &[Arc<Node>]) -> Result {
    let mut queue = Ring::new(nodes.len().saturating_add(1))?;
    for node in nodes {
        for port in node.ports.iter().filter(|port| node.has_lid(port)) {
            let lid = port.config().lid;
            match &node.lft {
                Some(lft) => {
                    lft.set(lid, 0)?;
                    node.switch.lock().linear_top = lft::CAPACITY - 1;
                    lft.set_top(lft::CAPACITY - 1);
                    queue.push(node.clone()).map_err(|_| EINVAL)?;
                }
                None => reach(port.peer(), lid, &mut queue)?,
            }
            while let Some(switch) = queue.pop() {
                for port in &switch.ports {
                    reach(port.peer(), lid, &mut queue)?;
                }
            }
        }
    }
    Ok(())
}

/// Takes note that `lid` can be reached out of `at`, if that is a switch that knows no way yet.
fn reach(at: Option<PortRef>, lid: u16, queue: &mut Ring<Arc<Node>>) -> Result {
    let Some(PortRef { node, number }) = at else {
        return Ok(());
    };
    if let Some(lft) = node.lft.as_ref().filter(|lft| !lft.knows(lid)) {
        lft.set(lid, number)?;
        queue.push(node.clone()).map_err(|_| EINVAL)?;
    }
    Ok(())
}
