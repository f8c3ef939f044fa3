// SPDX-License-Identifier: GPL-2.0

//! What differs between the kernels that are supported, all of it: everything else is written once.
//!
//! Kbuild sets `linux_7_3` for Linux 7.3 and later. Names of the `kernel` crate that it has only since then
//! are taken from here, under the same names. What an older kernel lacks is made up for below.

#![allow(dead_code, unused_imports, unused_macros)] // A module needs a part of it.

#[cfg(linux_7_3)]
pub(crate) use self::since_7_3::*;

#[cfg(not(linux_7_3))]
pub(crate) use self::before_7_3::*;

#[cfg(linux_7_3)]
mod since_7_3 {
    pub(crate) use kernel::{
        configfs::configfs_attrs,
        module::this_module,
        new_spinlock_irq,
        sync::SpinLockIrq, //
    };
    use kernel::{
        module_param::ModuleParamAccess,
        prelude::*,
        sync::barrier, //
    };

    /// The value of a parameter.
    pub(crate) fn value<T: Copy>(param: &ModuleParamAccess<T>) -> T {
        param.value()
    }

    /// Puts reads in order.
    pub(crate) fn smp_rmb() {
        barrier::smp_mb(barrier::Read);
    }

    /// The error of that name.
    pub(crate) fn eopnotsupp() -> Error {
        EOPNOTSUPP
    }

    /// The error of that name.
    pub(crate) fn enobufs() -> Error {
        ENOBUFS
    }

    /// A limit in `struct ib_device_attr`.
    pub(crate) fn limit(number: u32) -> u32 {
        number
    }
}

#[cfg(not(linux_7_3))]
mod before_7_3 {
    use kernel::{
        bindings,
        ffi::{
            c_char,
            c_int,
            c_ulong, //
        },
        module_param::ModuleParamAccess,
        prelude::*,
        sync::lock::{
            Backend,
            Lock, //
        },
        ModuleMetadata,
    };

    /// The `THIS_MODULE` of this module, whatever its type.
    pub(crate) const fn this_module<M: ModuleMetadata>() -> &'static ThisModule {
        &crate::THIS_MODULE
    }

    /// The value of a parameter.
    pub(crate) fn value<T: Copy>(param: &ModuleParamAccess<T>) -> T {
        *param.value()
    }

    pub(crate) use kernel::sync::barrier::smp_rmb;

    /// The error of that name.
    pub(crate) fn eopnotsupp() -> Error {
        Error::from_errno(-(bindings::EOPNOTSUPP as c_int))
    }

    /// The error of that name.
    pub(crate) fn enobufs() -> Error {
        Error::from_errno(-(bindings::ENOBUFS as c_int))
    }

    /// A limit in `struct ib_device_attr`, which has them signed.
    pub(crate) fn limit(number: u32) -> c_int {
        c_int::try_from(number).unwrap_or(c_int::MAX)
    }

    /// The kernel's macro, which looks for a `THIS_MODULE` where it is used.
    macro_rules! configfs_attrs {
        ($($words:tt)*) => {{
            use crate::THIS_MODULE;
            ::kernel::configfs::configfs_attrs! { $($words)* }
        }};
    }

    /// A spinlock that is held with interrupts off. They come back when the guard goes, so that of two guards
    /// the one that was taken later has to go first.
    pub(crate) type SpinLockIrq<T> = Lock<T, SpinLockIrqBackend>;

    /// Makes an initialiser of such a lock.
    macro_rules! new_spinlock_irq {
        ($inner:expr $(, $name:literal)? $(,)?) => {
            $crate::compat::SpinLockIrq::new(
                $inner, ::kernel::optional_name!($($name)?), ::kernel::static_lock_class!())
        };
    }

    pub(crate) use configfs_attrs;
    pub(crate) use new_spinlock_irq;

    /// The backend of [`SpinLockIrq`].
    pub(crate) struct SpinLockIrqBackend;

    // SAFETY: A `spinlock_t` of the kernel gives mutual exclusion.
    unsafe impl Backend for SpinLockIrqBackend {
        type State = bindings::spinlock_t;
        /// Whether interrupts were on.
        type GuardState = c_ulong;

        unsafe fn init(
            ptr: *mut Self::State,
            name: *const c_char,
            key: *mut bindings::lock_class_key,
        ) {
            // SAFETY: By the requirements.
            unsafe { bindings::__spin_lock_init(ptr, name, key) }
        }

        unsafe fn lock(ptr: *mut Self::State) -> c_ulong {
            // SAFETY: By the requirements `ptr` is initialised. A `raw_spinlock_t` comes first in it.
            unsafe { bindings::_raw_spin_lock_irqsave(ptr.cast()) }
        }

        unsafe fn try_lock(_: *mut Self::State) -> Option<c_ulong> {
            // Nobody tries here.
            None
        }

        unsafe fn unlock(ptr: *mut Self::State, flags: &c_ulong) {
            // SAFETY: By the requirements `ptr` is locked, by `lock` above, which has returned the flags.
            unsafe { bindings::_raw_spin_unlock_irqrestore(ptr.cast(), *flags) }
        }

        unsafe fn assert_is_held(ptr: *mut Self::State) {
            // SAFETY: By the requirements.
            unsafe { bindings::spin_assert_is_held(ptr) }
        }
    }
}
