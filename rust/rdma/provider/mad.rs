// SPDX-License-Identifier: GPL-2.0

//! `process_mad`: the driver's first look at a datagram.
//!
//! C header: [`include/rdma/ib_mad.h`](srctree/include/rdma/ib_mad.h)

use super::{
    device,
    Provider,
    GRH_SIZE, //
};
use crate::bindings;
use core::slice;
use kernel::ffi::c_int;

/// Size of a management datagram.
pub(crate) const MAD_SIZE: usize = 256;

/// Size of the largest management datagram of Omni-Path.
pub(crate) const OPA_MAD_SIZE: usize = size_of::<bindings::opa_mad>();

/// Where a datagram came from. Missing when the kernel itself asks.
#[derive(Clone, Copy)]
pub(crate) struct MadOrigin {
    /// The port that it came in by: on a switch, an external one.
    pub(crate) port: u32,
    /// The LID that it came from.
    pub(crate) slid: u16,
}

/// What becomes of a datagram.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum MadResult {
    /// Not the driver's business: agents get it.
    Pass,
    /// Answered, with so many bytes.
    Reply(usize),
    /// Dealt with, no answer.
    Consumed,
}

impl MadResult {
    /// The number that the core has for it.
    fn to_c(self) -> c_int {
        let flags = match self {
            MadResult::Pass => bindings::ib_mad_result_IB_MAD_RESULT_SUCCESS,
            MadResult::Reply(_) => {
                bindings::ib_mad_result_IB_MAD_RESULT_SUCCESS
                    | bindings::ib_mad_result_IB_MAD_RESULT_REPLY
            }
            MadResult::Consumed => {
                bindings::ib_mad_result_IB_MAD_RESULT_SUCCESS
                    | bindings::ib_mad_result_IB_MAD_RESULT_CONSUMED
            }
        };
        // CAST: Flags below 8.
        flags as c_int
    }
}

/// `process_mad`.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
pub(super) unsafe extern "C" fn process<P: Provider>(
    device: *mut bindings::ib_device,
    _flags: c_int,
    port: u32,
    wc: *const bindings::ib_wc,
    _grh: *const bindings::ib_grh,
    request: *const bindings::ib_mad,
    reply: *mut bindings::ib_mad,
    reply_size: *mut usize,
    pkey_index: *mut u16,
) -> c_int {
    // SAFETY: The core passes a registered device of ours.
    let data = unsafe { device::shared::<P>(device) };
    // SAFETY: The core passes null or a valid completion.
    let origin = unsafe { wc.as_ref() }.map(|wc| MadOrigin {
        port: wc.port_num,
        // CAST: LIDs have 16 bits on this link layer.
        slid: wc.slid as u16,
    });
    // SAFETY: The core passes valid memory, in which the size is that which the port announced.
    let reply_size = unsafe { &mut *reply_size };
    // SAFETY: The core passes initialised buffers of that size, but for a request of InfiniBand's, which
    // may have `MAD_SIZE` bytes only.
    let ib_request = unsafe { &*request.cast::<[u8; MAD_SIZE]>() };
    let [base_version, ..] = *ib_request;
    let opa =
        *reply_size >= OPA_MAD_SIZE && u32::from(base_version) == bindings::OPA_MGMT_BASE_VERSION;
    // SAFETY: The core passes valid memory; without Omni-Path it does not look at it.
    unsafe { pkey_index.write(P::OPA_PKEY_INDEX) };
    let result = if opa {
        // SAFETY: The core passes null or a valid completion.
        let received = unsafe { wc.as_ref() }.map_or(0, |wc| wc.byte_len);
        let received = usize::try_from(received).unwrap_or(0);
        let len = received.saturating_sub(GRH_SIZE).min(OPA_MAD_SIZE);
        // SAFETY: See above; this one is of Omni-Path's.
        let request = unsafe { slice::from_raw_parts(request.cast::<u8>(), len) };
        // SAFETY: As above, and nobody else knows this one.
        let reply = unsafe { &mut *reply.cast::<[u8; OPA_MAD_SIZE]>() };
        P::process_opa_mad(data, port, origin, request, reply)
    } else {
        // SAFETY: As above.
        let reply = unsafe { &mut *reply.cast::<[u8; MAD_SIZE]>() };
        P::process_mad(data, port, origin, ib_request, reply)
    };
    if let MadResult::Reply(len) = result {
        *reply_size = len;
    }
    result.to_c()
}
