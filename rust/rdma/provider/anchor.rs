// SPDX-License-Identifier: GPL-2.0

//! What keeps a queue pair from being destroyed under an arriving packet.
//!
//! A packet reaches a queue pair from the outside: from the `post_send` of another device. The core
//! serialises that with nothing. So whoever works on a queue pair from outside holds a [`Pass`], and
//! `destroy_qp` waits until all of them are back. Within an operation on the queue pair itself nobody
//! has to be counted, for the core calls none of them beside `destroy_qp`. Both have an [`Alive`] to
//! show for it. While a queue pair lives its completion queues do, by the core's counts, and so do the
//! buffers that were posted to it, by the rules of the C API.
//!
//! C header: [`include/rdma/ib_verbs.h`](srctree/include/rdma/ib_verbs.h)

use super::{
    wc::{
        QpId,
        Status, //
    },
    wr::RecvBuffer,
    GRH_SIZE,
};
use crate::bindings;
use core::ptr::NonNull;
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
/// The pointers are valid while `users` is not [`CLOSED`] and while anyone holds a [`Pass`] or an
/// [`Alive`].
#[pin_data]
pub(crate) struct Anchor {
    users: Atomic<i32>,
    #[pin]
    idle: Completion,
    qp: NonNull<bindings::ib_qp>,
    send_cq: NonNull<bindings::ib_cq>,
    recv_cq: NonNull<bindings::ib_cq>,
}

// SAFETY: The pointers are only followed with an `Alive`, and then only for what the C API allows from
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
    pub(crate) fn enter(this: &Arc<Self>) -> Option<Pass> {
        Pass::new(this.clone())
    }

    /// Takes note that the queue pair is alive.
    ///
    /// # Safety
    ///
    /// It must not be destroyed as long as the result is there.
    pub(super) unsafe fn assume_alive(&self) -> Alive<'_> {
        // INVARIANT: By the requirements.
        Alive(self)
    }

    /// Lets nobody in any more and waits until everybody is out.
    pub(super) fn close(&self) {
        if self.users.fetch_add(CLOSED, Full) != 0 {
            self.idle.wait_for_completion();
        }
    }
}

/// A queue pair is not destroyed while there is one of these.
pub(crate) struct Pass {
    anchor: Arc<Anchor>,
}

impl Drop for Pass {
    fn drop(&mut self) {
        if self.anchor.users.fetch_sub(1, Full) == CLOSED + 1 {
            self.anchor.idle.complete_all();
        }
    }
}

impl Pass {
    /// Takes a pass, if there still are any.
    fn new(anchor: Arc<Anchor>) -> Option<Self> {
        let before = anchor.users.fetch_add(1, Full);
        let pass = Self { anchor };
        (before < CLOSED).then_some(pass)
    }

    /// What it proves.
    pub(crate) fn alive(&self) -> Alive<'_> {
        // INVARIANT: By the count of users.
        Alive(&self.anchor)
    }
}

/// Proof that a queue pair is not destroyed for the time being.
///
/// # Invariants
///
/// The queue pair of the anchor lives.
#[derive(Clone, Copy)]
pub(crate) struct Alive<'a>(&'a Anchor);

impl Alive<'_> {
    /// Tells the owner of a completion queue that there is something in it.
    ///
    /// Must be called without locks, since the owner may do anything in its handler.
    pub(crate) fn notify(&self, queue: Queue) {
        let cq = match queue {
            Queue::Send => self.0.send_cq,
            Queue::Recv => self.0.recv_cq,
        }
        .as_ptr();
        // SAFETY: By the type invariants of `Anchor`, since it is alive.
        let handler = unsafe { (*cq).comp_handler };
        if let Some(handler) = handler {
            // SAFETY: As above.
            let context = unsafe { (*cq).cq_context };
            // SAFETY: The C API lets a driver call this from any context until `destroy_cq`.
            unsafe { handler(cq, context) };
        }
    }

    /// Tells the owners that a completion queue lost completions and works no more (section 11.6.3.2
    /// of the specification), and that this queue pair is in its error state for that.
    ///
    /// Must be called without locks, as [`Alive::notify`].
    pub(crate) fn report_overrun(&self, queue: Queue) {
        let cq = match queue {
            Queue::Send => self.0.send_cq,
            Queue::Recv => self.0.recv_cq,
        }
        .as_ptr();
        let qp = self.0.qp.as_ptr();
        let mut event = bindings::ib_event {
            // SAFETY: By the type invariants of `Anchor`, since it is alive.
            device: unsafe { (*cq).device },
            event: bindings::ib_event_type_IB_EVENT_CQ_ERR,
            ..Default::default()
        };
        // SAFETY: The member that goes with this event.
        unsafe { *event.element.cq.as_mut() = cq };
        // SAFETY: As above.
        if let Some(handler) = unsafe { (*cq).event_handler } {
            // SAFETY: As above.
            let context = unsafe { (*cq).cq_context };
            // SAFETY: The C API lets a driver call this from any context until `destroy_cq`.
            unsafe { handler(&raw mut event, context) };
        }
        event.event = bindings::ib_event_type_IB_EVENT_QP_FATAL;
        // SAFETY: The member that goes with this event.
        unsafe { *event.element.qp.as_mut() = qp };
        // SAFETY: By the type invariants of `Anchor`, since it is alive.
        if let Some(handler) = unsafe { (*qp).event_handler } {
            // SAFETY: As above.
            let context = unsafe { (*qp).qp_context };
            // SAFETY: The C API lets a driver call this from any context until `destroy_qp`.
            unsafe { handler(&raw mut event, context) };
        }
    }

    /// Writes a datagram to a buffer that was posted to this queue pair: `grh` if there is one, then
    /// the parts of the datagram. A buffer that is too small or that came with a wrong key is left
    /// alone.
    pub(crate) fn scatter(
        &self,
        buffer: &RecvBuffer,
        grh: Option<&[u8; GRH_SIZE]>,
        data: [&[u8]; 2],
    ) -> Result<(), Status> {
        let room = buffer.room()?;
        let [first, second] = data;
        let len = first.len().saturating_add(second.len());
        if room.len() < GRH_SIZE.saturating_add(len) {
            return Err(Status::LocalLength);
        }
        let to = room.cast::<u8>();
        if let Some(grh) = grh {
            // SAFETY: The buffer is ours until a completion for it is polled, and large enough.
            unsafe { to.copy_from_nonoverlapping(grh.as_ptr(), GRH_SIZE) };
        }
        // SAFETY: `room` has so many bytes at least.
        let to = unsafe { to.add(GRH_SIZE) };
        // SAFETY: As above; `first` is not the buffer, which only we may write to.
        unsafe { to.copy_from_nonoverlapping(first.as_ptr(), first.len()) };
        // SAFETY: `room` has so many bytes at least.
        let to = unsafe { to.add(first.len()) };
        // SAFETY: As for the first part.
        unsafe { to.copy_from_nonoverlapping(second.as_ptr(), second.len()) };
        Ok(())
    }
}
