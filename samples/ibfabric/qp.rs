// SPDX-License-Identifier: GPL-2.0

//! Queue pairs: QP0 and QP1 of a port.
//!
//! None of the locks here is held while a packet is on its way, while a completion queue is locked or
//! while a completion handler runs. `post_send` of one node ends in [`Visit::receive`] of another, with
//! the sender's MAD layer holding a lock of its own and interrupts off.

mod visit;

pub(crate) use self::visit::{
    Refusal,
    Visit, //
};
use crate::{
    cq::{
        Cq,
        Credits,
        Entry,
        Sender, //
    },
    node::Node,
    packet::Packet,
    provider::{
        Anchor,
        Opcode,
        Pass,
        QpCaps,
        QpInit,
        QpKind,
        QpModify,
        QpState,
        Queue,
        RecvWr,
        SendWr,
        Status,
        MAD_SIZE, //
    },
    ring::Ring,
    wire,
};
use core::ops::Deref;
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

/// The key that every scatter and gather entry has to carry.
pub(crate) const LOCAL_DMA_LKEY: u32 = 0x0001_bfab;

/// Largest send or receive queue.
pub(crate) const MAX_WR: u32 = 1 << 14;

/// Gather entries of a send.
pub(crate) const MAX_SEND_SGE: u32 = 4;

/// What a test wants to go wrong, as often as it says.
#[derive(Clone, Copy, Default)]
pub(crate) struct Faults {
    /// Posts of sends that are refused.
    pub(crate) posts: u32,
    /// Sends that complete with an error.
    pub(crate) sends: u32,
}

/// Counts down. Returns whether there was something left.
fn take_one(count: &mut u32) -> bool {
    match count.checked_sub(1) {
        Some(less) => {
            *count = less;
            true
        }
        None => false,
    }
}

/// The part of a queue pair under its lock.
struct Inner {
    state: QpState,
    qkey: u32,
    recvs: Ring<RecvWr>,
    /// Sends since the last one that got a completion.
    unsignaled: u16,
    /// How many of the next posts are refused, and of the next sends fail.
    faults: Faults,
}

/// A queue pair.
#[pin_data]
pub(crate) struct Qp {
    /// QP0 or QP1.
    pub(crate) kind: QpKind,
    /// The port that it belongs to: 0 on a switch.
    pub(crate) port: u8,
    caps: QpCaps,
    signal_all: bool,
    anchor: Arc<Anchor>,
    credits: Arc<Credits>,
    send_cq: Arc<Cq>,
    recv_cq: Arc<Cq>,
    #[pin]
    inner: SpinLockIrq<Inner>,
}

impl Qp {
    /// Makes a queue pair in state `Reset`.
    pub(crate) fn new(port: u8, init: &QpInit<'_, Node>, anchor: Arc<Anchor>) -> Result<Arc<Self>> {
        let caps = init.caps;
        if caps.max_send_wr > MAX_WR
            || caps.max_recv_wr > MAX_WR
            || caps.max_send_sge > MAX_SEND_SGE
            || caps.max_recv_sge > 1
        {
            return Err(EINVAL);
        }
        let credits = Arc::new(
            Credits {
                qp: anchor.id(),
                sends: Atomic::new(0),
                recvs: Atomic::new(0),
            },
            GFP_KERNEL,
        )?;
        let recvs = Ring::new(usize::try_from(caps.max_recv_wr)?)?;
        Arc::pin_init(
            pin_init!(Self {
                kind: init.kind,
                port,
                caps,
                signal_all: init.signal_all,
                anchor,
                credits,
                send_cq: init.send_cq.clone(),
                recv_cq: init.recv_cq.clone(),
                inner <- new_spinlock_irq!(
                    Inner {
                        state: QpState::Reset,
                        qkey: 0,
                        recvs,
                        unsignaled: 0,
                        faults: Faults::default(),
                    },
                    "ibfabric_qp"
                ),
            }),
            GFP_KERNEL,
        )
    }

    /// The state.
    pub(crate) fn state(&self) -> QpState {
        self.inner.lock().state
    }

    /// Lets things go wrong.
    pub(crate) fn set_faults(&self, faults: Faults) {
        self.inner.lock().faults = faults;
    }

    /// Changes state and attributes, where the specification allows the step.
    pub(crate) fn modify(&self, change: &QpModify) -> Result {
        let next = {
            let mut inner = self.inner.lock();
            let next = change.step(inner.state)?;
            inner.state = next;
            if let Some(qkey) = change.qkey {
                inner.qkey = qkey;
            }
            next
        };
        match next {
            QpState::Error => self.flush_recvs(),
            QpState::Reset => self.forget(),
            _ => {}
        }
        Ok(())
    }

    /// Completes all posted receives with an error.
    fn flush_recvs(&self) {
        let Some(pass) = self.anchor.enter() else {
            return;
        };
        loop {
            let Some(wr) = self.inner.lock().recvs.pop() else {
                return;
            };
            self.complete_recv(&pass, wr.wr_id(), Err(Status::Flushed), false);
        }
    }

    /// Forgets all that was posted and completed.
    pub(crate) fn forget(&self) {
        {
            let mut inner = self.inner.lock();
            inner.recvs.retain(|_| false);
            inner.unsignaled = 0;
        }
        self.send_cq.forget(self.credits.qp);
        self.recv_cq.forget(self.credits.qp);
        self.credits.sends.store(0, Relaxed);
        self.credits.recvs.store(0, Relaxed);
    }

