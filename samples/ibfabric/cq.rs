// SPDX-License-Identifier: GPL-2.0

//! Completion queues.
//!
//! The completions themselves are kept where the requests were, in the queues of the queue pairs. Here
//! is only their order.

use crate::{
    compat::{
        new_spinlock_irq,
        SpinLockIrq, //
    },
    provider::{
        Notify,
        Queue,
        WcBuffer, //
    },
    qp::Work,
    ring::Ring,
};
use core::num::NonZeroU8;
use kernel::{alloc::allocator::Kmalloc, prelude::*, sync::Arc};

/// How many queue pairs can complete to one queue.
const MAX_QPS: usize = 8;

/// Names one of the queues that complete here.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token(NonZeroU8);

impl Token {
    /// The queue of a queue pair, by the place that [`Cq::attach`] gave it.
    fn new(place: usize, queue: Queue) -> Option<Self> {
        let place = u8::try_from(place).ok()?;
        let number = place.checked_mul(2)?.checked_add(match queue {
            Queue::Send => 1,
            Queue::Recv => 2,
        })?;
        NonZeroU8::new(number).map(Self)
    }

    /// The place of the queue pair.
    fn place(self) -> usize {
        usize::from((self.0.get() - 1) / 2)
    }

    /// Which of its queues.
    fn queue(self) -> Queue {
        if self.0.get() % 2 == 1 {
            Queue::Send
        } else {
            Queue::Recv
        }
    }
}

/// What became of a completion.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// It is in the queue.
    Quietly,
    /// It is in the queue, and the consumer has to be told.
    Announce,
    /// The queue was full: it works no more, and the owners have to be told.
    Overrun,
    /// Lost, as all since the overrun.
    Lost,
}

/// The part of a queue under its lock.
struct Inner {
    ring: Ring<Token, Kmalloc>,
    armed: Option<Notify>,
    overrun: bool,
    attached: [Option<Arc<Work>>; MAX_QPS],
}

/// Whether that is attached here.
fn is(attached: &Option<Arc<Work>>, work: &Arc<Work>) -> bool {
    attached
        .as_ref()
        .is_some_and(|other| Arc::ptr_eq(other, work))
}

/// A completion queue.
#[pin_data]
pub(crate) struct Cq {
    #[pin]
    inner: SpinLockIrq<Inner>,
}

impl Cq {
    /// Makes a queue.
    pub(crate) fn new(depth: u32) -> Result<Arc<Self>> {
        let ring = Ring::new(usize::try_from(depth)?)?;
        Arc::pin_init(
            pin_init!(Self {
                inner <- new_spinlock_irq!(
                    Inner {
                        ring,
                        armed: None,
                        overrun: false,
                        attached: [const { None }; MAX_QPS],
                    },
                    "ibfabric_cq"
                ),
            }),
            GFP_KERNEL,
        )
    }

    /// Lets the queues of a queue pair complete here, or one of them. Returns the names for them.
    pub(crate) fn attach(&self, work: &Arc<Work>) -> Result<[Token; 2]> {
        let mut inner = self.inner.lock();
        let mut places = inner.attached.iter();
        let place = places
            .position(|other| is(other, work))
            .or_else(|| inner.attached.iter().position(Option::is_none))
            .ok_or(ENOSPC)?;
        let name = |queue| Token::new(place, queue).ok_or(EINVAL);
        let names = [name(Queue::Send)?, name(Queue::Recv)?];
        *inner.attached.get_mut(place).ok_or(EINVAL)? = Some(work.clone());
        Ok(names)
    }

    /// Undoes [`Cq::attach`].
    pub(crate) fn detach(&self, work: &Arc<Work>) {
        self.forget(work);
        let mut inner = self.inner.lock();
        let place = inner.attached.iter_mut().find(|other| is(other, work));
        let work = place.and_then(Option::take);
        drop(inner);
        // Not under the lock, for it may free something.
        drop(work);
    }

    /// Forgets the completions of a queue pair that is reset or destroyed.
    pub(crate) fn forget(&self, work: &Arc<Work>) {
        let mut inner = self.inner.lock();
        let Inner { ring, attached, .. } = &mut *inner;
        ring.retain(|token| !attached.get(token.place()).is_some_and(|at| is(at, work)));
    }

    /// Adds a completion; `urgent` ones are solicited or failed.
    #[must_use]
    pub(crate) fn push(&self, token: Token, urgent: bool) -> Pushed {
        let mut inner = self.inner.lock();
        if inner.overrun {
            return Pushed::Lost;
        }
        if inner.ring.push(token).is_err() {
            inner.overrun = true;
            return Pushed::Overrun;
        }
        match inner.armed {
            Some(Notify::Next) => {}
            Some(Notify::Solicited) if urgent => {}
            _ => return Pushed::Quietly,
        }
        inner.armed = None;
        Pushed::Announce
    }

    /// Moves completions to `out`.
    pub(crate) fn poll(&self, out: &mut WcBuffer<'_>) {
        let mut inner = self.inner.lock();
        while !out.is_full() {
            let Some(token) = inner.ring.pop() else {
                return;
            };
            // A name may have outlived what it stands for by a reset.
            if let Some(Some(work)) = inner.attached.get(token.place()) {
                if let Some(wc) = work.poll(token.queue()) {
                    out.push(wc);
                }
            }
        }
    }

    /// Arms the queue. Returns whether completions are there already.
    pub(crate) fn arm(&self, notify: Notify) -> bool {
        let mut inner = self.inner.lock();
        // A request for any completion is not weakened by one for solicited ones.
        if inner.armed != Some(Notify::Next) {
            inner.armed = Some(notify);
        }
        !inner.ring.is_empty()
    }
}
