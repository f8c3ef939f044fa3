// SPDX-License-Identifier: GPL-2.0

//! A word of the ledger: read and written as a whole, and in no order with others.
//!
//! As `READ_ONCE()` and `WRITE_ONCE()` in C. A relaxed [`Atomic`](kernel::sync::atomic::Atomic) is the
//! same, but calls a function each time, and of these there are a dozen for each SMP.

use core::cell::UnsafeCell;

/// A word.
///
/// # Invariants
///
/// It is accessed by volatile loads and stores alone.
#[repr(transparent)]
pub(super) struct Word(UnsafeCell<u64>);

// SAFETY: Volatile accesses of an aligned word do not tear; by the memory model of the kernel they may race.
unsafe impl Sync for Word {}

impl Word {
    /// A word of zeroes.
    pub(super) const fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    /// Reads it.
    #[inline]
    pub(super) fn get(&self) -> u64 {
        // SAFETY: Valid, and volatile as the type invariants want it.
        unsafe { self.0.get().read_volatile() }
    }

    /// Writes it.
    #[inline]
    pub(super) fn set(&self, value: u64) {
        // SAFETY: As above.
        unsafe { self.0.get().write_volatile(value) };
    }
}
