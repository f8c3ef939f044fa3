// SPDX-License-Identifier: GPL-2.0

//! Carries a packet: out of a port, over the link, and through switches by LID.
//!
//! A directed route is travelled one link at a time: with a permissive destination LID a packet goes
//! to whatever is at the other end. Any other LID is looked up by every switch on the way, which is
//! done here as hardware does it, without the switch's software noticing. The way is walked in a loop
//! with a bound, since forwarding tables can send a packet round in circles.
//!
//! What gets lost is counted where hardware would (section 16.1.3.5 of the specification): at the
//! port that it cannot leave by, as a discard; at the port that it came in by, as a relay error if the
//! switch knows no way, as an error otherwise.

mod arrival;
mod multicast;

use self::arrival::deliver;
pub(crate) use self::arrival::drop_for_lack_of_buffer;
use crate::{
    counters::Counters,
    faults::Fate,
    lft::Lft,
    node::Node,
    packet::{
        Packet,
        LID_PERMISSIVE, //
    },
    port::{
        Port,
        PortRef, //
    },
    provider::{
        AhAttr,
        PortState,
        Status, //
    },
};

/// How many switches may forward a packet by LID.
const MAX_SWITCHES: usize = 64;

/// The LID that a packet is sent from.
pub(crate) fn source_lid(port: &Port, ah: &AhAttr) -> u16 {
    if ah.dlid == LID_PERMISSIVE {
        LID_PERMISSIVE
    } else {
        port.glance().source(ah.src_path_bits)
    }
}

impl Counters {
    /// Counts a packet that leaves.
    fn count_xmit(&self, packet: &Packet) {
        self.xmit.count(packet);
        if packet.grh.is_some() {
            self.xmit_grh.bump();
        }
    }

    /// Counts a packet that leaves by a link.
    fn count_leave(&self, packet: &Packet, forwarded: bool) {
        self.count_xmit(packet);
        if forwarded {
            self.forwarded.bump();
        }
    }

    /// Counts a packet that comes in.
    fn count_rcv(&self, packet: &Packet) {
        self.rcv.count(packet);
        if packet.grh.is_some() {
            self.rcv_grh.bump();
        }
    }
}

/// The port that a packet of a switch's software leaves by, if it is one that the software chooses.
fn chosen<'a>(node: &'a Node, egress: u32, packet: &Packet) -> Option<Result<&'a Port, Status>> {
    (node.lft.is_some() && packet.is_for_anyone()).then(|| {
        u8::try_from(egress)
            .ok()
            .and_then(|egress| node.external_port(egress))
            .ok_or(Status::LocalQpOperation)
    })
}

/// Checks that a packet can be sent; `egress` is the port that a switch's software asks for.
pub(crate) fn check(node: &Node, egress: u32, packet: &Packet) -> Result<(), Status> {
    chosen(node, egress, packet).transpose().map(|_| ())
}

/// Sends a packet that a queue pair of `port` posted, and that was checked.
pub(crate) fn send(node: &Node, port: &Port, egress: u32, packet: &Packet) {
    let Some(lft) = &node.lft else {
        if packet.dlid != LID_PERMISSIVE && port.glance().owns(packet.dlid) {
            deliver(node, port, packet);
        } else {
            travel(cross(node, port, packet, false), packet);
        }
        return;
    };
    port.counters.count_xmit(packet);
    if let Some(out) = chosen(node, egress, packet) {
        // A faulty switch takes another.
        let out = out.ok().and_then(|out| {
            let number = node.software.egress(node, out.number, packet);
            node.external_port(number)
        });
        if let Some(out) = out {
            travel(cross(node, out, packet, false), packet);
        }
        return;
    }
    if packet.is_multicast() {
        multicast::send(node, port, packet);
        return;
    }
    match relay(node, lft, port, packet) {
        Some(0) => deliver(node, port, packet),
        Some(egress) => {
            if let Some(out) = node.external_port(egress) {
                travel(cross(node, out, packet, false), packet);
            }
        }
        None => {}
    }
}

