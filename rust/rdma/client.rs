// SPDX-License-Identifier: GPL-2.0

//! A client of the RDMA core: told of each device that comes and goes.
//!
//! C headers: [`include/rdma/ib_verbs.h`](srctree/include/rdma/ib_verbs.h),
//! [`include/linux/srcu.h`](srctree/include/linux/srcu.h)

use super::device::Device;
use crate::{
    bindings,
    once, //
};
use kernel::{
    alloc::KVec,
    error::to_result,
    new_mutex,
    prelude::*,
    static_lock_class,
    str::as_char_ptr_in_const_context,
    sync::{
        atomic::{
            ordering,
            Atomic, //
        },
        Arc,
        Mutex, //
    },
    types::Opaque, //
};

/// What a client keeps of a device.
pub(crate) trait Client: Sized + Send + Sync + 'static {
    /// The client's name, for the RDMA core.
    const NAME: &'static CStr;

    /// The one registration of this client.
    fn registration() -> &'static Registration<Self>;

    /// A device came: returns what is kept of it, which is dropped when the device goes.
    ///
    /// The drop may sleep. When it is over, nothing of the client may use the device.
    fn add(device: &'static Device) -> Result<Arc<Self>>;

    /// The device that this is kept of.
    fn device(&self) -> &Device;

    /// The device has another name now.
    fn renamed(&self) {}
}

/// What a client keeps of a device, until that or the client goes.
///
/// The RDMA core does not make the one wait for the other: when a client goes, and is still at work on a device,
/// the core takes away what is below, if that device goes too. So whoever comes second waits here for the first.
#[pin_data]
struct Kept<T> {
    device: *const Device,
    #[pin]
    data: Mutex<Option<Arc<T>>>,
}

// SAFETY: The pointer to the device is only compared.
unsafe impl<T: Send + Sync> Send for Kept<T> {}
// SAFETY: As above.
unsafe impl<T: Send + Sync> Sync for Kept<T> {}

/// What a client keeps of all devices.
struct List<T> {
    kept: KVec<Arc<Kept<T>>>,
    /// None is added any more.
    closed: bool,
}

/// The registration of a client.
///
/// # Invariants
///
/// `srcu` is initialised, and `list` is one, from [`Registration::register`] until [`Registered`] is dropped.
pub(crate) struct Registration<T: Client> {
    client: Opaque<bindings::ib_client>,
    /// Keeps what the client has of a device while somebody looks at it.
    srcu: Opaque<bindings::srcu_struct>,
    /// What is kept of the last device that was added of those with this index, modulo the number of
    /// places. Others are found by the RDMA core, which takes longer.
    near: [Atomic<*const T>; NEAR],
    list: Atomic<*const Mutex<List<T>>>,
}

/// Places for devices that are found at once.
const NEAR: usize = 256;

// SAFETY: The RDMA core and SRCU lock what they change, and the rest is constant.
unsafe impl<T: Client> Sync for Registration<T> {}

impl<T: Client> Registration<T> {
    /// Describes the client; registers nothing.
    pub(crate) const fn new() -> Self {
        // SAFETY: A `struct ib_client` is valid when zeroed.
        let zeroed: bindings::ib_client = unsafe { core::mem::zeroed() };
        Self {
            client: Opaque::new(bindings::ib_client {
                name: as_char_ptr_in_const_context(T::NAME),
                add: Some(add::<T>),
                remove: Some(remove::<T>),
                rename: Some(rename::<T>),
                ..zeroed
            }),
            srcu: Opaque::uninit(),
            near: [const { Atomic::new(core::ptr::null()) }; NEAR],
            list: Atomic::new(core::ptr::null()),
        }
    }

    /// Registers the client, which adds all devices there are; undone when the guard is dropped.
    ///
    /// To be called once.
    pub(crate) fn register(&'static self) -> Result<Registered<T>> {
        let empty = List {
            kept: KVec::new(),
            closed: false,
        };
        let list = KBox::pin_init(new_mutex!(empty, "ib_client"), GFP_KERNEL)?;
        // SAFETY: The structure is static, and nobody uses it yet.
        to_result(unsafe {
            bindings::ib_smi_init_srcu(
                self.srcu.get(),
                T::NAME.as_char_ptr(),
                static_lock_class!().as_ptr(),
            )
        })?;
        // INVARIANT: `srcu` is initialised, and the list is there; the guard cleans up, also if the
        // registration fails.
        self.list.store(&raw const *list, ordering::Release);
        let mut guard = Registered {
            registration: self,
            registered: false,
            _list: list,
        };
        // SAFETY: The client is static and complete.
        to_result(unsafe { bindings::ib_register_client(self.client.get()) })?;
        guard.registered = true;
        Ok(guard)
    }

