// SPDX-License-Identifier: GPL-2.0

//! A device and its life in the RDMA core.
//!
//! C header: [`include/rdma/ib_verbs.h`](srctree/include/rdma/ib_verbs.h)

use super::{
    cm::NoCm,
    ops,
    NodeType,
    Provider, //
};
use crate::bindings;
use core::{
    mem::{
        align_of,
        MaybeUninit, //
    },
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::{
    error::to_result,
    prelude::*,
    str::{
        CStr,
        CStrExt, //
    },
    sync::{
        Arc,
        ArcBorrow, //
    },
};

/// What the RDMA core allocates for a device.
///
/// # Invariants
///
/// `data` is initialised before the device is registered, and until it is unregistered.
#[repr(C)]
struct Device<P: Provider> {
    base: bindings::ib_device,
    data: MaybeUninit<Arc<P>>,
}

/// The driver's data of a device, shared.
///
/// # Safety
///
/// `device` must be a device that was registered for `P`, and stay so for `'a`.
pub(super) unsafe fn shared<'a, P: Provider>(device: *mut bindings::ib_device) -> ArcBorrow<'a, P> {
    // SAFETY: By the requirements; `base` is the first member.
    let slot = unsafe { &(*device.cast::<Device<P>>()).data };
    // SAFETY: By the type invariants.
    unsafe { slot.assume_init_ref() }.as_arc_borrow()
}

/// The driver's data of a device.
///
/// # Safety
///
/// As for [`shared`].
pub(super) unsafe fn data<'a, P: Provider>(device: *mut bindings::ib_device) -> &'a P {
    // SAFETY: By the requirements; `base` is the first member.
    let slot = unsafe { &(*device.cast::<Device<P>>()).data };
    // SAFETY: By the type invariants.
    unsafe { slot.assume_init_ref() }
}

/// What the core has to know about a device at once.
pub(crate) struct DeviceInfo<'a> {
    /// Its name, without a `%`.
    pub(crate) name: &'a CStr,
    /// CA or switch.
    pub(crate) node_type: NodeType,
    /// GUID of the node.
    pub(crate) guid: u64,
    /// Node description.
    pub(crate) desc: [u8; 64],
    /// Number of external ports.
    pub(crate) ports: u32,
}

/// A registered device. Unregisters it when dropped, which waits for all of its users.
///
/// # Invariants
///
/// The device is registered for `P`.
pub(crate) struct Registration<P: Provider> {
    device: NonNull<Device<P>>,
    /// For a switch. Given back after the device is unregistered, as a field goes after the drop.
    _no_cm: Option<NoCm>,
}

// SAFETY: Unregistering works from any thread that may sleep, and `P` is shared already.
unsafe impl<P: Provider> Send for Registration<P> {}

// SAFETY: A shared registration gives access to nothing.
unsafe impl<P: Provider> Sync for Registration<P> {}

impl<P: Provider> Registration<P> {
    /// The core allocates with `kzalloc`, which aligns to this at least.
    const ALIGNED: () = assert!(align_of::<Device<P>>() <= 8);

    /// Registers a device with the core, which at once begins to use it.
    pub(crate) fn new(data: Arc<P>, info: &DeviceInfo<'_>) -> Result<Self> {
        let () = Self::ALIGNED;
        let no_cm = match info.node_type {
            NodeType::Switch => Some(NoCm::claim()?),
            NodeType::Ca => None,
        };
        if info.name.to_bytes().contains(&b'%') {
            return Err(EINVAL);
        }
        // SAFETY: `Device` begins with an `ib_device`; `init_net` lives for ever.
        let base = unsafe {
            bindings::_ib_alloc_device(size_of::<Device<P>>(), &raw mut kernel::bindings::init_net)
        };
        let device = NonNull::new(base.cast::<Device<P>>()).ok_or(ENOMEM)?;
        // SAFETY: The core just allocated it, zeroed where not initialised.
        let this = unsafe { &mut *device.as_ptr() };
        // INVARIANT: Established here, taken back below should registering fail.
        this.data.write(data.clone());
        let base = &mut this.base;
        base.node_type = info.node_type.to_c();
        base.set_is_switch((info.node_type == NodeType::Switch).into());
        base.phys_port_cnt = info.ports;
        base.node_guid = info.guid.to_be();
        base.num_comp_vectors = 1;
        base.local_dma_lkey = P::LOCAL_DMA_LKEY;
        for (to, from) in base.node_desc.iter_mut().zip(info.desc) {
            // CAST: A byte is a character in C.
            *to = from as kernel::ffi::c_char;
        }
        // SAFETY: The device is allocated and not registered; the table is copied.
        unsafe { bindings::ib_set_device_ops(base, &ops::Table::<P>::OPS) };
        // SAFETY: All that the core wants is set; without a DMA device, it uses virtual DMA. The name
        // is no format, as checked above.
        let status =
            unsafe { bindings::ib_register_device(base, info.name.as_char_ptr(), ptr::null_mut()) };
        // INVARIANT: Registered, or else dropped unseen.
        to_result(status).inspect_err(|_| {
            // SAFETY: Registering failed, so that nobody uses the device.
            unsafe { free(device) };
        })?;
        // SAFETY: Registered; `drop` disconnects before it unregisters.
        unsafe { data.reporter().connect(device.cast()) };
        P::registered(&data);
        Ok(Self {
            device,
            _no_cm: no_cm,
        })
    }
}

/// Frees a device.
///
/// # Safety
///
/// The device must not be registered (any more), and not be used after this.
unsafe fn free<P: Provider>(device: NonNull<Device<P>>) {
    // SAFETY: By the type invariants of `Device`.
    unsafe { (*device.as_ptr()).data.assume_init_drop() };
    // SAFETY: By the requirements.
    unsafe { bindings::ib_dealloc_device(device.as_ptr().cast()) };
}

impl<P: Provider> Drop for Registration<P> {
    fn drop(&mut self) {
        // SAFETY: By the type invariants.
        let data = unsafe { data::<P>(self.device.as_ptr().cast()) };
        data.unregistering();
        data.reporter().disconnect();
        // SAFETY: By the type invariants.
        unsafe { bindings::ib_unregister_device(self.device.as_ptr().cast()) };
        // SAFETY: It is not registered any more.
        unsafe { free(self.device) };
    }
}
