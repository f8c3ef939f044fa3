// SPDX-License-Identifier: GPL-2.0

//! Which device and port an SMP concerns.
//!
//! Four of the functions that are replaced get nothing but the SMP. Around its buffer lies a private
//! structure of ib_mad's, which knows. The layout is that of the very kernel that is built against,
//! and what is found is checked before it is believed.
//!
//! C header: [`drivers/infiniband/core/mad_priv.h`](srctree/drivers/infiniband/core/mad_priv.h)

use super::smp::{
    self,
    Format,
    Smp, //
};
use crate::{
    bindings,
    rdma::device::Device, //
};
use core::{
    marker::PhantomData,
    mem::offset_of, //
};

/// The node, and the port of its MAD agent: 0 on a switch.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'a> {
    /// The device, if it is known.
    pub(crate) device: Option<&'a Device>,
    /// The port of the device's MAD agent; 0 if the device is not known.
    pub(crate) port: u32,
}

impl Origin<'_> {
    /// The origin of an SMP of which nothing is known.
    pub(crate) const UNKNOWN: Self = Self {
        device: None,
        port: 0,
    };

    /// The device and port of an agent.
    ///
    /// # Safety
    ///
    /// `agent` must be registered for `'a`.
    pub(crate) unsafe fn of_agent<'a>(agent: *const bindings::ib_mad_agent) -> Origin<'a> {
        // SAFETY: By the safety requirements; an agent's device outlives it.
        unsafe {
            Origin {
                device: Some(Device::from_raw((*agent).device)),
                port: (*agent).port_num.into(),
            }
        }
    }
}

/// An SMP that ib_mad has received, in its private structure.
///
/// # Invariants
///
/// The pointer is a `struct ib_mad_private` that is valid for `'a`, and whose MAD was received on QP0.
pub(crate) struct Arrived<'a>(*const bindings::ib_mad_private, PhantomData<&'a Smp>);

impl<'a> Arrived<'a> {
    /// Finds the structure around an SMP that was received.
    ///
    /// # Safety
    ///
    /// `smp` must be what `handle_ib_smi()` hands to `smi_handle_dr_smp_recv()`: the `mad` of a
    /// `struct ib_mad_private`, which is valid for `'a`.
    #[inline]
    pub(crate) unsafe fn find(smp: *const Smp) -> Option<Self> {
        let offset = offset_of!(bindings::ib_mad_private, mad);
        // SAFETY: By the safety requirements, `smp` is that far into the structure.
        let private = unsafe { smp.byte_sub(offset) }.cast::<bindings::ib_mad_private>();
        // SAFETY: By the safety requirements. The structure is packed, hence the unaligned read.
        let mad = unsafe {
            (&raw const (*private).header.recv_wc.recv_buf.__bindgen_anon_1.mad).read_unaligned()
        };
        // SAFETY: As above.
        let qp = unsafe { (&raw const (*private).header.wc.qp).read_unaligned() };
        // INVARIANT: The structure points to the SMP, and has a completion.
        (mad.cast_const().cast() == smp && !qp.is_null()).then_some(Self(private, PhantomData))
    }

    /// The device and port that have received it.
    #[inline]
    pub(crate) fn origin(&self) -> Origin<'a> {
        // SAFETY: The completion's queue pair is one that ib_mad made: its context is this.
        unsafe {
            let qp = (&raw const (*self.0).header.wc.qp).read_unaligned();
            let info = (*qp).qp_context.cast::<bindings::ib_mad_qp_info>();
            let port = (*info).port_priv;
            Origin {
                device: Some(Device::from_raw((*port).device)),
                port: (*port).port_num as u32,
            }
        }
    }

    /// Returns whether less of it has come in than an SMP of that format has to have.
    #[inline]
    pub(crate) fn is_short(&self, format: Format) -> bool {
        // SAFETY: By the type invariants.
        let received = unsafe { (&raw const (*self.0).header.wc.byte_len).read_unaligned() };
        (received as usize) < size_of::<bindings::ib_grh>() + format.least()
    }

    /// Which P_Key of the port it came in with, as far as the driver says.
    #[inline]
    pub(crate) fn pkey_index(&self) -> u16 {
        // SAFETY: By the type invariants.
        unsafe { (&raw const (*self.0).header.wc.pkey_index).read_unaligned() }
    }

    /// The MAD in its buffer, of which there are at least as many bytes as an InfiniBand SMP has, and how
    /// many bytes the MAD has.
    ///
    /// # Safety
    ///
    /// Nobody may write to it for `'a`.
    #[inline]
    pub(crate) unsafe fn mad(&self) -> (&'a [u8], usize) {
        // SAFETY: By the type invariants; the buffer is as long as the structure says, 256 bytes at least.
        let (buffer, received) = unsafe {
            let size = (&raw const (*self.0).mad_size).read_unaligned();
            (
                core::slice::from_raw_parts((&raw const (*self.0).mad).cast::<u8>(), size),
                (&raw const (*self.0).header.wc.byte_len).read_unaligned(),
            )
        };
        let opa = buffer.first().copied().map(u32::from) == Some(bindings::OPA_MGMT_BASE_VERSION);
        let len = if opa {
            smp::opa_len(received)
        } else {
            size_of::<Smp>()
        };
        let mad = buffer.get(..len.max(size_of::<Smp>())).unwrap_or(buffer);
        (mad, len)
    }
}

