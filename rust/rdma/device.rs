// SPDX-License-Identifier: GPL-2.0

//! An RDMA device, as a client sees it.
//!
//! C header: [`include/rdma/ib_verbs.h`](srctree/include/rdma/ib_verbs.h)

use crate::bindings;
use core::ops::RangeInclusive;
use kernel::{
    prelude::*,
    str::BStr,
    types::Opaque, //
};

/// An RDMA device.
///
/// # Invariants
///
/// The `struct ib_device` is registered, or about to be unregistered by the callers of this module's
/// client, hence fully initialised.
#[repr(transparent)]
pub(crate) struct Device(Opaque<bindings::ib_device>);

// SAFETY: A `struct ib_device` is not bound to a thread.
unsafe impl Send for Device {}
// SAFETY: The fields read below are constant while the device is registered.
unsafe impl Sync for Device {}

impl Device {
    /// Wraps a device of the RDMA core.
    ///
    /// # Safety
    ///
    /// `device` must point to a registered device that stays so for `'a`.
    pub(crate) unsafe fn from_raw<'a>(device: *const bindings::ib_device) -> &'a Self {
        // SAFETY: By the safety requirements; `Self` is a transparent wrapper.
        unsafe { &*device.cast() }
    }

    /// Returns the C device.
    pub(crate) fn as_raw(&self) -> *mut bindings::ib_device {
        self.0.get()
    }

    /// Returns the device's name, such as `mlx5_0`.
    pub(crate) fn name(&self) -> &BStr {
        // SAFETY: By the type invariants; the array always ends in a nul.
        let name = unsafe { CStr::from_char_ptr((&raw const (*self.as_raw()).name).cast()) };
        BStr::from_bytes(name.to_bytes())
    }

    /// Returns the number that tells the device from all others that are registered.
    pub(crate) fn index(&self) -> u32 {
        // SAFETY: By the type invariants.
        unsafe { (*self.as_raw()).index }
    }

    /// Returns whether the device is a switch: its only MAD agents are those of port 0.
    pub(crate) fn is_switch(&self) -> bool {
        // SAFETY: By the type invariants; the bit is set before registration.
        unsafe { bindings::ib_device::is_switch_raw(self.as_raw()) != 0 }
    }

    /// Returns the number of external ports.
    pub(crate) fn phys_ports(&self) -> u8 {
        // SAFETY: By the type invariants.
        let count = unsafe { (*self.as_raw()).phys_port_cnt };
        count.try_into().unwrap_or(u8::MAX)
    }

    /// Returns whether the driver executes MADs itself: whether the node has an SMA in the kernel.
    pub(crate) fn has_process_mad(&self) -> bool {
        // SAFETY: By the type invariants.
        unsafe { (*self.as_raw()).ops.process_mad.is_some() }
    }

    /// Returns the ports that the MAD layer knows: 1…N on a CA, 0 on a switch.
    pub(crate) fn mad_ports(&self) -> RangeInclusive<u32> {
        // SAFETY: By the type invariants.
        let first = unsafe { bindings::ib_smi_first_port(self.as_raw()) };
        // SAFETY: By the type invariants.
        let last = unsafe { bindings::ib_smi_last_port(self.as_raw()) };
        first..=last
    }

    /// Returns whether the port has a QP0.
    pub(crate) fn has_smi(&self, port: u32) -> bool {
        // SAFETY: By the type invariants; the RDMA core has data of each port in `mad_ports()`.
        self.mad_ports().contains(&port) && unsafe { bindings::ib_smi_cap_smi(self.as_raw(), port) }
    }

    /// Returns whether ib_core answers on the port's QP1.
    pub(crate) fn has_gsi(&self, port: u32) -> bool {
        // SAFETY: By the type invariants; the RDMA core has data of each port in `mad_ports()`.
        self.mad_ports().contains(&port) && unsafe { bindings::ib_smi_cap_gsi(self.as_raw(), port) }
    }
}
