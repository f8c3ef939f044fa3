// SPDX-License-Identifier: GPL-2.0

//! In the place of the livepatch: whether it is settled, and whether another one is on top, is for a test to say.

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

/// As the module's own.
#[derive(Clone, Copy)]
pub(crate) enum Function {
    Receive,
    CheckForward,
    OpaReceive,
    OpaCheckForward,
}

/// What another livepatch has taken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    Nothing,
    Receive,
    CheckForward,
}

static RECEIVES: Atomic<bool> = Atomic::new(true);
static CHECKS: Atomic<bool> = Atomic::new(true);

/// As the module's own.
pub(crate) fn leads(function: Function) -> bool {
    match function {
        Function::Receive | Function::OpaReceive => RECEIVES.load(ordering::Relaxed),
        Function::CheckForward | Function::OpaCheckForward => CHECKS.load(ordering::Relaxed),
    }
}

/// Says what another livepatch has taken.
pub(crate) fn take(taken: Taken) {
    RECEIVES.store(taken != Taken::Receive, ordering::Relaxed);
    CHECKS.store(taken != Taken::CheckForward, ordering::Relaxed);
}
