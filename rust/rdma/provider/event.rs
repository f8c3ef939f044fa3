// SPDX-License-Identifier: GPL-2.0

//! What a driver tells the core, and the core its consumers.
//!
//! C header: [`include/rdma/ib_verbs.h`](srctree/include/rdma/ib_verbs.h)

use crate::{
    bindings,
    compat::{
        new_spinlock_irq,
        SpinLockIrq, //
    }, //
};
use core::ptr::NonNull;
use kernel::prelude::*;

/// Something that happened to a port.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PortEvent {
    /// It became active.
    Active,
    /// It is not active any more.
    Error,
    /// Its LID is another.
    LidChange,
    /// Its P_Key table is another.
    PkeyChange,
    /// The subnet manager is another.
    SmChange,
    /// The subnet manager wants all to register again.
    ClientReregister,
    /// Its GID table is another.
    GidChange,
}

impl PortEvent {
    /// The number that the core has for it.
    fn to_c(self) -> bindings::ib_event_type {
        match self {
            PortEvent::Active => bindings::ib_event_type_IB_EVENT_PORT_ACTIVE,
            PortEvent::Error => bindings::ib_event_type_IB_EVENT_PORT_ERR,
            PortEvent::LidChange => bindings::ib_event_type_IB_EVENT_LID_CHANGE,
            PortEvent::PkeyChange => bindings::ib_event_type_IB_EVENT_PKEY_CHANGE,
            PortEvent::SmChange => bindings::ib_event_type_IB_EVENT_SM_CHANGE,
            PortEvent::ClientReregister => bindings::ib_event_type_IB_EVENT_CLIENT_REREGISTER,
            PortEvent::GidChange => bindings::ib_event_type_IB_EVENT_GID_CHANGE,
        }
    }
}

/// The way from a device's data back to the device, for as long as it is registered.
///
/// # Invariants
///
/// While there is a device it is registered.
#[pin_data]
pub(crate) struct Reporter {
    #[pin]
    device: SpinLockIrq<Option<Device>>,
}

/// A device that is registered.
struct Device(NonNull<bindings::ib_device>);

// SAFETY: Events may be dispatched from any context.
unsafe impl Send for Device {}

impl Reporter {
    /// Knows no device yet.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            // INVARIANT: There is none.
            device <- new_spinlock_irq!(None, "ib_reporter"),
        })
    }

    /// Gets to know the device.
    ///
    /// # Safety
    ///
    /// The device must be registered, and stay so until [`Reporter::disconnect`].
    pub(super) unsafe fn connect(&self, device: NonNull<bindings::ib_device>) {
        // INVARIANT: By the requirements.
        *self.device.lock() = Some(Device(device));
    }

    /// Forgets the device.
    pub(super) fn disconnect(&self) {
        *self.device.lock() = None;
    }

    /// Tells the core that something happened to a port. Works in any context; lost while the device
    /// is not registered.
    pub(crate) fn report(&self, port: u8, event: PortEvent) {
        let device = self.device.lock();
        let Some(device) = &*device else { return };
        let mut c_event = bindings::ib_event {
            device: device.0.as_ptr(),
            event: event.to_c(),
            ..Default::default()
        };
        // SAFETY: The member that goes with all of these events.
        unsafe { *c_event.element.port_num.as_mut() = port.into() };
        // SAFETY: By the type invariants, as the lock is held; the core copies the event.
        unsafe { bindings::ib_dispatch_event(&c_event) };
    }
}
