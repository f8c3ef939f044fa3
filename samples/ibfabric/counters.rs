// SPDX-License-Identifier: GPL-2.0

//! What a port counts.

use kernel::sync::atomic::{
    Atomic,
    Relaxed, //
};

/// A number that only grows.
pub(crate) struct Counter(Atomic<u64>);

impl Counter {
    /// Starts at zero.
    pub(crate) const fn new() -> Self {
        Self(Atomic::new(0))
    }

    /// Counts one more.
    pub(crate) fn bump(&self) {
        self.0.add(1u64, Relaxed);
    }

    /// The number so far.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// The counters of a port.
pub(crate) struct Counters {
    /// Packets put on the wire.
    pub(crate) xmit: Counter,
    /// Those of them that the switch forwarded by itself, by LID.
    pub(crate) forwarded: Counter,
    /// Packets that came off the wire.
    pub(crate) rcv: Counter,
    /// Packets that could not leave: no link, no such LID, too many hops.
    pub(crate) xmit_discards: Counter,
    /// Packets that came in and were not for here, or not what the queue pair takes.
    pub(crate) rcv_errors: Counter,
    /// SMPs that found no receive buffer.
    pub(crate) vl15_dropped: Counter,
    /// Packets with a P_Key that is not in the table.
    pub(crate) bad_pkeys: Counter,
    /// Packets with a Q_Key that is not the queue pair's.
    pub(crate) bad_qkeys: Counter,
}

impl Counters {
    /// All at zero.
    pub(crate) const fn new() -> Self {
        Self {
            xmit: Counter::new(),
            forwarded: Counter::new(),
            rcv: Counter::new(),
            xmit_discards: Counter::new(),
            rcv_errors: Counter::new(),
            vl15_dropped: Counter::new(),
            bad_pkeys: Counter::new(),
            bad_qkeys: Counter::new(),
        }
    }
}
