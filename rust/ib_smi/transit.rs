// SPDX-License-Identifier: GPL-2.0

//! An SMP comes in, and is passed on at once if it goes on from here.
//!
//! ib_mad would ask twice more, copy the SMP, and hand the copy to `transmit`. But all is known when it has
//! been judged, so that ib_mad is told that it goes no further: it does the same with what it has passed on
//! itself. Only while the livepatch is in transition, and where ib_mad's structure around the SMP is not
//! found, an SMP goes on step by step.

use super::{
    arrival,
    hop::{
        Hop,
        Obstacle,
        Point, //
    },
    livepatch,
    origin::{
        Arrived,
        Origin, //
    },
    ports::{
        Port,
        Ports, //
    },
    smp::{
        Format,
        Smp, //
    },
    transmit, //
};
use crate::dr::{
    Node,
    Verdict, //
};

/// Judges an SMP, and passes it on if it goes on. Returns whether ib_mad is done with it.
///
/// # Safety
///
/// `smp` must be what ib_mad hands to `smi_handle_dr_smp_recv()`, or to `opa_smi_handle_dr_smp_recv()` if it
/// has the format of Omni-Path: an SMP in a receive buffer that is the caller's alone.
#[inline(always)]
pub(crate) unsafe fn receive(smp: *mut Smp, format: Format, node: Node, ingress: u8) -> bool {
    // SAFETY: By the safety requirements.
    let arrived = unsafe { Arrived::find(smp) };
    let origin = arrived.as_ref().map_or(Origin::UNKNOWN, Arrived::origin);
    let found = Ports::at(origin);
    let port = found.port();
    // SAFETY: By the safety requirements.
    let bytes = unsafe { &*smp };
    let tally = port.map(Port::tally);
    let settled = livepatch::settled();
    let mut hop = arrival::decide(bytes, format, origin, (node, ingress), settled);
    if arrived
        .as_ref()
        .is_some_and(|arrived| arrived.is_short(format))
    {
        hop.obstacle = Some(Obstacle::TooShort);
    }
    arrival::tell(&hop, tally);
    if hop.is_discarded() {
        return true;
    }
    if let (Some(arrived), false, true) =
        (&arrived, hop.decision.verdict == Verdict::Local, settled)
    {
        pass_on(&mut hop, arrived, port);
        return true;
    }
    let decision = arrival::take(&hop);
    // SAFETY: By the safety requirements; nobody else looks at it any more.
    arrival::write(unsafe { &mut *smp }, format, &decision);
    false
}

/// Passes an SMP on that was judged.
#[inline(always)]
fn pass_on(hop: &mut Hop<'_>, arrived: &Arrived<'_>, port: Option<&Port>) {
    hop.point = Point::Forward;
    transmit::announce(hop);
    hop.obstacle = match port.and_then(|port| port.direct.as_ref()) {
        Some(queue) => {
            // SAFETY: The buffer is the caller's alone, and nobody writes to it while `hop` is there.
            let mad = unsafe { arrived.mad() };
            transmit::post_direct(queue, mad, arrived.pkey_index(), None, hop).err()
        }
        None => Some(Obstacle::NoAgent),
    };
    hop.settle(port.map(Port::tally));
}
