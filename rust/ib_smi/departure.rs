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
    livepatch::{
        self,
        Function, //
    },
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
    dyn_debug,
    rdma::device::Device, //
};

/// Judges an SMP that is about to leave through `egress`, and advances it. Returns whether it is
/// discarded.
///
/// On a switch, an agent that names no port sends with `egress` 0: the path tells.
///
/// # Safety
///
/// `smp` must be what ib_mad hands to `smi_handle_dr_smp_send()`, or to `opa_smi_handle_dr_smp_send()` if it
/// has the format of Omni-Path.
#[inline(always)]
pub(crate) unsafe fn judge(smp: *mut Smp, format: Format, is_switch: bool, egress: u8) -> bool {
    // SAFETY: By the safety requirements.
    let departing = if is_sent(&format.route(unsafe { &*smp }), format) {
        // SAFETY: By the safety requirements, and it did not come in.
        unsafe { Departing::find(smp, format) }
    } else {
        None
    };
    let origin = departing
        .as_ref()
        .map_or(Origin::UNKNOWN, Departing::origin);
    // What the device has is checked by its driver too; without the device, the path is trusted.
    let ports = origin.device.map_or(u8::MAX, Device::phys_ports);
    // SAFETY: By the safety requirements, the caller's alone.
    let bytes = unsafe { &mut *smp };
    let route = format.route(bytes);
    let decision = dr::send(&route, arrival::node(is_switch, ports), egress);
    let hop = Hop {
        point: Point::Send,
        smp: bytes,
        format,
        origin,
        is_switch,
        ingress: 0,
        decision,
        obstacle: obstacle(bytes, &route, &decision)
            .or_else(|| without_port(is_switch, egress, &departing, &decision)),
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
    smp::apply(bytes, format, &decision, true);
    if let (Verdict::Forward { egress: port }, Some(departing), 0) =
        (decision.verdict, departing, egress)
    {
        departing.set_egress(port);
    }
    false
}

/// Returns whether what ib_mad hands over is about to be sent, and did not come in.
///
/// By ib_core's own functions a request that came in and is for this node is handed over, too: so it is during a
/// transition, and when another livepatch has one of them. But such a one is never at the start of its path.
#[inline]
fn is_sent(route: &DrSmp<'_>, format: Format) -> bool {
    let (receive, check_forward) = match format {
        Format::Ib => (Function::Receive, Function::CheckForward),
        Format::Opa => (Function::OpaReceive, Function::OpaCheckForward),
    };
    let starts = route.direction == Direction::Outgoing && route.hop_ptr == 0 && route.hop_cnt != 0;
    livepatch::settled() && livepatch::leads(receive) && (starts || livepatch::leads(check_forward))
}

/// A switch's own SMP needs the port to leave by set, where ib_mad's structure around it is not looked at.
fn without_port(
    is_switch: bool,
    egress: u8,
    departing: &Option<Departing>,
    decision: &Decision,
) -> Option<Obstacle> {
    let needs_port = is_switch && egress == 0 && departing.is_none();
    (needs_port && matches!(decision.verdict, Verdict::Forward { .. }))
        .then_some(Obstacle::InTransition)
}

/// What stands against an SMP that the rules would let pass.
fn obstacle(smp: &Smp, route: &DrSmp<'_>, decision: &Decision) -> Option<Obstacle> {
    match decision.verdict {
        // ib_mad takes what is past its directed-route part for its own node's.
        Verdict::Route(Some(_)) => Some(Obstacle::NotByLid),
        // It goes back to who has asked, by its direction or by its method.
        Verdict::Local
            if (route.direction == Direction::Returning || smp::is_response(smp))
                && !asked::answers(smp) =>
        {
            Some(Obstacle::NotAsked)
        }
        // It is for the SMA; only `local` keeps it from an agent that the TID happens to name.
        Verdict::Local if smp::is_answer(smp) && !livepatch::settled() => Some(Obstacle::NotAsked),
        _ => None,
    }
}
