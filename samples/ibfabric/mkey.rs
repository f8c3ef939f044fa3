// SPDX-License-Identifier: GPL-2.0

//! The management key of a port: who may read and change what a subnet manager set.
//!
//! Section 14.2.4 of the specification. Only the node that executes an SMP looks at its key. For what
//! protect level 3 adds to level 2 there is no public source: the text at hand and all drivers that
//! check a key in software (`check_mkey()` in `drivers/infiniband/hw/hfi1/mad.c`, and that of `qib`
//! before it) treat both alike, so this does too.

use kernel::time::{
    Instant,
    Monotonic, //
};

/// What an SMP wants, as far as the key is concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// To read.
    Get,
    /// To change something: Set or TrapRepress.
    Change,
}

/// Whether an SMP is served.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The key is right, or none is needed.
    Match,
    /// The key is wrong, but reading is free. The real key may be shown or not.
    Free {
        /// Whether PortInfo shows the key.
        show: bool,
    },
    /// Not served, not even answered.
    Refused,
}

/// The key and all that belongs to it.
#[derive(Clone, Copy)]
pub(crate) struct MKey {
    /// The key; 0 protects nothing.
    pub(crate) key: u64,
    /// What a wrong key may still do: 0 to 3.
    pub(crate) protect: u8,
    /// After how many seconds without its owner a key that was offended protects no more; 0 is never.
    pub(crate) lease_period: u16,
    /// How many SMPs were refused.
    pub(crate) violations: u16,
    /// Since when the lease is running out.
    lease: Option<Instant<Monotonic>>,
}

impl MKey {
    /// No protection.
    pub(crate) const fn new() -> Self {
        Self {
            key: 0,
            protect: 0,
            lease_period: 0,
            violations: 0,
            lease: None,
        }
    }

    /// Judges the key of an SMP, and takes note of it.
    pub(crate) fn judge(&mut self, access: Access, key: u64) -> Verdict {
        self.expire();
        if !self.is_wrong(key) {
            self.lease = None;
            return Verdict::Match;
        }
        if access == Access::Get && self.protect < 2 {
            return Verdict::Free {
                show: self.protect == 0,
            };
        }
        self.violations = self.violations.saturating_add(1);
        if self.lease_period != 0 && self.lease.is_none() {
            self.lease = Some(Instant::now());
        }
        Verdict::Refused
    }

    /// Whether the key of an SMP is not that of this port, of which nobody takes note.
    pub(crate) fn is_wrong(&self, key: u64) -> bool {
        self.key != 0 && self.key != key
    }

    /// Milliseconds until the lease runs out, if it is running.
    pub(crate) fn left(&self) -> Option<i64> {
        let period = i64::from(self.lease_period).saturating_mul(1000);
        Some(period.saturating_sub(self.lease?.elapsed().as_millis()))
    }

    /// Takes the protection away if the lease has run out.
    pub(crate) fn expire(&mut self) {
        if self.left().is_some_and(|left| left <= 0) {
            self.lease = None;
            self.protect = 0;
        }
    }

    /// Sets what a subnet manager can set. A new period begins with the next offence.
    pub(crate) fn set(&mut self, key: u64, protect: u8, lease_period: u16) {
        self.key = key;
        self.protect = protect;
        self.lease_period = lease_period;
        self.lease = None;
    }
}