/// Lets a packet come in by a port as if from the link, even where there is none.
pub(crate) fn inject(at: &PortRef, packet: &Packet) {
    if let Some(port) = at.port() {
        port.counters.count_rcv(packet);
    }
    if let Some(egress) = find_way(at, packet) {
        travel(cross(&at.node, egress, packet, true), packet);
    }
}

/// Takes a packet on from where it arrived.
fn travel(mut arrived: Option<PortRef>, packet: &Packet) {
    for _ in 0..MAX_SWITCHES {
        let Some(here) = arrived else { return };
        let Some(egress) = arrive(&here, packet) else {
            return;
        };
        arrived = cross(&here.node, egress, packet, true);
    }
    // Its time is over in the switch that has it now.
    if let Some(port) = arrived.as_ref().and_then(PortRef::port) {
        port.counters.count_rcv(packet);
        port.counters.xmit_discards.bump();
    }
}

/// Lets a packet that a fault held back leave at last.
pub(crate) fn release(at: &PortRef, packet: &Packet, forwarded: bool) {
    if let Some(port) = at.port() {
        let state = port.glance().state;
        travel(leave(&at.node, port, state, packet, forwarded), packet);
    }
}

/// Puts a packet on the link of `port`, unless a fault takes it. Returns where it comes out.
fn cross(node: &Node, port: &Port, packet: &Packet, forwarded: bool) -> Option<PortRef> {
    let glance = port.glance();
    if glance.faulty && packet.may_leave(glance.state) {
        match port.judge(packet, forwarded) {
            Fate::Pass => {}
            Fate::Lost => {
                port.counters.count_leave(packet, forwarded);
                return None;
            }
            Fate::Held => return None,
        }
    }
    leave(node, port, glance.state, packet, forwarded)
}

/// Puts a packet on the link of `port`, which is in that state. Returns where it comes out.
fn leave(
    node: &Node,
    port: &Port,
    state: PortState,
    packet: &Packet,
    forwarded: bool,
) -> Option<PortRef> {
    let peer = if packet.may_leave(state) {
        port.peer()
    } else {
        None
    };
    let Some(peer) = peer else {
        port.counters.xmit_discards.bump();
        return None;
    };
    port.counters.count_leave(packet, forwarded);
    node.capture.record(node, port.number, &peer, packet);
    Some(peer)
}

/// Takes a packet off the link. Returns where it goes on, unless it was for here or is lost.
fn arrive<'a>(at: &'a PortRef, packet: &Packet) -> Option<&'a Port> {
    let port = at.port()?;
    port.counters.count_rcv(packet);
    if !packet.may_enter(port.glance().state) {
        port.counters.rcv_errors.bump();
        return None;
    }
    find_way(at, packet)
}

/// Looks a LID up for a packet that came in by `ingress`; counts what cannot be forwarded.
fn relay(node: &Node, lft: &Lft, ingress: &Port, packet: &Packet) -> Option<u8> {
    let egress = lft
        .get(packet.dlid)
        // Not back to where it came from, and to no port that there is not.
        .filter(|egress| *egress == 0 || *egress != ingress.number)
        .filter(|egress| node.port(*egress).is_some());
    if egress.is_none() {
        ingress.counters.relay_errors.bump();
    }
    egress
}

/// Finds out where a packet goes on, or delivers it if it is for here.
fn find_way<'a>(at: &'a PortRef, packet: &Packet) -> Option<&'a Port> {
    let port = at.port()?;
    let node = &at.node;
    if packet.is_for_anyone() {
        deliver(node, port, packet);
        return None;
    }
    let Some(lft) = &node.lft else {
        let own = packet.dlid != LID_PERMISSIVE && port.glance().owns(packet.dlid);
        if own || packet.is_multicast() {
            deliver(node, port, packet);
        } else {
            port.counters.rcv_errors.bump();
        }
        return None;
    };
    if packet.is_multicast() {
        multicast::spread(at, packet);
        return None;
    }
    match relay(node, lft, port, packet)? {
        0 => {
            deliver(node, port, packet);
            None
        }
        egress => node.external_port(egress),
    }
}
