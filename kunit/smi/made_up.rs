// SPDX-License-Identifier: GPL-2.0

//! A device that is made up, and what ib_mad would keep around an SMP of it.

use crate::{
    bindings,
    dr::Node,
    ib_smi::{
        arrival,
        livepatch,
        origin::Origin,
        smp::{
            Format,
            Smp, //
        }, //
    },
    packet::Packet,
    rdma::device::Device, //
};
use core::mem::MaybeUninit;
use kernel::{
    alloc::flags::__GFP_ZERO,
    prelude::*, //
};

/// The external ports of the device.
pub(crate) const PORTS: u8 = 4;

/// The port of its MAD agent.
pub(crate) const AGENT_PORT: u8 = 9;

/// The format of a made-up SMP on a port that speaks both.
pub(crate) fn format(packet: &Packet) -> Format {
    Format::of_arrived(&packet.bytes(), true)
}

/// Judges an SMP that came in, and leaves it to ib_mad if it is not discarded. Returns whether it is.
pub(crate) fn arrive(
    smp: &mut Smp,
    format: Format,
    origin: Origin<'_>,
    node: Node,
    ingress: u8,
) -> bool {
    let settled = livepatch::settled();
    let hop = arrival::decide(smp, format, origin, (node, ingress), settled);
    arrival::tell(&hop, None);
    if hop.is_discarded() {
        return true;
    }
    let decision = arrival::take(&hop);
    arrival::write(smp, format, &decision);
    false
}

/// What does not look as ib_mad leaves it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// Nothing.
    None,
    /// The structure points to another SMP.
    BackPointer,
    /// The structure points to none.
    NoBackPointer,
    /// The completion has no queue pair.
    NoQueuePair,
    /// The SMP has the base version of Omni-Path.
    BaseVersion,
}

/// An SMP that was received, in its structure.
#[repr(C)]
struct Received {
    private: bindings::ib_mad_private,
    smp: Smp,
}

/// An SMP that is to be sent, with its structure behind.
#[repr(C)]
struct Departing {
    smp: Smp,
    private: bindings::ib_mad_send_wr_private,
}

type Memory<T> = KBox<MaybeUninit<T>>;

/// Zeroed memory for a C structure.
fn memory<T>() -> Result<Memory<T>> {
    Ok(KBox::new_uninit(GFP_KERNEL | __GFP_ZERO)?)
}

/// The device.
///
/// # Invariants
///
/// All that the structures point to is one of them. They are valid when zeroed.
pub(crate) struct MadeUp {
    device: Memory<bindings::ib_device>,
    port: Memory<bindings::ib_mad_port_private>,
    info: Memory<bindings::ib_mad_qp_info>,
    qp: Memory<bindings::ib_qp>,
    agent: Memory<bindings::ib_mad_agent>,
    received: Memory<Received>,
    departing: Memory<Departing>,
}

impl MadeUp {
    /// Makes the device; `sma` is whether its driver executes MADs.
    pub(crate) fn new(sma: bool) -> Result<Self> {
        // INVARIANT: Nothing points anywhere yet.
        let mut this = Self {
            device: memory()?,
            port: memory()?,
            info: memory()?,
            qp: memory()?,
            agent: memory()?,
            received: memory()?,
            departing: memory()?,
        };
        let device = this.device.as_mut_ptr();
        let (port, info) = (this.port.as_mut_ptr(), this.info.as_mut_ptr());
        // INVARIANT: Only the structures are pointed to.
        // SAFETY: All memory is ours.
        unsafe {
            (*device).phys_port_cnt = PORTS.into();
            (*device).ops.process_mad = if sma { Some(process_mad) } else { None };
            (&raw mut (*device).name)
                .cast::<[u8; 8]>()
                .write(*b"made_up\0");
            (*port).device = device;
            (*port).port_num = AGENT_PORT.into();
            (*info).port_priv = port;
            (*this.qp.as_mut_ptr()).qp_context = info.cast();
            (*this.agent.as_mut_ptr()).device = device;
            (*this.agent.as_mut_ptr()).port_num = AGENT_PORT;
        }
        Ok(this)
    }

    /// The device.
    pub(crate) fn device(&self) -> &Device {
        // SAFETY: The memory is ours. It is not registered, but has all the fields that are read.
        unsafe { Device::from_raw(self.device.as_ptr()) }
    }

    /// An SMP as it was received.
    pub(crate) fn received(&mut self, packet: &Packet, flaw: Flaw) -> *mut Smp {
        let received = self.received.as_mut_ptr();
        // SAFETY: The memory is ours.
        let smp = unsafe { &raw mut (*received).smp };
        // SAFETY: As above.
        unsafe { smp.write(packet.bytes()) };
        let mad = back_pointer(smp, flaw);
        let qp = match flaw {
            Flaw::NoQueuePair => core::ptr::null_mut(),
            _ => self.qp.as_mut_ptr(),
        };
        // SAFETY: The memory is ours; the structure is packed.
        unsafe {
            let header = &raw mut (*received).private.header;
            (&raw mut (*header).recv_wc.recv_buf.__bindgen_anon_1.mad).write_unaligned(mad.cast());
            (&raw mut (*header).wc.qp).write_unaligned(qp);
        }
        smp
    }

    /// An SMP as it is before it is sent.
    pub(crate) fn departing(&mut self, packet: &Packet, flaw: Flaw) -> *mut Smp {
        let departing = self.departing.as_mut_ptr();
        // SAFETY: The memory is ours.
        let smp = unsafe { &raw mut (*departing).smp };
        let mut bytes = packet.bytes();
        if flaw == Flaw::BaseVersion {
            bytes[0] = 0x80;
        }
        // SAFETY: The memory is ours.
        unsafe {
            smp.write(bytes);
            (*departing).private.send_buf.mad = back_pointer(smp, flaw).cast();
            (*departing).private.send_buf.mad_agent = self.agent.as_mut_ptr();
            (*departing).private.send_wr.port_num = 0;
        }
        smp
    }

    /// Has ib_mad wait so many milliseconds for the answer to the departing SMP, and send it twice more.
    pub(crate) fn wait(&mut self, millis: u32) {
        let departing = self.departing.as_mut_ptr();
        // SAFETY: The memory is ours.
        unsafe {
            (*departing).private.send_buf.timeout_ms = millis as c_int;
            (*departing).private.send_buf.retries = 2;
        }
    }

    /// The external port that the work request of the departing SMP names.
    pub(crate) fn egress(&self) -> u32 {
        // SAFETY: The memory is ours, and valid when zeroed.
        unsafe { (*self.departing.as_ptr()).private.send_wr.port_num }
    }
}

/// Where a structure points to that ought to point to `smp`.
fn back_pointer(smp: *mut Smp, flaw: Flaw) -> *mut Smp {
    match flaw {
        Flaw::BackPointer => smp.wrapping_byte_add(8),
        Flaw::NoBackPointer => core::ptr::null_mut(),
        _ => smp,
    }
}

/// Nobody calls it: that it is there makes the SMA.
///
/// # Safety
///
/// None.
unsafe extern "C" fn process_mad(
    _device: *mut bindings::ib_device,
    _flags: c_int,
    _port: u32,
    _wc: *const bindings::ib_wc,
    _grh: *const bindings::ib_grh,
    _request: *const bindings::ib_mad,
    _reply: *mut bindings::ib_mad,
    _reply_len: *mut usize,
    _pkey_index: *mut u16,
) -> c_int {
    0
}
