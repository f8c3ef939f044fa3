// SPDX-License-Identifier: GPL-2.0

//! An SMP comes in, and is passed on at once if it goes on from here.
//!
//! ib_mad would ask twice more, copy the SMP, and hand the copy to `transmit`. But all is known when it has
//! been judged, so that ib_mad is told that it goes no further: it does the same with what it has passed on
//! itself. Only while the livepatch is in transition, and where ib_mad's structure around the SMP is not
//! found, an SMP goes on step by step.

use super::{
    arrival,
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
        self,
        Format,
        Smp, //
    },
    transmit::{
        self,
        Outgoing, //
    }, //
};
use crate::{
    bindings,
    dr::{
        Decision,
        Node,
        Verdict, //
    },
    rdma::device::Device, //
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
    Ports::at(origin, |port| {
        // SAFETY: By the safety requirements.
        let bytes = unsafe { &mut *smp };
        let tally = port.map(Port::tally);
        let Some(decision) = arrival::judge(bytes, format, origin, node, ingress, tally) else {
            return true;
        };
        match (&arrived, origin.device) {
            (Some(arrived), Some(device))
                if decision.verdict != Verdict::Local && livepatch::settled() =>
            {
                pass_on(arrived, (device, origin.port), port, (format, ingress, decision));
                true
            }
            _ => false,
        }
    })
}

/// Passes an SMP on that was judged.
#[inline(always)]
fn pass_on(
    arrived: &Arrived<'_>,
    (device, agent_port): (&Device, u32),
    port: Option<&Port>,
    (format, ingress, decision): (Format, u8, Decision),
) {
    // SAFETY: The buffer is the caller's alone, who does not write to it any more.
    let mad = unsafe { arrived.buffer() };
    let Some(smp) = mad.first_chunk::<{ size_of::<Smp>() }>() else {
        return;
    };
    let wc = arrived.wc();
    let len = if u32::from(smp[0]) == bindings::OPA_MGMT_BASE_VERSION {
        // SAFETY: The completion is valid as long as the SMP; its structure is packed.
        smp::opa_len(unsafe { (&raw const (*wc).byte_len).read_unaligned() })
    } else {
        size_of::<Smp>()
    };
    let outgoing = Outgoing {
        mad: mad.get(..len.max(size_of::<Smp>())).unwrap_or(mad),
        len,
        transit: true,
        wc,
        grh: arrived.grh(),
        slid: 0,
        ingress,
        egress: 0,
        smi: true,
        opa: format == Format::Opa,
    };
    transmit::pass(device, agent_port, port, &outgoing, (smp, format), Some(decision));
}
