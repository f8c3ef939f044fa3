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

/// The `N` bytes of a field. An SMP is longer than any offset in it.
fn field<const N: usize>(smp: &Smp, at: usize) -> [u8; N] {
    smp.get(at..)
        .and_then(<[u8]>::first_chunk)
        .copied()
        .unwrap_or([0; N])
}

/// Returns the transaction ID. Its high word names the agent that has asked.
#[inline]
pub(crate) fn tid(smp: &Smp) -> u64 {
    u64::from_be_bytes(field(smp, offset_of!(ib_smp, tid)))
}

/// What an SMP is about: the fields of its header that no hop looks at, in host byte order.
pub(crate) struct Header {
    pub(crate) mgmt_class: u8,
    pub(crate) method: u8,
    /// Without the D bit.
    pub(crate) status: u16,
    pub(crate) tid: u64,
    pub(crate) attr_id: u16,
    pub(crate) attr_mod: u32,
}

impl Header {
    /// Reads the header.
    pub(crate) fn read(smp: &Smp) -> Self {
        const D: u16 = 0x8000;
        Self {
            mgmt_class: smp[offset_of!(ib_smp, mgmt_class)],
            method: smp[offset_of!(ib_smp, method)],
            status: u16::from_be_bytes(field(smp, offset_of!(ib_smp, status))) & !D,
            tid: tid(smp),
            attr_id: u16::from_be_bytes(field(smp, offset_of!(ib_smp, attr_id))),
            attr_mod: u32::from_be_bytes(field(smp, offset_of!(ib_smp, attr_mod))),
        }
    }
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
