// SPDX-License-Identifier: GPL-2.0

//! `READ_ONCE()` and `WRITE_ONCE()`: loads and stores as a whole, and in no order with others.
//!
//! A relaxed access of an [`Atomic`] is the same, but calls a function each time, and of these there are
//! dozens for each SMP.

use kernel::sync::atomic::{
    Atomic,
    AtomicType, //
};

/// Reads it. What is read through a pointer that is read here is read after it.
#[inline(always)]
pub(crate) fn read<T: AtomicType>(from: &Atomic<T>) -> T {
    // SAFETY: Valid and aligned, and a volatile access does not race by the memory model of the kernel.
    unsafe { from.as_ptr().read_volatile() }
}

/// Writes it.
#[inline(always)]
pub(crate) fn write<T: AtomicType>(to: &Atomic<T>, value: T) {
    // SAFETY: As above.
    unsafe { to.as_ptr().write_volatile(value) };
}
