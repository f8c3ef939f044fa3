// SPDX-License-Identifier: GPL-2.0

//! Packets to many: a copy for every port of a switch's entry but the one that it came in by (section
//! 18.2.4.3.3 of the specification).
//!
//! The tree is walked depth first, in a loop with a small stack of its own. Tables that make circles
//! would copy a packet without end, so that depth and number of copies are bounded.

use super::{
    arrival::deliver,
    cross,
    MAX_SWITCHES, //
};
use crate::{
    node::Node,
    packet::Packet,
    port::{
        Port,
        PortRef, //
    },
};

/// How many copies one packet may become.
const MAX_COPIES: usize = 4096;

/// A switch on the way, and how far it is done.
struct Branch {
    at: PortRef,
    /// The next port to look at; more than a byte, to be able to end.
    next: u16,
}

/// The next port that gets a copy, from `next` on.
fn next_port<'a>(node: &'a Node, ingress: u8, next: &mut u16, packet: &Packet) -> Option<&'a Port> {
    let ports = node.mft.as_ref()?.ports(packet.dlid);
    loop {
        let number = ports.next_from(u8::try_from(*next).ok()?)?;
        *next = u16::from(number).saturating_add(1);
        if number != 0 && number != ingress {
            if let Some(port) = node.external_port(number) {
                return Some(port);
            }
        }
    }
}

/// Counts, and lets a switch have its own copy. Returns whether there are others to be made.
fn begin(node: &Node, ingress: &Port, packet: &Packet) -> bool {
    let Some(mft) = &node.mft else {
        return false;
    };
    let ports = mft.ports(packet.dlid);
    // Subnet management is never for many.
    if ports.is_empty() || packet.is_smp() {
        ingress.counters.relay_errors.bump();
        return false;
    }
    if ports.contains(0) && ingress.number != 0 {
        deliver(node, ingress, packet);
    }
    true
}

/// Sends what the switch itself sends.
pub(super) fn send(node: &Node, port: &Port, packet: &Packet) {
    if !begin(node, port, packet) {
        return;
    }
    let (mut next, mut copies) = (0, 0);
    while let Some(out) = next_port(node, port.number, &mut next, packet) {
        if let Some(at) = cross(node, out, packet, false) {
            walk(at, true, packet, &mut copies);
        }
    }
}

/// Copies a packet that came in by a port of a switch, and was counted there.
pub(super) fn spread(at: &PortRef, packet: &Packet) {
    walk(at.clone(), false, packet, &mut 0);
}

/// Takes a copy off the link. Returns whether it goes on from here.
fn enter(at: &PortRef, from_link: bool, packet: &Packet) -> bool {
    let Some(port) = at.port() else {
        return false;
    };
    if from_link {
        port.counters.count_rcv(packet);
        if !packet.may_enter(port.glance().state) {
            port.counters.rcv_errors.bump();
            return false;
        }
    }
    if at.node.lft.is_none() {
        deliver(&at.node, port, packet);
        return false;
    }
    begin(&at.node, port, packet)
}

/// Takes a packet on from where it arrived, everywhere.
fn walk(start: PortRef, from_link: bool, packet: &Packet, copies: &mut usize) {
    if !enter(&start, from_link, packet) {
        return;
    }
    let mut stack = [const { None::<Branch> }; MAX_SWITCHES];
    let mut depth = 0usize;
    let mut here = Branch { at: start, next: 0 };
    loop {
        let out = next_port(&here.at.node, here.at.number, &mut here.next, packet);
        let Some(out) = out else {
            // Done with this switch: back to the one before.
            let Some(above) = depth.checked_sub(1) else {
                return;
            };
            depth = above;
            match stack.get_mut(depth).and_then(Option::take) {
                Some(branch) => here = branch,
                None => return,
            }
            continue;
        };
        if *copies >= MAX_COPIES || depth >= MAX_SWITCHES {
            out.counters.xmit_discards.bump();
            continue;
        }
        *copies = copies.saturating_add(1);
        let Some(at) = cross(&here.at.node, out, packet, true) else {
            continue;
        };
        if enter(&at, true, packet) {
            let branch = core::mem::replace(&mut here, Branch { at, next: 0 });
            if let Some(place) = stack.get_mut(depth) {
                *place = Some(branch);
            }
            depth = depth.saturating_add(1);
        }
    }
}
