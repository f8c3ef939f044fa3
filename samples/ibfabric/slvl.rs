// SPDX-License-Identifier: GPL-2.0

//! Which virtual lane a packet takes, by its service level.
//!
//! On a switch it depends on the ports by which the packet comes in and leaves. Nothing here has
//! lanes, so that this is only kept for whoever asks. A row, all mappings of packets that leave by one
//! port, takes up memory only when somebody set it.

use crate::compat::{
    new_spinlock_irq,
    SpinLockIrq, //
};
use kernel::prelude::*;

/// A mapping: two service levels a byte, the lower one in the upper half.
pub(crate) type Mapping = [u8; 8];

/// The mapping before anybody set one: level modulo the number of lanes, which is eight.
const DEFAULT: Mapping = [0x01, 0x23, 0x45, 0x67, 0x01, 0x23, 0x45, 0x67];

/// The mappings of a node.
#[pin_data]
pub(crate) struct SlToVl {
    /// Mappings of a row.
    width: usize,
    #[pin]
    rows: SpinLockIrq<KVec<KVec<Mapping>>>,
}

impl SlToVl {
    /// So many rows of so many mappings.
    pub(crate) fn new(rows: usize, width: usize) -> Result<impl PinInit<Self>> {
        let mut table = KVec::with_capacity(rows, GFP_KERNEL)?;
        for _ in 0..rows {
            table.push(KVec::new(), GFP_KERNEL)?;
        }
        Ok(pin_init!(Self {
            width,
            rows <- new_spinlock_irq!(table, "ibfabric_slvl"),
        }))
    }

    /// A mapping, if there is such a place.
    pub(crate) fn get(&self, row: usize, column: usize) -> Option<Mapping> {
        let rows = self.rows.lock();
        let row = rows.get(row)?;
        if column >= self.width {
            return None;
        }
        Some(row.get(column).copied().unwrap_or(DEFAULT))
    }

    /// Sets a mapping, or a whole row of them. May sleep.
    pub(crate) fn set(&self, row: usize, column: Option<usize>, mapping: Mapping) -> Result {
        let fresh = KVec::from_elem(DEFAULT, self.width, GFP_KERNEL)?;
        let mut rows = self.rows.lock();
        let row = rows.get_mut(row).ok_or(EINVAL)?;
        let unused = if row.is_empty() {
            core::mem::replace(row, fresh)
        } else {
            fresh
        };
        let outcome = match column {
            Some(column) => row
                .get_mut(column)
                .map(|place| *place = mapping)
                .ok_or(EINVAL),
            None => {
                row.iter_mut().for_each(|place| *place = mapping);
                Ok(())
            }
        };
        drop(rows);
        drop(unused);
        outcome
    }
}
