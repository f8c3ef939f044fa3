// SPDX-License-Identifier: GPL-2.0

//! The bytes of an InfiniBand SMP, and the two places in it that a hop writes.
//!
//! C header: [`include/rdma/ib_smi.h`](srctree/include/rdma/ib_smi.h)

use crate::{
    bindings::{
        self,
        ib_smp, //
    },
    dr::Decision, //
};
use core::mem::offset_of;

/// The bytes of an SMP, all of them hostile.
pub(crate) type Smp = [u8; size_of::<ib_smp>()];

/// Returns the transaction ID. Its high word names the agent that has asked.
pub(crate) fn tid(smp: &Smp) -> u64 {
    const AT: usize = offset_of!(ib_smp, tid);
    smp.get(AT..)
        .and_then(<[u8]>::first_chunk)
        .map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// Returns whether ib_mad takes the SMP for an answer: for the agent that its TID names.
///
/// C function: `ib_response_mad()`.
pub(crate) fn is_answer(smp: &Smp) -> bool {
    let method = u32::from(smp[offset_of!(ib_smp, method)]);
    method & bindings::IB_MGMT_METHOD_RESP != 0 || method == bindings::IB_MGMT_METHOD_TRAP_REPRESS
}

/// Writes the decision into the SMP: the Return Path and, if `advance`, the Hop Pointer.
#[inline]
pub(crate) fn apply(smp: &mut Smp, decision: &Decision, advance: bool) {
    if let Some(record) = decision.record {
        let element = offset_of!(ib_smp, return_path) + usize::from(record.element);
        if let Some(element) = smp.get_mut(element) {
            *element = record.port;
        }
    }
    if advance {
        smp[offset_of!(ib_smp, hop_ptr)] = decision.hop_ptr;
    }
}