/// The size of ib_mad's structure behind an SMP.
const STRUCTURE: usize = size_of::<bindings::ib_mad_send_wr_private>();

/// An SMP that ib_mad is about to send, in its private structure.
///
/// # Invariants
///
/// The pointer is a `struct ib_mad_send_wr_private` whose buffer is being sent by the caller.
pub(crate) struct Departing(*mut bindings::ib_mad_send_wr_private);

impl Departing {
    /// Finds the structure behind an SMP that is being sent.
    ///
    /// # Safety
    ///
    /// `smp` must be what `handle_outgoing_dr_smp()` hands to `smi_handle_dr_smp_send()`, or to its twin
    /// for Omni-Path if it has that format: the `mad` of a buffer that `ib_create_send_mad()` made.
    #[inline]
    pub(crate) unsafe fn find(smp: *mut Smp, format: Format) -> Option<Self> {
        // SAFETY: By the safety requirements.
        let base_version = u32::from(unsafe { (*smp)[0] });
        // `ib_create_send_mad()` puts the structure behind 2048 bytes if it is told the base version of
        // Omni-Path on a port of that, and behind 256 otherwise. By the base version alone nobody can
        // tell, unless it is InfiniBand's: a client may name any, and a sender may have changed it since.
        let room = if (format, base_version) == (Format::Ib, bindings::IB_MGMT_BASE_VERSION) {
            size_of::<Smp>()
        } else {
            // The SMP is where the memory begins.
            // SAFETY: By the safety requirements.
            let allocated = unsafe { kernel::bindings::ksize(smp.cast()) };
            if allocated < size_of::<bindings::opa_mad>() + STRUCTURE {
                size_of::<Smp>()
            } else {
                size_of::<bindings::opa_mad>()
            }
        };
        // SAFETY: So many bytes and the structure were allocated.
        let private = unsafe { smp.byte_add(room) }.cast::<bindings::ib_mad_send_wr_private>();
        // SAFETY: In bounds, as above.
        let mad = unsafe { (&raw const (*private).send_buf.mad).read_unaligned() };
        // INVARIANT: The structure points back to the SMP.
        (mad.cast() == smp).then_some(Self(private))
    }

    /// The agent's device and port.
    pub(crate) fn origin<'a>(&self) -> Origin<'a> {
        // SAFETY: By the type invariants; the sender holds its agent, which holds the device.
        unsafe { Origin::of_agent((*self.0).send_buf.mad_agent) }
    }

    /// How many milliseconds ib_mad waits for an answer, 0 if none is expected, and how often it sends
    /// again.
    pub(crate) fn patience(&self) -> (u32, u32) {
        // SAFETY: By the type invariants.
        let (timeout, retries) =
            unsafe { ((*self.0).send_buf.timeout_ms, (*self.0).send_buf.retries) };
        // What a client means to be more than a `c_int` holds, ib_mad takes for as good as ever.
        (timeout as u32, retries as u32)
    }

    /// Sets the external port by which a switch sends the SMP.
    pub(crate) fn set_egress(&self, port: u8) {
        // SAFETY: By the type invariants; not posted yet, hence the caller's alone.
        unsafe { (*self.0).send_wr.port_num = port.into() };
    }
}
