// SPDX-License-Identifier: GPL-2.0

//! In the place of the livepatch: whether it is settled is for a test to say.

use kernel::sync::atomic::{
    ordering,
    Atomic, //
};

static SETTLED: Atomic<bool> = Atomic::new(true);

/// As the module's own.
pub(crate) fn settled() -> bool {
    SETTLED.load(ordering::Relaxed)
}

/// Says whether the patch is complete.
pub(crate) fn settle(settled: bool) {
    SETTLED.store(settled, ordering::Relaxed);
}
