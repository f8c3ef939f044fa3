// SPDX-License-Identifier: GPL-2.0

//! Completion queues.

use crate::{
    provider::{
        Notify,
        Opcode,
        QpId,
        Status,
        Wc,
        WcBuffer,
        GRH_SIZE,
        MAD_SIZE, //
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

/// What a receive completion tells about the sender.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sender {
    /// The sender's queue pair number.
    pub(crate) qp: u32,
    /// The sender's LID.
    pub(crate) lid: u16,
    /// Which P_Key it came with.
    pub(crate) pkey_index: u16,
    /// The port that it came in by.
    pub(crate) ingress: u8,
    /// Service level.
    pub(crate) sl: u8,
    /// Low bits of the LID that it came to.
    pub(crate) path_bits: u8,
    /// Whether a GRH was written.
    pub(crate) grh: bool,
}

/// A completion in the queue. There are many of them, so that it is kept small.
pub(crate) struct Entry {
    /// What the poster called the request.
    pub(crate) wr_id: u64,
    /// Whose completion it is.
    pub(crate) credits: Arc<Credits>,
    /// About the sender, for a receive that succeeded.
    pub(crate) sender: Sender,
    /// How many requests it retires: itself, and for a send all unsignaled ones before it.
    pub(crate) retires: u16,
    /// What completed.
    pub(crate) opcode: Opcode,
    /// How it ended.
    pub(crate) status: Status,
}

const _: () = assert!(size_of::<Option<Entry>>() == 32);

impl Entry {
    /// What the consumer gets to see.
    fn wc(&self) -> Wc {
        let received = self.opcode == Opcode::Recv && self.status == Status::Success;
        Wc {
            wr_id: self.wr_id,
            qp: self.credits.qp,
            src_qp: self.sender.qp,
            byte_len: if received { RECEIVED } else { 0 },
            slid: self.sender.lid,
            pkey_index: self.sender.pkey_index,
            port: self.sender.ingress,
            sl: self.sender.sl,
            dlid_path_bits: self.sender.path_bits,
            grh: self.sender.grh,
            status: self.status,
            opcode: self.opcode,
        }
    }
}

/// Bytes that are written to every receive buffer, the area of the GRH included.
const RECEIVED: u16 = (GRH_SIZE + MAD_SIZE) as u16;

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
        let failed = entry.status != Status::Success;
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
                let used = match entry.opcode {
                    Opcode::Send => &entry.credits.sends,
                    Opcode::Recv => &entry.credits.recvs,
                };
                // Under the lock, so that it cannot happen after `forget`.
                used.fetch_sub(u32::from(entry.retires), Relaxed);
                entry.wc()
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
        self.inner
            .lock()
            .ring
            .retain(|entry| entry.credits.qp != qp);
    }
}
