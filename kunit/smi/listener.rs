// SPDX-License-Identifier: GPL-2.0

//! In the place of the look at ib_mad's agents: whether one is missing is for a test to say.

use super::{
    origin::Origin,
    smp::Smp, //
};
use kernel::sync::atomic::{
    ordering,
    Atomic, //
};

static MISSING: Atomic<bool> = Atomic::new(false);

/// As the module's own.
pub(crate) fn is_missing(_origin: Origin<'_>, _smp: &Smp) -> bool {
    MISSING.load(ordering::Relaxed)
}

/// Says whether the agent is missing.
pub(crate) fn miss(missing: bool) {
    MISSING.store(missing, ordering::Relaxed);
}
