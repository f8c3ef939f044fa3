// SPDX-License-Identifier: GPL-2.0

//! Completion queues.

use crate::{
    provider::{
        Notify,
        Opcode,
        QpId,
        Status,
        Wc,
        WcBuffer, //
    },
    ring::Ring,
};
use kernel::{
    new_spinlock_irq,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        SpinLockIrq, //
    },
};

/// How much of a queue pair's queues is in use.
///
/// As in hardware, a work request takes its place until its completion has been polled, not until it
/// is done.
pub(crate) struct Credits {
    /// The queue pair.
    pub(crate) qp: QpId,
    /// Sends.
    pub(crate) sends: Atomic<u32>,
    /// Receives.
    pub(crate) recvs: Atomic<u32>,
}

/// A completion in the queue.
pub(crate) struct Entry {
    /// What the consumer gets to see.
    pub(crate) wc: Wc,
    /// Whose completion it is.
    pub(crate) credits: Arc<Credits>,
    /// How many requests it retires: itself, and for a send all unsignaled ones before it.
    pub(crate) retires: u32,
}

/// The part of a queue under its lock.
struct Inner {
    ring: Ring<Entry>,
    armed: Option<Notify>,
    overflowed: bool,
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
                        overflowed: false,
                    },
                    "ibfabric_cq"
                ),
            }),
            GFP_KERNEL,
        )
    }

    /// Adds a completion. Returns whether the consumer has to be told.
    ///
    /// A full queue loses it, as hardware does after an overrun; the first one is reported.
    #[must_use]
    pub(crate) fn push(&self, entry: Entry, solicited: bool) -> bool {
        let failed = entry.wc.status != Status::Success;
        let mut inner = self.inner.lock();
        if let Err(entry) = inner.ring.push(entry) {
            let first = !core::mem::replace(&mut inner.overflowed, true);
            drop(inner);
            drop(entry);
            if first {
                pr_err!("completion queue overrun, completions are lost\n");
            }
            return false;
        }
        let notify = match inner.armed {
            None => false,
            Some(Notify::Next) => true,
            Some(Notify::Solicited) => solicited || failed,
        };
        if notify {
            inner.armed = None;
        }
        notify
    }

    /// Moves completions to `out`.
    pub(crate) fn poll(&self, out: &mut WcBuffer<'_>) {
        while !out.is_full() {
            let wc = {
                let mut inner = self.inner.lock();
                let Some(entry) = inner.ring.pop() else {
                    return;
                };
                let used = match entry.wc.opcode {
                    Opcode::Send => &entry.credits.sends,
                    Opcode::Recv => &entry.credits.recvs,
                };
                // Under the lock, so that it cannot happen after `forget`.
                used.fetch_sub(entry.retires, Relaxed);
                entry.wc
            };
            out.push(wc);
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

    /// Forgets the completions of a queue pair that is reset or destroyed.
    pub(crate) fn forget(&self, qp: QpId) {
        self.inner.lock().ring.retain(|entry| entry.wc.qp != qp);
    }
}
