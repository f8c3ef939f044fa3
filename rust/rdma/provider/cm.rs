// SPDX-License-Identifier: GPL-2.0

//! Keeps ib_cm and switches apart.
//!
//! `cm_add_one()` and `cm_dev_release()` in ib_cm look a port up by its number less one. The only port
//! of a switch is port 0, so that they reach far before their array, and the kernel crashes. ib_cm
//! comes by itself on a system that loads what RDMA devices may need; hence it is kept out while there
//! is a switch, and a switch is refused while it is there.
//!
//! C file: [`drivers/infiniband/core/cm.c`](srctree/drivers/infiniband/core/cm.c)

use crate::bindings;
use kernel::{
    error::to_result,
    prelude::*,
    sync::atomic::{
        ordering,
        Atomic, //
    },
    types::Opaque,
    ThisModule, //
};

/// The module to be kept away.
const CM: &CStr = c"ib_cm";

/// Switches that are registered or about to be.
static SWITCHES: Atomic<u32> = Atomic::new(0);

/// Whether ib_cm has come, or is coming, since the watch began.
static CM_CAME: Atomic<bool> = Atomic::new(false);

/// What the module loader calls.
static NOTIFIER: Notifier = Notifier(Opaque::new(bindings::notifier_block {
    notifier_call: Some(module_changes),
    // SAFETY: The rest is valid when zeroed.
    ..unsafe { core::mem::zeroed() }
}));

struct Notifier(Opaque<bindings::notifier_block>);

// SAFETY: The module loader locks what it changes.
unsafe impl Sync for Notifier {}

/// Watches the module loader until it is dropped. There is one.
pub(crate) struct Watch(());

impl Watch {
    /// Begins to watch.
    pub(crate) fn new(module: &ThisModule) -> Result<Self> {
        // SAFETY: The block is static, and registered once.
        to_result(unsafe { bindings::register_module_notifier(NOTIFIER.0.get()) })?;
        // Nothing but true is stored: what the notifier has learned meanwhile is newer than this.
        if cfg!(CONFIG_INFINIBAND = "y") || is_loaded(module) {
            CM_CAME.store(true, ordering::Relaxed);
        }
        Ok(Self(()))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // SAFETY: Registered by `new()`.
        unsafe { bindings::unregister_module_notifier(NOTIFIER.0.get()) };
    }
}

/// The right to register a switch: ib_cm is not there, and does not come while this lives.
pub(super) struct NoCm(());

impl NoCm {
    /// Claims the right.
    pub(super) fn claim() -> Result<Self> {
        SWITCHES.fetch_add(1u32, ordering::Full);
        let right = Self(());
        if CM_CAME.load(ordering::Relaxed) {
            if cfg!(CONFIG_INFINIBAND = "y") {
                pr_err!("ib_cm is built into this kernel, and would crash it on a switch: use HCAs alone\n");
            } else {
                pr_err!("ib_cm is loaded, and would crash the kernel on a switch: 'modprobe -r ib_cm' first\n");
            }
            return Err(EBUSY);
        }
        Ok(right)
    }
}

impl Drop for NoCm {
    fn drop(&mut self) {
        SWITCHES.fetch_sub(1u32, ordering::Full);
    }
}

/// Whether ib_cm is loaded: looked up beside this module's own entry in `/sys/module`.
fn is_loaded(module: &ThisModule) -> bool {
    // SAFETY: The module is loaded, so that it has its entry, in the set of all modules.
    let found = unsafe {
        let entry = &raw mut (*module.as_ptr()).mkobj.kobj;
        bindings::kset_find_obj((*entry).kset, CM.as_char_ptr())
    };
    if found.is_null() {
        return false;
    }
    // SAFETY: Found with a reference.
    unsafe { bindings::kobject_put(found) };
    true
}

/// A module comes or goes.
///
/// # Safety
///
/// For the module loader only.
unsafe extern "C" fn module_changes(
    _block: *mut bindings::notifier_block,
    state: usize,
    module: *mut c_void,
) -> c_int {
    // SAFETY: The module loader passes the module; its name is static meanwhile.
    let name = unsafe {
        CStr::from_char_ptr((&raw const (*module.cast::<bindings::module>()).name).cast())
    };
    if name.to_bytes() != CM.to_bytes() {
        return bindings::NOTIFY_DONE as c_int;
    }
    if state == bindings::module_state_MODULE_STATE_GOING as usize {
        CM_CAME.store(false, ordering::Relaxed);
    } else if state == bindings::module_state_MODULE_STATE_COMING as usize {
        // Before the switches are counted, as a switch is counted before this is read.
        CM_CAME.xchg(true, ordering::Full);
        if SWITCHES.load(ordering::Acquire) != 0 {
            CM_CAME.store(false, ordering::Relaxed);
            pr_err!("ib_cm is kept out: it would crash the kernel on the switches here\n");
            // What `notifier_from_errno(-EBUSY)` makes of it.
            return bindings::NOTIFY_STOP_MASK as c_int
                | (bindings::NOTIFY_OK as c_int - EBUSY.to_errno());
        }
    }
    bindings::NOTIFY_DONE as c_int
}
