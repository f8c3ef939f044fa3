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
use crate::dr::Node;

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
    Ports::at(origin, |port| {
        // SAFETY: By the safety requirements.
        let bytes = unsafe { &mut *smp };
        let tally = port.map(Port::tally);
        arrival::judge(bytes, format, origin, (node, ingress), tally, |hop| {
            match &arrived {
                Some(arrived) if livepatch::settled() => pass_on(hop, arrived, port),
                _ => return false,
            }
            true
        })
    })
}

/// Passes an SMP on that was judged.
#[inline(always)]
fn pass_on(mut hop: Hop<'_>, arrived: &Arrived<'_>, port: Option<&Port>) {
    hop.point = Point::Forward;
    transmit::send_on(hop, port, |hop, port| {
        let queue = port.direct.as_ref().ok_or(Obstacle::NoAgent)?;
        // SAFETY: The buffer is ib_mad's caller's alone, and `hop` sees to it that nobody writes to it.
        let mad = unsafe { arrived.mad() };
        transmit::post_direct(queue, mad, 0, hop)
    });
}
