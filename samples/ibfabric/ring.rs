// SPDX-License-Identifier: GPL-2.0

//! A ring of fixed size, as hardware queues are.

use kernel::{
    alloc::{
        allocator::Vmalloc,
        Allocator, //
    },
    prelude::*, //
};

/// A first-in, first-out queue that never grows.
///
/// Kept in whole pages unless told otherwise, for large queues in ordinary memory take up to twice
/// their size. Such a one must not be dropped in atomic context.
///
/// # Invariants
///
/// The `len` slots from `head` on, wrapping around, are taken; the others are `None`.
pub(crate) struct Ring<T, A: Allocator = Vmalloc> {
    slots: Vec<Option<T>, A>,
    head: usize,
    len: usize,
}

impl<T, A: Allocator> Ring<T, A> {
    /// Allocates a ring for `capacity` elements.
    pub(crate) fn new(capacity: usize) -> Result<Self> {
        let mut slots = Vec::with_capacity(capacity, GFP_KERNEL)?;
        for _ in 0..capacity {
            slots.push(None, GFP_KERNEL)?;
        }
        // INVARIANT: Nothing is taken.
        Ok(Self {
            slots,
            head: 0,
            len: 0,
        })
    }

    /// How many elements are in it.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The slot that is `offset` behind the head.
    fn index(&self, offset: usize) -> usize {
        let at = self.head.saturating_add(offset);
        if at < self.slots.len() {
            at
        } else {
            at.saturating_sub(self.slots.len())
        }
    }

    /// Adds an element at the tail, or gives it back when the ring is full.
    pub(crate) fn push(&mut self, element: T) -> Result<(), T> {
        if self.len >= self.slots.len() {
            return Err(element);
        }
        let at = self.index(self.len);
        match self.slots.get_mut(at) {
            Some(slot) => *slot = Some(element),
            None => return Err(element),
        }
        // INVARIANT: The slot behind the last one is taken now.
        self.len = self.len.saturating_add(1);
        Ok(())
    }

    /// Takes the element at the head.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let element = self.slots.get_mut(self.head)?.take()?;
        // INVARIANT: The slot at the head is free now.
        self.head = self.index(1);
        self.len = self.len.saturating_sub(1);
        Some(element)
    }

    /// Takes out all elements that `keep` does not want.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        for _ in 0..self.len {
            let Some(element) = self.pop() else { return };
            if keep(&element) {
                // There is room: one was taken out just now.
                let _ = self.push(element);
            }
        }
    }

    /// The element that is `offset` behind the head.
    pub(crate) fn get(&self, offset: usize) -> Option<&T> {
        if offset >= self.len {
            return None;
        }
        self.slots.get(self.index(offset))?.as_ref()
    }

    /// The same, to change it.
    pub(crate) fn get_mut(&mut self, offset: usize) -> Option<&mut T> {
        if offset >= self.len {
            return None;
        }
        let at = self.index(offset);
        self.slots.get_mut(at)?.as_mut()
    }
}
