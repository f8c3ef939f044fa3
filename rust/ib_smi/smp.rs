// SPDX-License-Identifier: GPL-2.0

//! The bytes of an SMP, InfiniBand's or Omni-Path's, and the two places in it that a hop writes.
//!
//! C headers: [`include/rdma/ib_smi.h`](srctree/include/rdma/ib_smi.h),
//! [`include/rdma/opa_smi.h`](srctree/include/rdma/opa_smi.h)

use crate::{
    bindings::{
        self,
        ib_smp,
        opa_smp, //
    },
    dr::{
        Decision,
        DrLid,
        DrSmp,
        PATH_LEN, //
    }, //
};
use core::mem::offset_of;

/// The bytes of an SMP, all of them hostile. An Omni-Path SMP may have more behind, which no hop looks
/// at.
pub(crate) type Smp = [u8; size_of::<ib_smp>()];

/// How an SMP has its route. The numbers are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Format {
    /// InfiniBand: 16-bit LIDs, paths at the end of 256 bytes.
    Ib = 0,
    /// Omni-Path: 32-bit LIDs, paths before the data.
    Opa = 1,
}

impl Format {
    /// The format that ib_mad takes an SMP to be in that has come in; `opa` is whether the port speaks the
    /// MADs of Omni-Path. An answer has the versions of its request, hence its format too.
    ///
    /// C function: `handle_smi()`.
    #[inline]
    pub(crate) fn of_arrived(smp: &Smp, opa: bool) -> Self {
        let version = u32::from(smp[offset_of!(ib_smp, base_version)]);
        Self::of_departing(smp, opa && version == bindings::OPA_MGMT_BASE_VERSION)
    }

    /// The format that ib_mad takes an SMP to be in that the node itself sends, whatever its base version.
    ///
    /// C function: `handle_outgoing_dr_smp()`.
    #[inline]
    pub(crate) fn of_departing(smp: &Smp, opa: bool) -> Self {
        let version = u32::from(smp[offset_of!(ib_smp, class_version)]);
        if opa && version == bindings::OPA_SM_CLASS_VERSION {
            Self::Opa
        } else {
            Self::Ib
        }
    }

    /// The route of an SMP in this format.
    #[inline(always)]
    pub(crate) fn route(self, smp: &Smp) -> DrSmp<'_> {
        match self {
            Self::Ib => DrSmp::from_ib(smp),
            Self::Opa => DrSmp::from_opa(smp),
        }
    }

    /// A LID as an SMP in this format has it.
    pub(crate) fn lid(self, lid: DrLid) -> u32 {
        match (lid, self) {
            (DrLid::Lid(lid), _) => lid,
            (DrLid::Permissive, Self::Ib) => u16::MAX.into(),
            (DrLid::Permissive, Self::Opa) => u32::MAX,
        }
    }

    /// How many bytes an SMP has at least: InfiniBand's all of them, Omni-Path's those before its data.
    #[inline]
    pub(crate) const fn least(self) -> usize {
        match self {
            Self::Ib => size_of::<ib_smp>(),
            Self::Opa => OPA_DATA,
        }
    }

    /// Where the Return Path is.
    #[inline]
    const fn return_path(self) -> usize {
        match self {
            Self::Ib => offset_of!(ib_smp, return_path),
            Self::Opa => OPA_RETURN_PATH,
        }
    }
}

/// Where the Return Path of an Omni-Path SMP is: behind both LIDs and the Initial Path.
const OPA_RETURN_PATH: usize = offset_of!(opa_smp, route) + 4 + 4 + 64;

/// Where its data begins: behind eight bytes that are reserved.
const OPA_DATA: usize = OPA_RETURN_PATH + PATH_LEN + 8;

/// The `N` bytes of a field. An SMP is longer than any offset in it.
fn field<const N: usize>(smp: &Smp, at: usize) -> [u8; N] {
    smp.get(at..)
        .and_then(<[u8]>::first_chunk)
        .copied()
        .unwrap_or([0; N])
}

/// The length of an Omni-Path MAD that came in as so many bytes, with the area of the GRH.
pub(crate) fn opa_len(received: u32) -> usize {
    usize::try_from(received)
        .unwrap_or(0)
        .saturating_sub(size_of::<bindings::ib_grh>())
        .min(size_of::<bindings::opa_mad>())
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

/// Returns whether the SMP is a response by its method.
pub(crate) fn is_response(smp: &Smp) -> bool {
    method(smp) & bindings::IB_MGMT_METHOD_RESP != 0
}

/// Returns whether ib_mad takes the SMP for an answer: for the agent that its TID names.
///
/// C function: `ib_response_mad()`.
pub(crate) fn is_answer(smp: &Smp) -> bool {
    is_response(smp) || method(smp) == bindings::IB_MGMT_METHOD_TRAP_REPRESS
}

/// Returns the method.
#[inline]
pub(crate) fn method(smp: &Smp) -> u32 {
    smp[offset_of!(ib_smp, method)].into()
}

/// Writes the decision into the SMP: the Return Path and, if `advance`, the Hop Pointer.
#[inline]
pub(crate) fn apply(smp: &mut Smp, format: Format, decision: &Decision, advance: bool) {
    if let Some(record) = decision.record {
        let path = smp
            .get_mut(format.return_path()..)
            .and_then(<[u8]>::first_chunk_mut::<PATH_LEN>);
        if let Some(element) = path.and_then(|path| path.get_mut(usize::from(record.element))) {
            *element = record.port;
        }
    }
    if advance {
        smp[offset_of!(ib_smp, hop_ptr)] = decision.hop_ptr;
    }
}
