// SPDX-License-Identifier: GPL-2.0

//! What keeps a queue pair from being destroyed under an arriving packet.
//!
//! A packet reaches a queue pair from the outside: from the `post_send` of another device. The core
//! serialises that with nothing. So whoever works on a queue pair from outside holds a [`Pass`], and
//! `destroy_qp` waits until all of them are back. While a queue pair lives its completion queues do,
//! by the core's counts, and so do the buffers that were posted to it, by the rules of the C API.
//!
//! C header: [`include/rdma/ib_verbs.h`](srctree/include/rdma/ib_verbs.h)

use super::{
    wc::{
        QpId,
        Status, //
    },
    wr::RecvWr,
    GRH_SIZE,
};
use crate::bindings;
use core::{
    ops::Deref,
    ptr::NonNull, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Full, //
        },
        Arc,
        Completion, //
    },
};

/// Added to [`Anchor::users`] when no one may enter any more.
const CLOSED: i32 = 1 << 30;

/// One of the two completion queues of a queue pair.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Queue {
    /// Where sends complete.
    Send,
    /// Where receives complete.
    Recv,
}

/// The C objects behind a queue pair, reachable as long as it lives.
///
/// # Invariants
///
/// The pointers are valid while `users` is not [`CLOSED`] and while anyone holds a [`Pass`].
#[pin_data]
pub(crate) struct Anchor {
    users: Atomic<i32>,
    #[pin]
    idle: Completion,
    qp: NonNull<bindings::ib_qp>,
    send_cq: NonNull<bindings::ib_cq>,
    recv_cq: NonNull<bindings::ib_cq>,
}

// SAFETY: The pointers are only followed with a `Pass`, and then only for what the C API allows from
// any context.
unsafe impl Send for Anchor {}

// SAFETY: See above.
unsafe impl Sync for Anchor {}

impl Anchor {
    /// Drops anchor.
    ///
    /// # Safety
    ///
    /// The pointers must be valid until [`Anchor::close`] has returned.
    pub(super) unsafe fn new(
        qp: NonNull<bindings::ib_qp>,
        send_cq: NonNull<bindings::ib_cq>,
        recv_cq: NonNull<bindings::ib_cq>,
    ) -> Result<Arc<Self>> {
        // INVARIANT: By the requirements of this function.
        Arc::pin_init(
            pin_init!(Self {
                users: Atomic::new(0),
                idle <- Completion::new(),
                qp,
                send_cq,
                recv_cq,
            }),
            GFP_KERNEL,
        )
    }

    /// Names the queue pair, for completions.
    pub(crate) fn id(&self) -> QpId {
        QpId::new(self.qp)
    }

    /// Keeps the queue pair alive, unless it is going away.
    pub(crate) fn enter(&self) -> Option<Pass<&Self>> {
        Pass::new(self)
    }

    /// The same, for somebody with a reference of his own.
    pub(crate) fn enter_owned(this: &Arc<Self>) -> Option<Pass<Arc<Self>>> {
        Pass::new(this.clone())
    }

    /// Lets nobody in any more and waits until everybody is out.
    pub(super) fn close(&self) {
        if self.users.fetch_add(CLOSED, Full) != 0 {
            self.idle.wait_for_completion();
        }
    }
}

/// Proof that a queue pair is not destroyed for the time being.
pub(crate) struct Pass<A: Deref<Target = Anchor>> {
    anchor: A,
}

impl<A: Deref<Target = Anchor>> Drop for Pass<A> {
    fn drop(&mut self) {
        if self.anchor.users.fetch_sub(1, Full) == CLOSED + 1 {
            self.anchor.idle.complete_all();
        }
    }
}

impl<A: Deref<Target = Anchor>> Pass<A> {
    /// Takes a pass, if there still are any.
    fn new(anchor: A) -> Option<Self> {
        let before = anchor.users.fetch_add(1, Full);
        let pass = Self { anchor };
        (before < CLOSED).then_some(pass)
    }

    /// Tells the owner of a completion queue that there is something in it.
    ///
    /// Must be called without locks, since the owner may do anything in its handler.
    pub(crate) fn notify(&self, queue: Queue) {
        let cq = match queue {
            Queue::Send => self.anchor.send_cq,
            Queue::Recv => self.anchor.recv_cq,
        }
        .as_ptr();
        // SAFETY: By the type invariants of `Anchor`, since this is a pass.
        let handler = unsafe { (*cq).comp_handler };
        if let Some(handler) = handler {
            // SAFETY: As above.
            let context = unsafe { (*cq).cq_context };
            // SAFETY: The C API lets a driver call this from any context until `destroy_cq`.
            unsafe { handler(cq, context) };
        }
    }

    /// Writes a datagram to a buffer that was posted to this queue pair: `grh` if there is one, then
    /// `data`. A buffer that is too small or that carries another key than `lkey` is left alone.
    pub(crate) fn scatter(
        &self,
        wr: &RecvWr,
        lkey: u32,
        grh: Option<&[u8; GRH_SIZE]>,
        data: &[u8],
    ) -> Result<(), Status> {
        let room = wr.room(lkey)?;
        if room.len() < GRH_SIZE.saturating_add(data.len()) {
            return Err(Status::LocalLength);
        }
        let to = room.cast::<u8>();
        if let Some(grh) = grh {
            // SAFETY: The buffer is ours until a completion for it is polled, and large enough.
            unsafe { to.copy_from_nonoverlapping(grh.as_ptr(), GRH_SIZE) };
        }
        // SAFETY: `room` is larger than `GRH_SIZE`.
        let to = unsafe { to.add(GRH_SIZE) };
        // SAFETY: As above; `data` is not the buffer, which only we may write to.
        unsafe { to.copy_from_nonoverlapping(data.as_ptr(), data.len()) };
        Ok(())
    }
}
