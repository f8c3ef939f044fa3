// SPDX-License-Identifier: GPL-2.0

//! What a subnet manager would do: gives LIDs, fills forwarding tables and takes links into use, once.

use crate::{
    lft::{
        self,
        Lft, //
    },
    node::{
        Node,
        SwitchConfig, //
    },
    port::PortRef,
    provider::{
        PortEvent,
        PortState, //
    },
    ring::Ring, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Does it all, and tells the kernel. Only one may do so at a time.
pub(crate) fn preset(nodes: &[Arc<Node>]) -> Result {
    clear_tables(nodes)?;
    assign_lids(nodes)?;
    fill_tables(nodes)?;
    activate(nodes);
    for node in nodes {
        for port in &node.ports {
            node.report(port, PortEvent::LidChange);
            node.report(port, PortEvent::Active);
        }
    }
    Ok(())
}

/// Lets the forwarding tables of all switches lead nowhere.
fn clear_tables(nodes: &[Arc<Node>]) -> Result {
    for node in nodes {
        for block in 0..lft::CAPACITY / 64 {
            let clear = |lft: &Lft, _: &mut _| lft.write_block(block, &[lft::NO_PORT; lft::BLOCK]);
            node.route(clear).unwrap_or(Ok(()))?;
        }
    }
    Ok(())
}

/// Gives LIDs in the order of nodes and ports, from 1 on, one to each.
fn assign_lids(nodes: &[Arc<Node>]) -> Result {
    let mut next = 1u16;
    for node in nodes {
        for port in node.addressed_ports() {
            port.configure(|config| {
                config.lid = next;
                config.lmc = 0;
            });
            next = next.checked_add(1).ok_or(EINVAL)?;
        }
    }
    Ok(())
}

/// Takes all links that are up into use.
fn activate(nodes: &[Arc<Node>]) {
    for port in nodes.iter().flat_map(|node| &node.ports) {
        port.configure(|config| {
            if config.state != PortState::Down {
                config.state = PortState::Active;
            }
        });
    }
}

/// Fills the forwarding tables of all switches with shortest ways, by a search from every LID.
fn fill_tables(nodes: &[Arc<Node>]) -> Result {
    let mut queue = Ring::new(nodes.len().saturating_add(1))?;
    for node in nodes {
        for port in node.addressed_ports() {
            let lid = port.config().lid;
            let own = |lft: &Lft, config: &mut SwitchConfig| {
                config.linear_top = lft::CAPACITY - 1;
                lft.set_top(config.linear_top);
                lft.set(lid, 0)
            };
            match node.route(own) {
                Some(done) => {
                    done?;
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
    if node.lft.as_ref().is_some_and(|lft| !lft.knows(lid)) {
        node.route(|lft, _| lft.set(lid, number)).ok_or(EINVAL)??;
        queue.push(node.clone()).map_err(|_| EINVAL)?;
    }
    Ok(())
}
