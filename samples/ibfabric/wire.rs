// SPDX-License-Identifier: GPL-2.0

//! Carries a packet: out of a port, over the link, and through switches by LID.
//!
//! A directed route is travelled one link at a time: with a permissive destination LID a packet goes
//! to whatever is at the other end. Any other LID is looked up by every switch on the way, which is
//! done here as hardware does it, without the switch's software noticing. The way is walked in a loop
//! with a bound, since forwarding tables can send a packet round in circles.

use crate::{
    node::Node,
    packet::{
        Packet,
        LID_PERMISSIVE, //
    },
    port::{
        Port,
        PortConfig,
        PortRef, //
    },
    provider::{
        AhAttr,
        NodeType,
        PortState,
        QpKind,
        Status, //
    },
    qp::Refusal,
};

/// How many switches may forward a packet by LID.
const MAX_SWITCHES: usize = 64;

/// The LID that a packet is sent from.
pub(crate) fn source_lid(config: &PortConfig, ah: &AhAttr) -> u16 {
    if ah.dlid == LID_PERMISSIVE {
        LID_PERMISSIVE
    } else {
        config.lid | u16::from(ah.src_path_bits)
    }
}

impl Packet {
    /// Whether it goes to the node at the other end of the link, whoever that is.
    fn is_for_anyone(&self) -> bool {
        self.dlid == LID_PERMISSIVE && self.dest == QpKind::Smi
    }

    /// Whether a link in that state takes it. Only SMPs use a link that is not active yet.
    fn may_use(&self, state: PortState) -> bool {
        match state {
            PortState::Down => false,
            PortState::Init | PortState::Armed => self.dest == QpKind::Smi,
            PortState::Active => true,
        }
    }
}

/// Sends a packet that a queue pair of `port` posted; `egress` is the port that a switch's software
/// asked for.
pub(crate) fn send(node: &Node, port: &Port, egress: u32, packet: &Packet) -> Result<(), Status> {
    let out = match &node.lft {
        None if packet.dlid != LID_PERMISSIVE && port.config().owns(packet.dlid) => {
            deliver(node, port, packet);
            return Ok(());
        }
        None => port,
        Some(_) if packet.is_for_anyone() => {
            let egress = u8::try_from(egress).map_err(|_| Status::LocalQpOperation)?;
            node.external_port(egress).ok_or(Status::LocalQpOperation)?
        }
        Some(lft) => match lft.get(packet.dlid) {
            Some(0) => {
                deliver(node, port, packet);
                return Ok(());
            }
            Some(egress) if node.external_port(egress).is_some() => {
                node.external_port(egress).unwrap_or(port)
            }
            _ => {
                port.counters.xmit_discards.bump();
                return Ok(());
            }
        },
    };
    travel(cross(node, out, packet, false), packet);
    Ok(())
}

/// Lets a packet come in by a port as if from the link, even where there is none.
pub(crate) fn inject(at: &PortRef, packet: &Packet) {
    if let Some(port) = at.port() {
        port.counters.rcv.bump();
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
    if let Some(port) = arrived.as_ref().and_then(PortRef::port) {
        port.counters.rcv_errors.bump();
    }
}

/// Puts a packet on the link of `port`. Returns where it comes out.
fn cross(node: &Node, port: &Port, packet: &Packet, forwarded: bool) -> Option<PortRef> {
    let peer = if packet.may_use(port.config().state) {
        port.peer()
    } else {
        None
    };
    let Some(peer) = peer else {
        port.counters.xmit_discards.bump();
        return None;
    };
    port.counters.xmit.bump();
    if forwarded {
        port.counters.forwarded.bump();
    }
    node.capture.record(node, port.number, &peer, packet);
    Some(peer)
}

/// Takes a packet off the link. Returns where it goes on, unless it was for here or is lost.
fn arrive<'a>(at: &'a PortRef, packet: &Packet) -> Option<&'a Port> {
    let port = at.port()?;
    port.counters.rcv.bump();
    if !packet.may_use(port.config().state) {
        port.counters.rcv_errors.bump();
        return None;
    }
    find_way(at, packet)
}

/// Finds out where a packet goes on, or delivers it if it is for here.
fn find_way<'a>(at: &'a PortRef, packet: &Packet) -> Option<&'a Port> {
    let port = at.port()?;
    let egress = match &at.node.lft {
        _ if packet.is_for_anyone() => Some(0),
        None if packet.dlid == LID_PERMISSIVE => None,
        None => port.config().owns(packet.dlid).then_some(0),
        Some(lft) => lft.get(packet.dlid),
    };
    match egress {
        Some(0) => {
            deliver(&at.node, port, packet);
            None
        }
        Some(egress) if at.node.external_port(egress).is_some() => at.node.external_port(egress),
        _ => {
            port.counters.rcv_errors.bump();
            None
        }
    }
}

/// Hands a packet to the queue pair that it is for.
fn deliver(node: &Node, ingress: &Port, packet: &Packet) {
    let agent = match node.node_type {
        NodeType::Ca => Some(ingress),
        NodeType::Switch => node.port(0),
    };
    let outcome = match agent.and_then(|port| Some((port, port.visit(packet.dest)?))) {
        Some((port, qp)) => {
            let path_bits = port.config().path_bits(packet.dlid);
            qp.receive(packet, ingress.number, path_bits)
        }
        None => Err(Refusal::NotAccepted),
    };
    match outcome {
        Ok(()) => {}
        Err(Refusal::NoBuffer) if packet.dest == QpKind::Smi => {
            ingress.counters.vl15_dropped.bump();
        }
        Err(_) => ingress.counters.rcv_errors.bump(),
    }
}
