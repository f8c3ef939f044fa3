// SPDX-License-Identifier: GPL-2.0

//! Wakes somebody up after a while, in a context that may sleep, until he is told to stop.
//!
//! The kernel crate can queue a delayed work but neither bring it forward nor cancel it, and a device
//! that goes away has to. Hence this one.
//!
//! C header: [`include/linux/workqueue.h`](srctree/include/linux/workqueue.h)

use crate::compat::{
    new_spinlock_irq,
    SpinLockIrq, //
};
use kernel::{
    bindings,
    prelude::*,
    str::CStrExt,
    sync::{
        static_lock_class,
        Arc,
        ArcBorrow, //
    },
    time::{
        msecs_to_jiffies,
        Msecs, //
    },
    types::Opaque, //
};

/// Somebody who can be woken up.
pub(crate) trait Tick: Send + Sync + 'static {
    /// Does what is due. May sleep.
    fn tick(this: ArcBorrow<'_, Self>);
}

/// The clock of one `T`, which it may be a part of.
///
/// # Invariants
///
/// The work is queued or runs only between [`Ticker::start`] and the end of [`Ticker::stop`].
#[pin_data]
#[repr(C)]
pub(crate) struct Ticker<T: Tick> {
    #[pin]
    work: Opaque<bindings::delayed_work>,
    #[pin]
    target: SpinLockIrq<Option<Arc<T>>>,
}

// SAFETY: A work item can be queued and cancelled from any thread, and `T` is shared already.
unsafe impl<T: Tick> Send for Ticker<T> {}

// SAFETY: As above.
unsafe impl<T: Tick> Sync for Ticker<T> {}

impl<T: Tick> Ticker<T> {
    /// A clock that stands still.
    pub(crate) fn new() -> impl PinInit<Self> {
        // INVARIANT: Nothing is queued.
        pin_init!(Self {
            work <- Opaque::ffi_init(|slot: *mut bindings::delayed_work| {
                // SAFETY: The place is ours to initialise.
                let (work, timer) = unsafe { (&raw mut (*slot).work, &raw mut (*slot).timer) };
                // SAFETY: As above; `run` is made for a work in this place.
                unsafe {
                    bindings::init_work_with_key(
                        work,
                        Some(Self::run),
                        false,
                        c"ibfabric_ticker".as_char_ptr(),
                        static_lock_class!().as_ptr(),
                    )
                };
                // SAFETY: As above; the timer is that of a delayed work.
                unsafe {
                    bindings::timer_init_key(
                        timer,
                        Some(bindings::delayed_work_timer_fn),
                        bindings::TIMER_IRQSAFE,
                        c"ibfabric_ticker_timer".as_char_ptr(),
                        static_lock_class!().as_ptr(),
                    )
                };
            }),
            target <- new_spinlock_irq!(None, "ibfabric_ticker_target"),
        })
    }

    /// Gets to know whom to wake up. [`Ticker::stop`] has to follow, or `target` is never freed.
    pub(crate) fn start(&self, target: Arc<T>) {
        *self.target.lock() = Some(target);
    }

    /// Wakes the target up in `delay`, in place of any other time. Works in any context; does nothing
    /// before [`Ticker::start`] and after [`Ticker::stop`].
    pub(crate) fn wake_in(&self, delay: Msecs) {
        let target = self.target.lock();
        if target.is_none() {
            return;
        }
        // SAFETY: A static of the kernel, set long before any module is loaded.
        let queue = unsafe { bindings::system_dfl_wq };
        // SAFETY: The work is initialised, and cancelled before it is freed: by the lock, `stop` comes
        // later.
        unsafe {
            bindings::mod_delayed_work_on(
                // CAST: A small number.
                bindings::wq_misc_consts_WORK_CPU_UNBOUND as kernel::ffi::c_int,
                queue,
                self.work.get(),
                msecs_to_jiffies(delay),
            )
        };
    }

    /// Wakes nobody up any more, and waits until the target is at rest. May sleep.
    pub(crate) fn stop(&self) {
        let target = self.target.lock().take();
        // SAFETY: The work is initialised. It is not queued again, since there is no target.
        unsafe { bindings::cancel_delayed_work_sync(self.work.get()) };
        // INVARIANT: Neither queued nor running any more.
        drop(target);
    }

    /// What the workqueue calls.
    ///
    /// # Safety
    ///
    /// For the workqueue only, with the work of a ticker.
    unsafe extern "C" fn run(work: *mut bindings::work_struct) {
        let ticker: *const Self = work.cast_const().cast();
        // SAFETY: `work` is the first member of the first member; by the type invariants `stop` waits
        // for this function, and the ticker lives until then.
        let ticker = unsafe { &*ticker };
        let target = ticker.target.lock().clone();
        if let Some(target) = target {
            T::tick(target.as_arc_borrow());
        }
    }
}

const _: () = assert!(core::mem::offset_of!(bindings::delayed_work, work) == 0);
