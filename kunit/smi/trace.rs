// SPDX-License-Identifier: GPL-2.0

//! In the place of the trace events: counts what would be fired.

use super::hop::Hop;
use kernel::sync::atomic::{
    ordering,
    Atomic, //
};

static RECV: Atomic<u32> = Atomic::new(0);
static SEND: Atomic<u32> = Atomic::new(0);
static DISCARD: Atomic<u32> = Atomic::new(0);
static REASON: Atomic<u32> = Atomic::new(0);

/// As the module's own.
pub(crate) fn recv(hop: &Hop<'_>) {
    note(&RECV, hop);
}

/// As the module's own.
pub(crate) fn send(hop: &Hop<'_>) {
    note(&SEND, hop);
}

/// As the module's own; no room under test passes anything on.
pub(crate) fn forward(_hop: &Hop<'_>) {}

/// As the module's own.
pub(crate) fn reply(_hop: &Hop<'_>) {}

/// As the module's own.
pub(crate) fn discard(hop: &Hop<'_>) {
    note(&DISCARD, hop);
}

fn note(counter: &Atomic<u32>, hop: &Hop<'_>) {
    counter.add(1u32, ordering::Relaxed);
    REASON.store(hop.to_c().reason.into(), ordering::Relaxed);
}

/// Events that were fired.
#[derive(Debug, PartialEq)]
pub(crate) struct Fired {
    pub(crate) recv: u32,
    pub(crate) send: u32,
    pub(crate) discard: u32,
    /// The number of the reason that the last one carried.
    pub(crate) reason: u32,
}

/// Returns what was fired since the last time.
pub(crate) fn fired() -> Fired {
    let [recv, send, discard, reason] =
        [&RECV, &SEND, &DISCARD, &REASON].map(|counter| counter.xchg(0, ordering::Relaxed));
    Fired {
        recv,
        send,
        discard,
        reason,
    }
}
