// SPDX-License-Identifier: GPL-2.0

//! The node itself sends: its SM, a user-space client, or any other agent of the MAD layer.
//!
//! What a switch passes on, and what its SMA answers, goes through `transmit` and not through here.

use super::{
    arrival,
    asked,
    hop::{
        Hop,
        Obstacle,
        Point, //
    },
    ledger,
    origin::{
        Departing,
        Origin, //
    },
    smp::{
        self,
        Format,
        Smp, //
    }, //
};
use crate::{
    dr::{
        self,
        Decision,
        Direction,
        DrSmp,
        Verdict, //
    },
    dyn_debug, //
};

/// Judges an SMP that is about to leave through `egress`, and advances it. Returns whether it is
/// discarded.
///
/// `departing` is ib_mad's structure around it, if that is known. On a switch, an agent that names no port
/// sends with `egress` 0: the path tells.
#[inline(always)]
pub(crate) fn judge(
    smp: &mut Smp,
    format: Format,
    departing: Option<Departing>,
    is_switch: bool,
    egress: u8,
) -> bool {
    let origin = departing
        .as_ref()
        .map_or(Origin::UNKNOWN, Departing::origin);
    // What the device has is checked by its driver too; without the device, the path is trusted.
    let ports = origin
        .device
        .map_or(u8::MAX - 1, |device| device.phys_ports());
    let route = format.route(smp);
    let decision = dr::send(&route, arrival::node(is_switch, ports), egress);
    let hop = Hop {
        point: Point::Send,
        smp,
        format,
        origin,
        is_switch,
        ingress: 0,
        decision,
        obstacle: obstacle(smp, &route, &decision),
    };
    match &departing {
        Some(departing) => ledger::enter(&hop, departing),
        None => ledger::note(&hop),
    }
    hop.tell();
    dyn_debug!(judge: "send: {}\n", hop);
    hop.settle(None);
    if hop.is_discarded() {
        return true;
    }
    smp::apply(smp, format, &decision, true);
    if let (Verdict::Forward { egress: port }, Some(departing), 0) =
        (decision.verdict, departing, egress)
    {
        departing.set_egress(port);
    }
    false
}

/// What stands against an SMP that the rules would let pass.
fn obstacle(smp: &Smp, route: &DrSmp<'_>, decision: &Decision) -> Option<Obstacle> {
    match decision.verdict {
        // ib_mad takes what is past its directed-route part for its own node's.
        Verdict::Route(Some(_)) => Some(Obstacle::NotByLid),
        // It goes back to who has asked, by its direction or by its method.
        Verdict::Local
            if (route.direction == Direction::Returning || smp::is_answer(smp))
                && !asked::answers(smp) =>
        {
            Some(Obstacle::NotAsked)
        }
        _ => None,
    }
}