    /// Calls `f`, which may sleep, with what the client keeps of the device.
    ///
    /// Returns `None` for a device that the client has not added, or that goes. The client must be
    /// registered.
    #[inline]
    pub(crate) fn with<R>(&self, device: &Device, f: impl FnOnce(&T) -> R) -> Option<R> {
        self.look(device).get().map(f)
    }

    /// Looks at what the client keeps of the device. The client must be registered.
    #[inline]
    pub(crate) fn look(&self, device: &Device) -> Look<'_, T> {
        let reader = Reader::new(&self.srcu);
        let near = once::read(self.near(device));
        // SAFETY: Null, or what the client keeps of a device: it is taken from here, and dropped not before
        // all readers that can have seen it are gone.
        let data = match unsafe { near.as_ref() } {
            Some(data) if core::ptr::eq(data.device(), device) => Some(data),
            _ => self.find(device),
        };
        Look {
            data: data.map(core::ptr::from_ref),
            _reader: reader,
        }
    }

    /// Asks the RDMA core what the client keeps of the device. A reader must exist, for as long as that is
    /// looked at.
    #[cold]
    fn find(&self, device: &Device) -> Option<&T> {
        // SAFETY: The device is registered by its type invariants, and `client_id` is set before any
        // device is added. (This is `ib_get_client_data()`, which C inlines.)
        let data = unsafe {
            bindings::xa_load(
                &raw mut (*device.as_raw()).client_data,
                (*self.client.get()).client_id as usize,
            )
        };
        // SAFETY: Null, or what `add()` has set, which is dropped not before all readers that can have
        // seen it are gone.
        unsafe { data.cast_const().cast::<T>().as_ref() }
    }

    /// What the client keeps of all devices.
    fn list(&self) -> &Mutex<List<T>> {
        // SAFETY: By the type invariants; only asked for while the client is registered.
        unsafe { &*self.list.load(ordering::Acquire) }
    }

    /// What the client keeps of a device, if it does.
    fn kept(&self, device: &Device) -> Option<Arc<Kept<T>>> {
        let list = self.list().lock();
        let mut kept = list.kept.iter();
        kept.find(|kept| core::ptr::eq(kept.device, device))
            .cloned()
    }

    /// Adds a device.
    fn add(&self, device: &'static Device) -> Result {
        let data = T::add(device)?;
        let pointer = Arc::as_ptr(&data);
        let kept = Arc::pin_init(
            pin_init!(Kept {
                device,
                data <- new_mutex!(Some(data), "ib_client_data"),
            }),
            GFP_KERNEL,
        )?;
        // If the client goes, what was made goes behind the lock.
        let spare = kept.clone();
        let mut list = self.list().lock();
        if list.closed {
            return Err(ENODEV);
        }
        list.kept.push(kept, GFP_KERNEL)?;
        drop(spare);
        // SAFETY: The RDMA core is adding the device, and has made room for this client's data.
        unsafe {
            bindings::ib_set_client_data(
                device.as_raw(),
                self.client.get(),
                pointer.cast_mut().cast(),
            )
        };
        self.near(device).store(pointer, ordering::Release);
        Ok(())
    }

    /// Drops what is kept of a device, unless that was done; waits for who does it.
    fn drop_data(&self, kept: &Kept<T>) {
        let mut data = kept.data.lock();
        let Some(data) = data.take() else { return };
        let device = data.device();
        // SAFETY: The device is registered: it waits for this lock in `remove()`, at the latest.
        unsafe {
            bindings::ib_set_client_data(device.as_raw(), self.client.get(), core::ptr::null_mut())
        };
        // It may be another device's by now.
        let _ = self
            .near(device)
            .cmpxchg(Arc::as_ptr(&data), core::ptr::null(), ordering::Relaxed);
        // SAFETY: Initialised while the client is registered.
        unsafe { bindings::synchronize_srcu_expedited(self.srcu.get()) };
        // Nobody looks at it any more.
        drop(data);
    }

    /// The same; then it is not kept any more.
    fn forget(&self, kept: &Arc<Kept<T>>) {
        self.drop_data(kept);
        let mut list = self.list().lock();
        list.kept.retain(|other| !Arc::ptr_eq(other, kept));
    }

    /// Drops what is kept of all devices. None is added any more.
    fn drop_all(&self) {
        self.list().lock().closed = true;
        let next = || self.list().lock().kept.first().cloned();
        while let Some(kept) = next() {
            self.forget(&kept);
        }
    }

    /// Removes a device.
    fn remove(&self, device: &Device) {
        if let Some(kept) = self.kept(device) {
            self.forget(&kept);
        }
    }

    /// Where to look for a device first.
    #[inline]
    fn near(&self, device: &Device) -> &Atomic<*const T> {
        &self.near[device.index() as usize % NEAR]
    }
}

