// SPDX-License-Identifier: GPL-2.0

//! The livepatch that puts our functions in the place of ib_core's.
//!
//! During a transition, which takes a second or two, a task may still call the old function at one
//! step of an SMP and a new one at the next. [`settled`] tells whether only new ones are called. And
//! another livepatch may come on top and have a function that is ours; [`Patch::leads`] tells that.
//!
//! C header: [`include/linux/livepatch.h`](srctree/include/linux/livepatch.h)

use crate::bindings;
use core::{
    cell::UnsafeCell,
    mem::offset_of, //
};
use kernel::{
    error::to_result,
    prelude::*,
    str::as_char_ptr_in_const_context,
    sync::atomic::{
        ordering,
        Atomic, //
    }, //
};

/// `MODULE_INFO(livepatch, "Y")`, without which the kernel refuses the patch.
#[used(compiler)]
#[link_section = ".modinfo"]
static MODINFO: [u8; 12] = *b"livepatch=Y\0";

/// Whether every task calls the new functions, and only those.
static SETTLED: Atomic<bool> = Atomic::new(false);

/// Returns whether the patch is complete: no old function runs, or will run, beside the new ones.
#[inline]
pub(crate) fn settled() -> bool {
    SETTLED.load(ordering::Relaxed)
}

/// The name of the module that is patched; none if ib_core is built into the kernel.
const OBJECT: Option<&CStr> = if cfg!(CONFIG_INFINIBAND = "m") {
    Some(c"ib_core")
} else {
    None
};

/// A patch of `N - 1` functions.
///
/// # Invariants
///
/// Each list of C structures ends in a zeroed one.
pub(crate) struct Patch<const N: usize> {
    funcs: UnsafeCell<[bindings::klp_func; N]>,
    /// What was before each function's replacement, in livepatch's list of all of them, when ours was the first.
    heads: [Atomic<usize>; N],
    objects: UnsafeCell<[bindings::klp_object; 2]>,
    patch: UnsafeCell<bindings::klp_patch>,
}

// SAFETY: Written by `enable()`, which the module's `init` calls once; then by livepatch alone, which
// locks.
unsafe impl<const N: usize> Sync for Patch<N> {}

impl<const N: usize> Patch<N> {
    /// Describes the patch that puts `new` functions in the place of `old` ones.
    ///
    /// # Safety
    ///
    /// Each pair must be the name of an ib_core function and a function that can stand in for it. The
    /// last pair must be the only one without a function.
    pub(crate) const unsafe fn new(pairs: [(&'static CStr, *const ()); N]) -> Self {
        // SAFETY: The C structures are valid when zeroed.
        let mut funcs: [bindings::klp_func; N] = unsafe { core::mem::zeroed() };
        let mut at = 0;
        while at < N {
            if !pairs[at].1.is_null() {
                funcs[at].old_name = as_char_ptr_in_const_context(pairs[at].0);
                funcs[at].new_func = pairs[at].1.cast_mut().cast();
            }
            at += 1;
        }
        // INVARIANT: The last function is zeroed by the safety requirements, the last object here.
        Self {
            funcs: UnsafeCell::new(funcs),
            heads: [const { Atomic::new(0) }; N],
            // SAFETY: The C structures are valid when zeroed.
            objects: UnsafeCell::new(unsafe { core::mem::zeroed() }),
            // SAFETY: The C structure is valid when zeroed.
            patch: UnsafeCell::new(unsafe { core::mem::zeroed() }),
        }
    }

    /// Enables the patch. From here on the replacements may run.
    ///
    /// Must be the last fallible step of the module's `init`, and be called only there.
    pub(crate) fn enable(&'static self, module: &ThisModule) -> Result {
        // SAFETY: Only `init` calls this function, once, and livepatch does not know the patch yet.
        let (object, patch) = unsafe { (&mut (*self.objects.get())[0], &mut *self.patch.get()) };
        object.name = OBJECT.map_or(core::ptr::null(), |name| name.as_char_ptr());
        object.funcs = self.funcs.get().cast();
        object.callbacks.post_patch = Some(post_patch::<N>);
        object.callbacks.pre_unpatch = Some(pre_unpatch);
        patch.mod_ = module.as_ptr();
        patch.objs = self.objects.get().cast();
        // SAFETY: The patch is static, complete, and its lists end by the type invariants.
        to_result(unsafe { bindings::klp_enable_patch(self.patch.get()) })
    }

    /// What is before a function's replacement in livepatch's list: the next one that came on top of it, or
    /// the head. The first of the list is called.
    #[inline]
    fn before(&self, at: usize) -> usize {
        if at >= N {
            return 0;
        }
        // SAFETY: There are `N` functions.
        let func = unsafe { self.funcs.get().cast::<bindings::klp_func>().add(at) };
        // SAFETY: As above; they live as long as the patch, and livepatch writes a pointer at once.
        unsafe { (&raw const (*func).stack_node.prev).read_volatile() }.addr()
    }

    /// Returns whether no other livepatch has come on top of ours at a function, once ours is
    /// [settled](settled).
    #[inline]
    pub(crate) fn leads(&self, at: usize) -> bool {
        self.heads
            .get(at)
            .is_some_and(|head| self.before(at) == head.load(ordering::Relaxed))
    }
}

/// All tasks have gone over to the new functions; a task may still be between an old one and the next.
///
/// # Safety
///
/// Only livepatch may call it, with the object of a `Patch<N>`.
unsafe extern "C" fn post_patch<const N: usize>(object: *mut bindings::klp_object) {
    // SAFETY: By the safety requirements, the object is that far into a patch, which is static.
    let patch = unsafe {
        &*object
            .byte_sub(offset_of!(Patch<N>, objects))
            .cast::<Patch<N>>()
    };
    // Livepatch holds its lock: nobody has come on top yet.
    for (at, head) in patch.heads.iter().enumerate() {
        head.store(patch.before(at), ordering::Relaxed);
    }
    // Between two of the functions ib_mad does not sleep, so that a task that has slept is past them.
    // SAFETY: Livepatch calls back where one may sleep.
    unsafe { bindings::ib_smi_synchronize_rcu_tasks() };
    SETTLED.store(true, ordering::Relaxed);
    pr_info!("directed-route SMPs are handled here\n");
}

/// Tasks begin to go back to the old functions.
///
/// # Safety
///
/// Only livepatch may call it.
unsafe extern "C" fn pre_unpatch(_object: *mut bindings::klp_object) {
    SETTLED.store(false, ordering::Relaxed);
    pr_info!("directed-route SMPs go back to ib_core\n");
}
