// SPDX-License-Identifier: GPL-2.0

//! Work requests: what is posted to a queue pair.
//!
//! Without a DMA device the core puts kernel addresses into scatter and gather entries
//! (`ib_uses_virt_dma`), so that "DMA" is a copy.
//!
//! C header: [`include/rdma/ib_verbs.h`](srctree/include/rdma/ib_verbs.h)

use super::{
    ah,
    wc::Status,
    AhAttr, //
};
use crate::bindings;
use core::{
    num::NonZeroU64,
    ptr, //
};
use kernel::prelude::*;

/// A send request, during `post_send`.
///
/// # Invariants
///
/// The request, its address handle and what its gather entries name are valid.
pub(crate) struct SendWr<'a>(&'a bindings::ib_ud_wr);

impl<'a> SendWr<'a> {
    /// Wraps a request.
    ///
    /// # Safety
    ///
    /// `wr` must be the `wr` of an `ib_ud_wr` with all that hangs on it valid for `'a`, as a consumer
    /// owes to `ib_post_send` on QP0 and QP1.
    pub(super) unsafe fn from_raw(wr: *const bindings::ib_send_wr) -> Self {
        // INVARIANT: By the requirements.
        // SAFETY: By the requirements; `wr` is the first member.
        Self(unsafe { &*wr.cast::<bindings::ib_ud_wr>() })
    }

    /// What the poster calls it.
    pub(crate) fn wr_id(&self) -> u64 {
        self.0.wr.__bindgen_anon_1.bindgen_union_field
    }

    /// Whether it is a plain send, the only thing that QP0 and QP1 do.
    pub(crate) fn is_send(&self) -> bool {
        self.0.wr.opcode == bindings::ib_wr_opcode_IB_WR_SEND
    }

    /// Tests a flag of the request.
    fn flag(&self, flag: bindings::ib_send_flags) -> bool {
        self.0.wr.send_flags & flag as kernel::ffi::c_int != 0
    }

    /// Whether the poster wants a completion.
    pub(crate) fn is_signaled(&self) -> bool {
        self.flag(bindings::ib_send_flags_IB_SEND_SIGNALED)
    }

    /// Whether the receiver shall be told at once.
    pub(crate) fn is_solicited(&self) -> bool {
        self.flag(bindings::ib_send_flags_IB_SEND_SOLICITED)
    }

    /// Whether the data shall be taken out of the request.
    pub(crate) fn is_inline(&self) -> bool {
        self.flag(bindings::ib_send_flags_IB_SEND_INLINE)
    }

    /// Where to.
    pub(crate) fn ah(&self) -> Option<AhAttr> {
        // SAFETY: By the type invariants.
        unsafe { ah::attr(self.0.ah) }
    }

    /// Which queue pair there.
    pub(crate) fn remote_qpn(&self) -> u32 {
        self.0.remote_qpn
    }

    /// The key of that queue pair.
    pub(crate) fn remote_qkey(&self) -> u32 {
        self.0.remote_qkey
    }

    /// Which P_Key.
    pub(crate) fn pkey_index(&self) -> u16 {
        self.0.pkey_index
    }

    /// The port to leave by, which counts on the QP0 of a switch.
    pub(crate) fn port(&self) -> u32 {
        self.0.port_num
    }

    /// Number of gather entries.
    pub(crate) fn sges(&self) -> usize {
        usize::try_from(self.0.wr.num_sge).unwrap_or(0)
    }

    /// A gather entry.
    fn sge(&self, index: usize) -> &bindings::ib_sge {
        // SAFETY: By the type invariants there are `num_sge` entries, and callers ask for no others.
        unsafe { &*self.0.wr.sg_list.add(index) }
    }

    /// How much the gather entries name.
    pub(crate) fn gathered(&self) -> usize {
        let lengths = (0..self.sges()).map(|index| usize::try_from(self.sge(index).length));
        lengths.fold(0, |sum, len| sum.saturating_add(len.unwrap_or(usize::MAX)))
    }

    /// Copies what the gather entries name, to one place after the other. They have to be filled
    /// exactly.
    pub(crate) fn gather<const N: usize>(
        &self,
        lkey: u32,
        mut out: [&mut [u8]; N],
    ) -> Result<(), Status> {
        let mut places = out.iter_mut();
        let mut to: &mut [u8] = &mut [];
        for index in 0..self.sges() {
            let sge = self.sge(index);
            if sge.lkey != lkey {
                return Err(Status::LocalProtection);
            }
            let mut from = from_dma(sge.addr);
            let mut left = usize::try_from(sge.length).map_err(|_| Status::LocalLength)?;
            while left != 0 {
                while to.is_empty() {
                    to = places.next().ok_or(Status::LocalLength)?;
                }
                let len = left.min(to.len());
                let (now, later) = to.split_at_mut_checked(len).ok_or(Status::LocalLength)?;
                // SAFETY: By the type invariants the entry names that much memory, at a kernel address
                // since the device has no DMA device; `now` is on our side.
                unsafe { now.as_mut_ptr().copy_from_nonoverlapping(from, len) };
                // SAFETY: As above: there is that much before the end of the entry.
                from = unsafe { from.add(len) };
                left = left.saturating_sub(len);
                to = later;
            }
        }
        let full = to.is_empty() && places.all(|place| place.is_empty());
        full.then_some(()).ok_or(Status::LocalLength)
    }
}

/// The kernel address behind a virtual DMA address.
fn from_dma(addr: u64) -> *mut u8 {
    // CAST: `ib_virt_dma_to_ptr`; an address has 64 bits here.
    ptr::with_exposed_provenance_mut(addr as usize)
}

/// A receive buffer that was posted and not completed yet. There are many of them, so that it is kept
/// small.
///
/// # Invariants
///
/// The buffer is valid while the queue pair that it was posted to lives and no completion for it has
/// been polled. It must stay with that queue pair.
pub(crate) struct RecvBuffer {
    addr: NonZeroU64,
    /// Its length.
    len: u32,
    /// Whether it came with the right key.
    allowed: bool,
}

impl RecvBuffer {
    /// The buffer, if the key fits.
    pub(super) fn room(&self) -> Result<*mut [u8], Status> {
        if !self.allowed {
            return Err(Status::LocalProtection);
        }
        let len = usize::try_from(self.len).map_err(|_| Status::LocalLength)?;
        Ok(ptr::slice_from_raw_parts_mut(
            from_dma(self.addr.get()),
            len,
        ))
    }
}

/// A receive request.
pub(crate) struct RecvWr {
    /// What the poster calls it.
    pub(crate) wr_id: u64,
    /// The buffer.
    pub(crate) buffer: RecvBuffer,
}

impl RecvWr {
    /// Reads a request that has to carry a key.
    ///
    /// # Safety
    ///
    /// `wr` must be valid, and its buffer be as the invariants of [`RecvBuffer`] have it.
    pub(super) unsafe fn from_raw(wr: *const bindings::ib_recv_wr, lkey: u32) -> Result<Self> {
        // SAFETY: By the requirements.
        let wr = unsafe { &*wr };
        if wr.num_sge != 1 {
            return Err(EINVAL);
        }
        // SAFETY: There is one entry.
        let sge = unsafe { &*wr.sg_list };
        Ok(Self {
            wr_id: wr.__bindgen_anon_1.bindgen_union_field,
            // INVARIANT: By the requirements.
            buffer: RecvBuffer {
                addr: NonZeroU64::new(sge.addr).ok_or(EINVAL)?,
                len: sge.length,
                allowed: sge.lkey == lkey,
            },
        })
    }
}