/// A look at what a client keeps of a device: that stays as long as this.
pub(crate) struct Look<'a, T> {
    data: Option<*const T>,
    _reader: Reader<'a>,
}

impl<T> Look<'_, T> {
    /// Nothing, if the client has not added the device, or if it goes.
    #[inline]
    pub(crate) fn get(&self) -> Option<&T> {
        // SAFETY: Found by `look()`, whose reader keeps it.
        self.data.map(|data| unsafe { &*data })
    }
}

/// A registered client.
pub(crate) struct Registered<T: Client> {
    registration: &'static Registration<T>,
    registered: bool,
    _list: Pin<KBox<Mutex<List<T>>>>,
}

impl<T: Client> Drop for Registered<T> {
    fn drop(&mut self) {
        if self.registered {
            self.registration.drop_all();
            // SAFETY: It is registered. Removes all devices before it returns.
            unsafe { bindings::ib_unregister_client(self.registration.client.get()) };
        }
        // SAFETY: Initialised by `register()`, and all readers were gone when the devices were.
        unsafe { bindings::cleanup_srcu_struct(self.registration.srcu.get()) };
    }
}

/// A reader, who may sleep, of what clients keep.
struct Reader<'a> {
    srcu: &'a Opaque<bindings::srcu_struct>,
    section: c_ulong,
}

impl<'a> Reader<'a> {
    #[inline]
    fn new(srcu: &'a Opaque<bindings::srcu_struct>) -> Self {
        Self {
            srcu,
            // SAFETY: Initialised while the client is registered.
            section: unsafe { bindings::ib_smi_srcu_read_lock(srcu.get()) },
        }
    }
}

impl Drop for Reader<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: Locked by `new()`.
        unsafe { bindings::ib_smi_srcu_read_unlock(self.srcu.get(), self.section) };
    }
}

/// # Safety
///
/// Only the RDMA core may call it, with a device being registered.
unsafe extern "C" fn add<T: Client>(device: *mut bindings::ib_device) -> c_int {
    // SAFETY: The device stays registered until `remove()` has returned.
    let device = unsafe { Device::from_raw(device) };
    match T::registration().add(device) {
        Ok(()) => 0,
        Err(error) => {
            // The RDMA core goes on without a word.
            let errno = error.to_errno();
            pr_err!(
                "{}: the device is left alone (error {errno})\n",
                device.name()
            );
            errno
        }
    }
}

/// # Safety
///
/// Only the RDMA core may call it, with a registered device; it does not remove the device meanwhile.
unsafe extern "C" fn rename<T: Client>(device: *mut bindings::ib_device, _data: *mut c_void) {
    // SAFETY: By the safety requirements.
    let device = unsafe { Device::from_raw(device) };
    if let Some(kept) = T::registration().kept(device) {
        // The RDMA core holds a lock. What is being dropped needs no name.
        if let Some(data) = kept.data.try_lock().as_ref().and_then(|data| data.as_ref()) {
            data.renamed();
        }
    }
}

/// # Safety
///
/// Only the RDMA core may call it, with a device that was added, or that could not be.
unsafe extern "C" fn remove<T: Client>(device: *mut bindings::ib_device, _data: *mut c_void) {
    // SAFETY: The device is registered until the RDMA core has removed all clients.
    T::registration().remove(unsafe { Device::from_raw(device) });
}
