// SPDX-License-Identifier: GPL-2.0

//! The end of a packet's way: keys are looked at, and a queue pair gets it.

use crate::{
    node::Node,
    packet::Packet,
    port::Port,
    provider::{
        NodeType,
        QpKind, //
    },
    qp::{
        Entrance,
        Reception,
        Refusal, //
    },
};

/// Hands a packet to the queue pair that it is for: on a switch, one of port 0.
pub(super) fn deliver(node: &Node, ingress: &Port, packet: &Packet) {
    let agent = match node.node_type {
        NodeType::Ca => Some(ingress),
        NodeType::Switch => node.port(0),
    };
    // No such queue pair: hardware tells nobody.
    let (Some(port), Some(kind)) = (agent, packet.dest()) else {
        return;
    };
    if port.number == 0 && ingress.number != 0 {
        port.counters.count_rcv(packet);
        if kind == QpKind::Smi && node.software.loses(port, packet) {
            return;
        }
    }
    let pkey_index = match kind {
        QpKind::Smi if !node.opa => Some(0),
        QpKind::Smi => Some(port.place_of_pkey(packet.pkey)),
        QpKind::Gsi => port.find_pkey(packet.pkey),
    };
    let Some(pkey_index) = pkey_index else {
        port.counters.bad_pkeys.bump();
        return;
    };
    let Some(qp) = port.visit(kind) else {
        ingress.counters.rcv_errors.bump();
        return;
    };
    let at = Entrance {
        ingress: ingress.number,
        path_bits: port.glance().path_bits(packet.dlid),
        pkey_index,
    };
    match qp.receive(packet, at) {
        Ok(Reception::Done) => {}
        Ok(Reception::Held) => ingress.counters.held.bump(),
        Err(Refusal::NoBuffer) => drop_for_lack_of_buffer(node, kind, ingress.number),
        Err(Refusal::BadQkey) => port.counters.bad_qkeys.bump(),
        Err(Refusal::NotAccepted) => ingress.counters.rcv_errors.bump(),
    }
}

/// Counts a packet that found no receive buffer, at the port that it came in by.
pub(crate) fn drop_for_lack_of_buffer(node: &Node, kind: QpKind, ingress: u8) {
    let Some(port) = node.port(ingress) else {
        return;
    };
    match kind {
        QpKind::Smi => port.counters.vl15_dropped.bump(),
        QpKind::Gsi => port.counters.qp1_dropped.bump(),
    }
}
