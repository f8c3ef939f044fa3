// SPDX-License-Identifier: GPL-2.0

//! ib_mad's account of a send queue, which it believes to be its own: QP0's.
//!
//! C header: [`drivers/infiniband/core/mad_priv.h`](srctree/drivers/infiniband/core/mad_priv.h)

use crate::bindings;
use kernel::{
    container_of,
    fmt,
    prelude::*,
    time::{
        delay::fsleep,
        Delta, //
    }, //
};

/// How long to wait for a device in silence.
pub(super) const PATIENCE_MS: u64 = 10_000;

/// How full QP0 of a port is.
pub(super) struct Levels {
    send_posted: c_int,
    send_limit: c_int,
    receive_posted: c_int,
    receive_limit: c_int,
    /// Of our own slots: in use, and SMPs that wait for one.
    own: (u32, u32),
}

impl Levels {
    /// Looks at ib_mad's account, and adds ours.
    pub(super) fn read(qp: *mut bindings::ib_qp, own: (u32, u32)) -> Self {
        // SAFETY: The queue pair is one that ib_mad made: its context is this. Each number may be a
        // moment older than the next.
        unsafe {
            let info = (*qp).qp_context.cast::<bindings::ib_mad_qp_info>();
            Self {
                send_posted: (&raw const (*info).send_queue.count).read_volatile(),
                send_limit: (&raw const (*info).send_queue.max_active).read_volatile(),
                receive_posted: (&raw const (*info).recv_queue.count).read_volatile(),
                receive_limit: (&raw const (*info).recv_queue.max_active).read_volatile(),
                own,
            }
        }
    }

    /// Calls `f` with each name and number.
    pub(super) fn each(&self, mut f: impl FnMut(&str, c_int) -> fmt::Result) -> fmt::Result {
        f("send_posted", self.send_posted.min(self.send_limit))?;
        f("send_limit", self.send_limit)?;
        // ib_mad counts them as posted.
        f(
            "send_waiting",
            self.send_posted.saturating_sub(self.send_limit).max(0),
        )?;
        let (used, waiting) = self.own;
        f("own_posted", used as c_int)?;
        f("own_waiting", waiting as c_int)?;
        f("receive_posted", self.receive_posted)?;
        f("receive_limit", self.receive_limit)
    }
}

/// Our part of a send queue, taken off what ib_mad believes it has, and given back when dropped.
pub(super) struct Share {
    qp: *mut bindings::ib_qp,
    slots: c_int,
}

impl Share {
    /// Tries before giving up, one a millisecond.
    const TRIES: usize = 1000;

    /// Takes `slots` off the account of QP0's send queue.
    pub(super) fn take(qp: *mut bindings::ib_qp, slots: c_int) -> Result<Self> {
        for _ in 0..Self::TRIES {
            // ib_mad counts what it has posted, and moves on what waits when the count falls to the
            // limit: it must not be above it with nothing waiting.
            let taken = with_send_queue(qp, |queue, _idle| {
                let left = queue.max_active - slots;
                if left < slots {
                    return Err(ENOSPC);
                }
                if queue.count > left {
                    return Ok(false);
                }
                queue.max_active = left;
                Ok(true)
            })?;
            if taken {
                return Ok(Self { qp, slots });
            }
            fsleep(Delta::from_millis(1));
        }
        Err(EBUSY)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        for turn in 1u64.. {
            // What waits would not be moved on if the limit rose above the count.
            let given = with_send_queue(self.qp, |queue, idle| {
                if idle {
                    queue.max_active += self.slots;
                }
                idle
            });
            if given {
                break;
            }
            if turn % PATIENCE_MS == 0 {
                pr_warn!("still waiting for a device to send what ib_mad has for QP0\n");
            }
            fsleep(Delta::from_millis(1));
        }
    }
}

/// Has ib_mad send once more what the device has flushed behind a failed request of ours, as ib_mad does
/// behind one of its own.
pub(super) fn retry_flushed(qp: *mut bindings::ib_qp) {
    with_send_queue(qp, |queue, _idle| {
        let head = &raw mut queue.list;
        // SAFETY: The lock that guards the list is held; all its entries are ib_mad's work requests.
        unsafe {
            let mut entry = (*head).next;
            while entry != head {
                let list = container_of!(entry, bindings::ib_mad_list_head, list);
                let request = container_of!(list, bindings::ib_mad_send_wr_private, mad_list);
                (*request).retry = 1;
                entry = (*entry).next;
            }
        }
    });
}

/// Calls `f` with ib_mad's account of QP0's send queue, locked, and whether nothing waits for it.
fn with_send_queue<R>(
    qp: *mut bindings::ib_qp,
    f: impl FnOnce(&mut bindings::ib_mad_queue, bool) -> R,
) -> R {
    // SAFETY: The queue pair is one that ib_mad made: its context is this.
    let info = unsafe { (*qp).qp_context }.cast::<bindings::ib_mad_qp_info>();
    // SAFETY: As above.
    let lock = unsafe { &raw mut (*info).send_queue.lock };
    // SAFETY: ib_mad initialised the lock.
    let flags = unsafe { bindings::ib_smi_lock_irqsave(lock) };
    // SAFETY: The lock is held, which guards both.
    let result = unsafe {
        let waiting = &raw mut (*info).overflow_list;
        let idle = (*waiting).next == waiting;
        f(&mut (*info).send_queue, idle)
    };
    // SAFETY: Locked above.
    unsafe { bindings::ib_smi_unlock_irqrestore(lock, flags) };
    result
}
