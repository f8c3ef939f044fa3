// SPDX-License-Identifier: GPL-2.0

//! Faults on purpose, one a load, to see that the debug kernel reports each: a silence that nobody has
//! tried is worth nothing.
//!
//! `insmod plant.ko fault=N` does it and fails with ECANCELED, so that there is nothing to unload. What is
//! in Rust has to be seen in Rust; what only C can do wrong is in `plant/faults.c`.

use kernel::{
    error::to_result,
    new_mutex,
    new_spinlock,
    prelude::*,
    sync::{
        Arc,
        Mutex,
        SpinLock, //
    }, //
};

module! {
    type: Plant,
    name: "plant",
    authors: ["ib_smi contributors"],
    description: "Faults on purpose",
    license: "GPL",
    params: {
        fault: u32 {
            default: 0,
            description: "Which one: the number of its function",
        },
    },
}

extern "C" {
    fn plant_shift(by: c_int) -> c_int;
    fn plant_index(at: c_int) -> c_int;
    fn plant_object();
    fn plant_lockup();
    fn plant_hang();
    fn plant_side_by_side(step: extern "C" fn()) -> c_int;
}

struct Plant;

impl kernel::Module for Plant {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        match module_parameters::fault.value() {
            1 => past_the_end()?,
            2 => after_the_free()?,
            3 => leak()?,
            4 => sleep_under_a_lock()?,
            5 => order_of_locks()?,
            // SAFETY: None is safe, which is the point.
            6 => drop(unsafe { plant_shift(40) }),
            // SAFETY: As above.
            7 => drop(unsafe { plant_index(9) }),
            // SAFETY: As above.
            8 => unsafe { plant_object() },
            // SAFETY: As above.
            9 => unsafe { plant_lockup() },
            // SAFETY: As above.
            10 => unsafe { plant_hang() },
            11 => race()?,
            _ => return Err(EINVAL),
        }
        Err(ECANCELED)
    }
}

/// KASAN: a read behind the end of an allocation.
fn past_the_end() -> Result {
    let bytes = KVec::from_elem(1u8, 24, GFP_KERNEL)?;
    // SAFETY: It is not safe, which is the point.
    let byte = unsafe { bytes.as_ptr().add(bytes.capacity() + 1).read_volatile() };
    pr_info!("read {byte} behind the end\n");
    Ok(())
}

/// KASAN: a read after the free.
fn after_the_free() -> Result {
    let bytes = KVec::from_elem(1u8, 24, GFP_KERNEL)?;
    let at = bytes.as_ptr();
    drop(bytes);
    // SAFETY: It is not safe, which is the point.
    let byte = unsafe { at.read_volatile() };
    pr_info!("read {byte} after the free\n");
    Ok(())
}

/// kmemleak: an allocation that nobody knows any more.
fn leak() -> Result {
    for number in 0..8u64 {
        core::mem::forget(KBox::new([number; 17], GFP_KERNEL)?);
    }
    Ok(())
}

/// DEBUG_ATOMIC_SLEEP: an allocation that may sleep, under a spinlock.
fn sleep_under_a_lock() -> Result {
    let lock = Arc::pin_init(new_spinlock!(0u32, "plant_spin"), GFP_KERNEL)?;
    let lock: &SpinLock<u32> = &lock;
    let guard = lock.lock();
    drop(KBox::new(*guard, GFP_KERNEL)?);
    Ok(())
}

/// PROVE_LOCKING: two locks, in both orders.
fn order_of_locks() -> Result {
    let first = Arc::pin_init(new_mutex!(0u32, "plant_first"), GFP_KERNEL)?;
    let second = Arc::pin_init(new_mutex!(0u32, "plant_second"), GFP_KERNEL)?;
    let both = |one: &Mutex<u32>, other: &Mutex<u32>| {
        let outer = one.lock();
        let inner = other.lock();
        *outer + *inner
    };
    let sum = both(&first, &second) + both(&second, &first);
    pr_info!("the sum is {sum}\n");
    Ok(())
}

/// KCSAN: what two tasks count with, and neither tells.
static mut COUNT: u32 = 0;

/// KCSAN: a data race.
fn race() -> Result {
    extern "C" fn step() {
        // SAFETY: It is not safe, which is the point.
        unsafe { COUNT = COUNT.wrapping_add(1) };
    }
    // SAFETY: None is safe, which is the point.
    to_result(unsafe { plant_side_by_side(step) })
}