    /// Adds a completion to the receive side.
    fn complete_recv<A: Deref<Target = Anchor>>(
        &self,
        pass: &Pass<A>,
        wr_id: u64,
        outcome: Result<Sender, Status>,
        solicited: bool,
    ) {
        let entry = Entry {
            wr_id,
            credits: self.credits.clone(),
            sender: outcome.unwrap_or_default(),
            retires: 1,
            opcode: Opcode::Recv,
            status: outcome.err().unwrap_or(Status::Success),
        };
        if self.recv_cq.push(entry, solicited) {
            pass.notify(Queue::Recv);
        }
    }

    /// Adds a completion to the send side, if there is one to be had.
    fn complete_send(&self, pass: &Pass<&Anchor>, wr: &SendWr<'_>, status: Status) {
        let retires = {
            let mut inner = self.inner.lock();
            if status == Status::Success && !self.signal_all && !wr.is_signaled() {
                inner.unsignaled = inner.unsignaled.saturating_add(1);
                return;
            }
            core::mem::replace(&mut inner.unsignaled, 0).saturating_add(1)
        };
        let entry = Entry {
            wr_id: wr.wr_id(),
            credits: self.credits.clone(),
            sender: Sender::default(),
            retires,
            opcode: Opcode::Send,
            status,
        };
        if self.send_cq.push(entry, false) {
            pass.notify(Queue::Send);
        }
    }

    /// Posts a receive buffer.
    pub(crate) fn post_recv(&self, wr: RecvWr) -> Result {
        let pass = self.anchor.enter().ok_or(EINVAL)?;
        let wr_id = wr.wr_id();
        {
            let mut inner = self.inner.lock();
            if inner.state == QpState::Reset {
                return Err(EINVAL);
            }
            if self.credits.recvs.load(Relaxed) >= self.caps.max_recv_wr {
                return Err(ENOMEM);
            }
            self.credits.recvs.add(1u32, Relaxed);
            if inner.state != QpState::Error {
                return inner.recvs.push(wr).map_err(|_| {
                    self.credits.recvs.fetch_sub(1u32, Relaxed);
                    ENOMEM
                });
            }
        }
        self.complete_recv(&pass, wr_id, Err(Status::Flushed), false);
        Ok(())
    }

    /// Posts a send, and carries the packet to wherever it goes.
    pub(crate) fn post_send(&self, node: &Node, wr: &SendWr<'_>) -> Result {
        let pass = self.anchor.enter().ok_or(EINVAL)?;
        let sges = u32::try_from(wr.sges()).map_err(|_| EINVAL)?;
        if !wr.is_send() || wr.is_inline() || sges > self.caps.max_send_sge {
            return Err(EINVAL);
        }
        let (state, fails) = {
            let mut inner = self.inner.lock();
            match inner.state {
                QpState::ReadyToSend | QpState::SendError | QpState::Error => {}
                _ => return Err(EINVAL),
            }
            let full = self.credits.sends.load(Relaxed) >= self.caps.max_send_wr;
            if full || take_one(&mut inner.faults.posts) {
                return Err(ENOMEM);
            }
            self.credits.sends.add(1u32, Relaxed);
            let sends = inner.state == QpState::ReadyToSend;
            (inner.state, sends && take_one(&mut inner.faults.sends))
        };
        let status = if state == QpState::ReadyToSend {
            let sent = if fails {
                Err(Status::LocalQpOperation)
            } else {
                self.send(node, wr)
            };
            match sent {
                Ok(()) => Status::Success,
                Err(status) => {
                    self.send_failed();
                    status
                }
            }
        } else {
            Status::Flushed
        };
        self.complete_send(&pass, wr, status);
        Ok(())
    }

    /// A send went wrong here, not on the way: sends are flushed until the owner mends it.
    fn send_failed(&self) {
        let mut inner = self.inner.lock();
        if inner.state == QpState::ReadyToSend {
            inner.state = QpState::SendError;
        }
    }

    /// The key that goes into a packet: one with the highest bit set stands for the sender's own.
    fn effective_qkey(&self, asked: u32) -> u32 {
        /// `IB_QP_SET_QKEY`.
        const OWN: u32 = 1 << 31;
        if asked & OWN == 0 {
            asked
        } else {
            self.inner.lock().qkey
        }
    }

    /// Reads a send request and puts the packet on its way.
    fn send(&self, node: &Node, wr: &SendWr<'_>) -> Result<(), Status> {
        let ah = wr.ah().ok_or(Status::LocalQpOperation)?;
        let port = node.port(self.port).ok_or(Status::LocalQpOperation)?;
        let config = port.config();
        let mut data = [0; MAD_SIZE];
        if wr.gather(LOCAL_DMA_LKEY, &mut data)? != MAD_SIZE {
            return Err(Status::LocalLength);
        }
        let dest = match wr.remote_qpn() {
            0 => QpKind::Smi,
            1 => QpKind::Gsi,
            // There is no other queue pair in the whole fabric: lost on the way.
            _ => {
                port.counters.xmit_discards.bump();
                return Ok(());
            }
        };
        let packet = Packet {
            slid: wire::source_lid(&config, &ah),
            dlid: ah.dlid,
            sl: ah.sl,
            src_qp: self.kind.number(),
            dest,
            qkey: self.effective_qkey(wr.remote_qkey()),
            pkey_index: wr.pkey_index(),
            solicited: wr.is_solicited(),
            grh: ah.grh.map(|grh| node.build_grh(port, &grh)),
            data,
        };
        wire::send(node, port, wr.port(), &packet)
    }
}
