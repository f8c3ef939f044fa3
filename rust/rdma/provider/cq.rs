// SPDX-License-Identifier: GPL-2.0

//! Completion queues, as the core calls them.
//!
//! C header: [`include/rdma/ib_verbs.h`](srctree/include/rdma/ib_verbs.h)

use super::{
    device,
    wc::Wc,
    Provider, //
};
use crate::bindings;
use core::{
    marker::PhantomData,
    mem::MaybeUninit, //
};
use kernel::{
    error::from_result,
    ffi::c_int, //
};

/// When to call the completion handler.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notify {
    /// On the next completion.
    Next,
    /// On the next solicited or failed one.
    Solicited,
}

/// Room for completions, during `poll_cq`.
///
/// # Invariants
///
/// There is room for `capacity` completions at `at`, `len` of them written.
pub(crate) struct WcBuffer<'a> {
    at: *mut bindings::ib_wc,
    len: usize,
    capacity: usize,
    _room: PhantomData<&'a mut bindings::ib_wc>,
}

impl WcBuffer<'_> {
    /// Whether no more fit.
    pub(crate) fn is_full(&self) -> bool {
        self.len >= self.capacity
    }

    /// Adds a completion; ignored when full.
    pub(crate) fn push(&mut self, wc: Wc) {
        if self.is_full() {
            return;
        }
        // SAFETY: By the type invariants.
        let slot = unsafe { self.at.add(self.len) };
        // SAFETY: By the type invariants.
        unsafe { slot.write(wc.to_c()) };
        // INVARIANT: One more is written, and there was room.
        self.len = self.len.saturating_add(1);
    }
}

/// What the RDMA core allocates for a completion queue.
///
/// # Invariants
///
/// `inner` is initialised from `create_cq` to `destroy_cq`.
#[repr(C)]
pub(super) struct Cq<P: Provider> {
    base: bindings::ib_cq,
    inner: MaybeUninit<P::Cq>,
}

/// The driver's side of a completion queue.
///
/// # Safety
///
/// `cq` must be a completion queue of a device of `P`, alive for `'a`.
pub(super) unsafe fn inner<'a, P: Provider>(cq: *mut bindings::ib_cq) -> &'a P::Cq {
    // SAFETY: By the requirements; `base` is the first member.
    let slot = unsafe { &(*cq.cast::<Cq<P>>()).inner };
    // SAFETY: By the type invariants.
    unsafe { slot.assume_init_ref() }
}

/// `create_cq`.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
pub(super) unsafe extern "C" fn create<P: Provider>(
    cq: *mut bindings::ib_cq,
    attr: *const bindings::ib_cq_init_attr,
    _attrs: *mut bindings::uverbs_attr_bundle,
) -> c_int {
    from_result(|| {
        // SAFETY: The core passes valid attributes.
        let depth = unsafe { (*attr).cqe };
        // SAFETY: The core has set the device.
        let device = unsafe { (*cq).device };
        // SAFETY: It is a device of ours.
        let inner = unsafe { device::data::<P>(device) }.create_cq(depth)?;
        // SAFETY: The core allocated `size_ib_cq` bytes, which is that of `Cq`.
        let slot = unsafe { &mut (*cq.cast::<Cq<P>>()).inner };
        // INVARIANT: Established here.
        slot.write(inner);
        // SAFETY: Nobody else knows the queue yet.
        unsafe { (*cq).cqe = c_int::try_from(depth)? };
        Ok(0)
    })
}

/// `destroy_cq`.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
pub(super) unsafe extern "C" fn destroy<P: Provider>(
    cq: *mut bindings::ib_cq,
    _udata: *mut bindings::ib_udata,
) -> c_int {
    // SAFETY: As in `inner`.
    let slot = unsafe { &mut (*cq.cast::<Cq<P>>()).inner };
    // SAFETY: By the type invariants; the core does not use it any more.
    unsafe { slot.assume_init_drop() };
    0
}

/// `poll_cq`.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
pub(super) unsafe extern "C" fn poll<P: Provider>(
    cq: *mut bindings::ib_cq,
    entries: c_int,
    wc: *mut bindings::ib_wc,
) -> c_int {
    // INVARIANT: The core passes room for that many.
    let mut out = WcBuffer {
        at: wc,
        len: 0,
        capacity: usize::try_from(entries).unwrap_or(0),
        _room: PhantomData,
    };
    // SAFETY: The core passes a live queue of ours.
    P::poll_cq(unsafe { inner::<P>(cq) }, &mut out);
    c_int::try_from(out.len).unwrap_or(0)
}

/// `req_notify_cq`.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
pub(super) unsafe extern "C" fn req_notify<P: Provider>(
    cq: *mut bindings::ib_cq,
    flags: bindings::ib_cq_notify_flags,
) -> c_int {
    let notify = if flags & bindings::ib_cq_notify_flags_IB_CQ_SOLICITED_MASK
        == bindings::ib_cq_notify_flags_IB_CQ_SOLICITED
    {
        Notify::Solicited
    } else {
        Notify::Next
    };
    // SAFETY: The core passes a live queue of ours.
    let missed = P::req_notify_cq(unsafe { inner::<P>(cq) }, notify);
    let report = flags & bindings::ib_cq_notify_flags_IB_CQ_REPORT_MISSED_EVENTS != 0;
    c_int::from(report && missed)
}
