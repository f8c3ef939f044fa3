// SPDX-License-Identifier: GPL-2.0

//! What the `kernel` crate's configfs lacks: a group below a subsystem that is there from the start.
//!
//! C header: [`include/linux/configfs.h`](srctree/include/linux/configfs.h)

use crate::bindings;
use core::ptr::NonNull;
use kernel::{
    configfs::{
        Group,
        HasGroup,
        Subsystem, //
    },
    error::to_result,
    prelude::*,
    sync::Arc, //
};

/// A group that is registered below a subsystem. Users cannot remove it; it goes when this is dropped.
///
/// # Invariants
///
/// `group` is registered below `parent`, and the reference that it was made with is ours.
pub(crate) struct FixedGroup<Root: 'static> {
    group: NonNull<bindings::config_group>,
    /// Has to stay as long as the group.
    _parent: Arc<Subsystem<Root>>,
}

// SAFETY: A group may be unregistered by any thread that can sleep.
unsafe impl<Root> Send for FixedGroup<Root> {}

// SAFETY: A shared one gives access to nothing.
unsafe impl<Root> Sync for FixedGroup<Root> {}

impl<Root: 'static> FixedGroup<Root> {
    /// Makes a group and registers it.
    pub(crate) fn new<Data: 'static>(
        parent: Arc<Subsystem<Root>>,
        group: impl PinInit<Group<Data>, Error>,
    ) -> Result<Self> {
        // From here on the group belongs to configfs: its release function takes back this reference.
        let group = Arc::pin_init(group, GFP_KERNEL)?.into_raw();
        // SAFETY: `group` is a valid `Group`.
        let group = unsafe { Group::<Data>::group(group) }.cast_mut();
        // SAFETY: `parent` is a valid `Subsystem`.
        let root = unsafe { Subsystem::<Root>::group(&*parent) }.cast_mut();
        // SAFETY: The parent is registered, as all subsystems of that type, and `group` initialised and
        // not registered.
        to_result(unsafe { bindings::configfs_register_group(root, group) }).inspect_err(|_| {
            // SAFETY: Nobody else knows the group, so that this releases it.
            unsafe { put(group) };
        })?;
        // INVARIANT: Registered just now.
        Ok(Self {
            group: NonNull::new(group).ok_or(EINVAL)?,
            _parent: parent,
        })
    }
}

/// Gives back the reference that a group was made with.
///
/// # Safety
///
/// The caller must own that reference, and not use the group after this.
unsafe fn put(group: *mut bindings::config_group) {
    // SAFETY: By the requirements.
    unsafe { bindings::config_item_put(&raw mut (*group).cg_item) };
}

impl<Root: 'static> Drop for FixedGroup<Root> {
    fn drop(&mut self) {
        // SAFETY: By the type invariants.
        unsafe { bindings::configfs_unregister_group(self.group.as_ptr()) };
        // SAFETY: By the type invariants.
        unsafe { put(self.group.as_ptr()) };
    }
}
