// SPDX-License-Identifier: GPL-2.0

//! The livepatch that puts our functions in the place of ib_core's.
//!
//! During a transition, which takes a second or two, a task may still call the old function at one
//! step of an SMP and a new one at the next. [`settled`] tells whether only new ones are called. And
//! another livepatch may come on top and take a function that is ours; [`leads`] tells that.
//!
//! C header: [`include/linux/livepatch.h`](srctree/include/linux/livepatch.h)

use crate::{
    bindings,
    once, //
};
use core::cell::UnsafeCell;
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
    once::read(&SETTLED)
}

/// A function that ib_mad asks what becomes of an SMP that came in.
#[derive(Clone, Copy)]
pub(crate) enum Function {
    /// `smi_handle_dr_smp_recv()`.
    Receive,
    /// `smi_check_forward_dr_smp()`.
    CheckForward,
    /// `opa_smi_handle_dr_smp_recv()`.
    OpaReceive,
    /// `opa_smi_check_forward_dr_smp()`.
    OpaCheckForward,
}

/// Our replacement of a function, in livepatch's list of all that there are, of which the first is called.
///
/// # Invariants
///
/// `node` is 0, or the address of a list node that is there as long as the module.
struct Place {
    function: &'static CStr,
    node: Atomic<usize>,
    /// What was before it when it was the first.
    head: Atomic<usize>,
}

/// The places of [`Function`], in its order.
static PLACES: [Place; 4] = [
    Place::new(c"smi_handle_dr_smp_recv"),
    Place::new(c"smi_check_forward_dr_smp"),
    Place::new(c"opa_smi_handle_dr_smp_recv"),
    Place::new(c"opa_smi_check_forward_dr_smp"),
];

impl Place {
    const fn new(function: &'static CStr) -> Self {
        // INVARIANT: It is 0.
        Self {
            function,
            node: Atomic::new(0),
            head: Atomic::new(0),
        }
    }

    /// What is before our replacement; 0 if it is not known yet.
    #[inline]
    fn before(&self) -> usize {
        let node: *const bindings::list_head =
            core::ptr::with_exposed_provenance(once::read(&self.node));
        if node.is_null() {
            return 0;
        }
        // SAFETY: By the type invariants; livepatch writes the pointer at once.
        unsafe { (&raw const (*node).prev).read_volatile() }.addr()
    }
}

/// Returns whether no other livepatch has come on top of ours at a function, once ours was
/// [settled](settled).
#[inline]
pub(crate) fn leads(function: Function) -> bool {
    PLACES
        .get(function as usize)
        .is_some_and(|place| place.before() == once::read(&place.head))
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
        object.callbacks.post_patch = Some(post_patch);
        object.callbacks.pre_unpatch = Some(pre_unpatch);
        patch.mod_ = module.as_ptr();
        patch.objs = self.objects.get().cast();
        // SAFETY: The patch is static, complete, and its lists end by the type invariants.
        to_result(unsafe { bindings::klp_enable_patch(self.patch.get()) })
    }
}

/// All tasks have gone over to the new functions; a task may still be between an old one and the next.
///
/// # Safety
///
/// Only livepatch may call it, with the object of a [`Patch`].
unsafe extern "C" fn post_patch(object: *mut bindings::klp_object) {
    // SAFETY: By the safety requirements.
    let mut func = unsafe { (*object).funcs };
    // SAFETY: The list ends in a zeroed one, by the type invariants of `Patch`.
    while let Some(name) = unsafe { (*func).old_name.as_ref() } {
        // SAFETY: The name is a string of C's, which `Patch::new()` got as such.
        note(unsafe { CStr::from_char_ptr(name) }, func);
        // SAFETY: It was not the last one.
        func = unsafe { func.add(1) };
    }
    // Between two of the functions ib_mad does not sleep, so that a task that has slept is past them.
    // SAFETY: Livepatch calls back where one may sleep.
    unsafe { bindings::ib_smi_synchronize_rcu_tasks() };
    SETTLED.store(true, ordering::Relaxed);
    pr_info!("directed-route SMPs are handled here\n");
}

/// Notes the place of a function, if it is to be known and is not yet. Livepatch holds its lock, and nobody is on top
/// of ours when the patch is complete for the first time; when it is again, after it was about to go, somebody may be.
fn note(name: &CStr, func: *const bindings::klp_func) {
    let unknown = |place: &&Place| place.function == name && once::read(&place.node) == 0;
    for place in PLACES.iter().filter(unknown) {
        // SAFETY: Only a field's address is taken.
        let node = unsafe { &raw const (*func).stack_node };
        // INVARIANT: A patch is static.
        place
            .node
            .store(node.expose_provenance(), ordering::Relaxed);
        place.head.store(place.before(), ordering::Relaxed);
    }
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
