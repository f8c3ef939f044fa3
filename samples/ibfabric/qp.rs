// SPDX-License-Identifier: GPL-2.0

//! Queue pairs: QP0 and QP1 of a port.
//!
//! None of the locks here is held while a packet is on its way, while a completion queue is pushed to
//! or while a completion handler runs. `post_send` of one node ends in [`Visit::receive`] of another,
//! with the sender's MAD layer holding a lock of its own and interrupts off.

mod held;
mod visit;
mod work;

pub(crate) use self::{
    visit::{
        Entrance,
        Reception,
        Refusal,
        Visit, //
    },
    work::Work, //
};
use crate::{
    counters::Counter,
    cq::{
        Cq,
        Pushed,
        Token, //
    },
    datagram::{
        Datagram,
        Rest, //
    },
    faults::{
        FaultCounters,
        SendFaults, //
    },
    node::Node,
    packet::Packet,
    provider::{
        Alive,
        Anchor,
        QpCaps,
        QpInit,
        QpKind,
        QpModify,
        QpState,
        Queue,
        RecvWr,
        SendWr,
        Status,
        MAD_SIZE,
        OPA_MAD_SIZE, //
    },
    wire,
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The key that every scatter and gather entry has to carry.
pub(crate) const LOCAL_DMA_LKEY: u32 = 0x0001_bfab;

/// Largest send or receive queue.
pub(crate) const MAX_WR: u32 = 1 << 14;

/// Gather entries of a send.
pub(crate) const MAX_SEND_SGE: u32 = 4;

/// `IB_QP_SET_QKEY`: a key with the highest bit set stands for the sender's own.
const OWN_QKEY: u32 = 1 << 31;

/// A queue pair.
pub(crate) struct Qp {
    /// QP0 or QP1.
    pub(crate) kind: QpKind,
    /// The port that it belongs to: 0 on a switch.
    pub(crate) port: u8,
    caps: QpCaps,
    signal_all: bool,
    anchor: Arc<Anchor>,
    work: Arc<Work>,
    send_cq: Arc<Cq>,
    recv_cq: Arc<Cq>,
    send_token: Token,
    recv_token: Token,
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
        let work = Work::new(anchor.id(), &caps)?;
        let [send_token, _] = init.send_cq.attach(&work)?;
        let [_, recv_token] = init
            .recv_cq
            .attach(&work)
            .inspect_err(|_| init.send_cq.detach(&work))?;
        let qp = Self {
            kind: init.kind,
            port,
            caps,
            signal_all: init.signal_all,
            anchor,
            work,
            send_cq: init.send_cq.clone(),
            recv_cq: init.recv_cq.clone(),
            send_token,
            recv_token,
        };
        Ok(Arc::new(qp, GFP_KERNEL)?)
    }

    /// The state.
    pub(crate) fn state(&self) -> QpState {
        self.work.inner.lock().state
    }

    /// Looks at what goes wrong, or changes it.
    pub(crate) fn faults<R>(&self, look: impl FnOnce(&mut SendFaults) -> R) -> R {
        look(&mut self.work.inner.lock().faults)
    }

    /// Lets completions of sends be heard of at once, and those that were held back now.
    pub(crate) fn unstall(&self) {
        let Some(pass) = Anchor::enter(&self.anchor) else {
            return;
        };
        for _ in 0..self.faults(|faults| faults.stall.end()) {
            self.announce(pass.alive(), Queue::Send, true);
        }
    }

    /// Changes state and attributes, where the specification allows the step.
    pub(crate) fn modify(&self, change: &QpModify, alive: Alive<'_>) -> Result {
        let next = {
            let mut inner = self.work.inner.lock();
            let next = change.step(inner.state)?;
            inner.state = next;
            if let Some(qkey) = change.qkey {
                inner.qkey = qkey;
            }
            next
        };
        match next {
            QpState::Error => self.flush_recvs(alive),
            QpState::Reset => self.forget(),
            _ => {}
        }
        Ok(())
    }

    /// Completes all posted receives with an error. Nothing waits for one any more.
    fn flush_recvs(&self, alive: Alive<'_>) {
        self.work.inner.lock().held.clear();
        loop {
            let flushed = {
                let mut inner = self.work.inner.lock();
                inner.receive(alive, Err(Status::Flushed))
            };
            if flushed.is_none() {
                return;
            }
            self.announce(alive, Queue::Recv, true);
        }
    }

    /// Forgets all that was posted and completed.
    fn forget(&self) {
        self.work.inner.lock().forget();
        self.send_cq.forget(&self.work);
        self.recv_cq.forget(&self.work);
    }

    /// Queues the completion of what was just done. An overrun stops the queue pair.
    fn announce(&self, alive: Alive<'_>, queue: Queue, urgent: bool) {
        let pushed = match queue {
            Queue::Send => self.send_cq.push(self.send_token, urgent),
            Queue::Recv => self.recv_cq.push(self.recv_token, urgent),
        };
        match pushed {
            Pushed::Quietly => {}
            Pushed::Announce => alive.notify(queue),
            Pushed::Overrun => {
                pr_err!("completion queue overrun: it works no more\n");
                self.work.inner.lock().state = QpState::Error;
                alive.report_overrun(queue);
            }
            Pushed::Lost => self.work.inner.lock().state = QpState::Error,
        }
    }

    /// Posts a receive buffer. A packet that waits for one takes it at once.
    pub(crate) fn post_recv(&self, node: &Node, wr: RecvWr, alive: Alive<'_>) -> Result {
        let completed = {
            let mut inner = self.work.inner.lock();
            if inner.state == QpState::Reset {
                return Err(EINVAL);
            }
            inner.post(wr)?;
            if inner.state == QpState::Error {
                inner.receive(alive, Err(Status::Flushed)).map(|_| true)
            } else {
                let mut held = inner.held.pop();
                while let Some(waiting) = held.take_if(|waiting| waiting.is_stale()) {
                    wire::drop_for_lack_of_buffer(node, self.kind, waiting.ingress());
                    held = inner.held.pop();
                }
                held.and_then(|waiting| {
                    let arrival = waiting.arrival();
                    let status = inner.receive(alive, Ok(&arrival))?;
                    Some(arrival.solicited || status != Status::Success)
                })
            }
        };
        if let Some(urgent) = completed {
            self.announce(alive, Queue::Recv, urgent);
        }
        Ok(())
    }

    /// Posts a send, and carries the packet to wherever it goes.
    ///
    /// It is done as soon as it is read, so that one look at the queues is enough; the completion can
    /// be seen only when it is announced.
    pub(crate) fn post_send(&self, node: &Node, wr: &SendWr<'_>, alive: Alive<'_>) -> Result {
        let sges = u32::try_from(wr.sges()).map_err(|_| EINVAL)?;
        if !wr.is_send() || wr.is_inline() || sges > self.caps.max_send_sge {
            return Err(EINVAL);
        }
        let mut packet = self.read(node, wr)?;
        let (completed, failed) = {
            let mut inner = self.work.inner.lock();
            let ready = match inner.state {
                QpState::ReadyToSend => true,
                QpState::SendError | QpState::Error => false,
                _ => return Err(EINVAL),
            };
            if inner.outstanding >= self.caps.max_send_wr {
                return Err(ENOMEM);
            }
            if inner.faults.posts.strike() {
                self.count_fault(node, |counters| &counters.posts);
                return Err(ENOMEM);
            }
            inner.outstanding = inner.outstanding.saturating_add(1);
            if !ready {
                packet = Err(Status::Flushed);
            } else if inner.faults.sends.strike() {
                self.count_fault(node, |counters| &counters.sends);
                packet = Err(Status::LocalQpOperation);
            }
            let status = match &mut packet {
                Ok(packet) => {
                    if packet.qkey & OWN_QKEY != 0 {
                        packet.qkey = inner.qkey;
                    }
                    Status::Success
                }
                Err(status) => *status,
            };
            let failed = status != Status::Success;
            // What goes wrong here, and not on the way, stops sends until the owner mends it.
            if failed && ready {
                inner.state = QpState::SendError;
            }
            let signaled = self.signal_all || wr.is_signaled();
            let completed = inner.complete_send(wr.wr_id(), signaled, status);
            (completed && !inner.faults.stall.hold(), failed)
        };
        if let (Ok(packet), Some(port)) = (&packet, node.port(self.port)) {
            wire::send(node, port, wr.port(), packet);
        }
        if completed {
            self.announce(alive, Queue::Send, failed);
        }
        Ok(())
    }

    /// Counts something that went wrong because a test wants it.
    fn count_fault(&self, node: &Node, pick: impl FnOnce(&FaultCounters) -> &Counter) {
        if let Some(port) = node.port(self.port) {
            port.count_fault(pick);
        }
    }

    /// Reads a send request. Fails for a lack of memory; what it returns may be wrong in itself.
    fn read(&self, node: &Node, wr: &SendWr<'_>) -> Result<Result<Packet, Status>> {
        let len = wr.gathered();
        let right = if node.opa {
            len <= OPA_MAD_SIZE
        } else {
            len == MAD_SIZE
        };
        if !right {
            return Ok(Err(Status::LocalLength));
        }
        let rest = Datagram::room(len)?;
        Ok(self.gather(node, wr, len, rest))
    }

    /// Reads a send request of so many bytes.
    fn gather(
        &self,
        node: &Node,
        wr: &SendWr<'_>,
        len: usize,
        mut rest: Option<Rest>,
    ) -> Result<Packet, Status> {
        let mut head = [0; MAD_SIZE];
        let first = head.get_mut(..len.min(MAD_SIZE)).unwrap_or_default();
        let second = rest.as_mut().map_or(&mut [][..], |rest| rest);
        wr.gather(LOCAL_DMA_LKEY, [first, second])?;
        let ah = wr.ah().ok_or(Status::LocalQpOperation)?;
        let port = node.port(self.port).ok_or(Status::LocalQpOperation)?;
        let pkey = match self.kind {
            QpKind::Smi if !node.opa => 0xffff,
            // Omni-Path's hardware looks at it on QP0 too.
            QpKind::Smi => port.pkey(wr.pkey_index().into()).unwrap_or(0),
            QpKind::Gsi => port
                .pkey(wr.pkey_index().into())
                .ok_or(Status::LocalQpOperation)?,
        };
        let data = Datagram::long(head, rest, len);
        let packet = Packet {
            slid: wire::source_lid(port, &ah),
            dlid: ah.dlid,
            sl: ah.sl,
            source: self.kind,
            dest_qp: wr.remote_qpn(),
            qkey: wr.remote_qkey(),
            pkey,
            solicited: wr.is_solicited(),
            grh: ah.grh.map(|grh| node.build_grh(port, &grh, data.len())),
            data,
            strikes: 0,
        };
        wire::check(node, wr.port(), &packet)?;
        Ok(packet)
    }
}

impl Drop for Qp {
    fn drop(&mut self) {
        // The completion queues know of the queues of this queue pair, not of itself.
        self.send_cq.detach(&self.work);
        self.recv_cq.detach(&self.work);
    }
}
