// SPDX-License-Identifier: GPL-2.0

//! Traps: how a node tells the subnet manager that something happened.
//!
//! Section 14.2.5.1 of the specification. A trap is sent by LID from QP0 of the port to the subnet
//! manager that the port was told of, and again after a while until a TrapRepress comes or it was
//! sent often enough. Of a kind, a port has one trap at a time: what happens meanwhile takes its
//! place. The time between two is that of PortInfo.SubnetTimeOut, however much happens. It is all
//! done by a [`Ticker`], since what happens may happen under locks.

mod notice;

pub(crate) use self::notice::{
    BadKey,
    Trap, //
};
use self::notice::{
    Issuer,
    KINDS, //
};
use crate::{
    compat::{
        new_spinlock_irq,
        SpinLockIrq, //
    },
    datagram::Datagram,
    mft,
    node::Node,
    packet::Packet,
    port::{
        Port,
        PortConfig, //
    },
    provider::{
        PortState,
        QpKind, //
    },
    ticker::{
        Tick,
        Ticker, //
    },
    wire, //
};
use kernel::{
    prelude::*,
    sync::{
        Arc,
        ArcBorrow, //
    },
    time::{
        Instant,
        Monotonic, //
    },
};

/// How often a trap is sent when nobody answers.
const SENDS: u8 = 5;

/// The shortest time between two traps, in milliseconds.
const MIN_INTERVAL: u32 = 10;

/// The trap of one kind at one port.
#[derive(Clone, Copy)]
struct Slot {
    /// What it is about, while it is to be sent.
    trap: Option<Trap>,
    /// Its transaction, the same in all repetitions.
    tid: u64,
    /// How often it is still sent.
    left: u8,
    /// When one of this kind was sent last.
    last: Option<Instant<Monotonic>>,
}

impl Slot {
    /// Nothing to tell.
    const EMPTY: Self = Self {
        trap: None,
        tid: 0,
        left: 0,
        last: None,
    };

    /// Milliseconds until it has to be sent, if at all.
    fn due_in(&self, interval: u32) -> Option<u32> {
        self.trap?;
        let Some(last) = self.last else {
            return Some(0);
        };
        let left = i64::from(interval).saturating_sub(last.elapsed().as_millis());
        Some(u32::try_from(left).unwrap_or(0))
    }

    /// Takes note that it is sent now. Returns what it is.
    fn send(&mut self) -> Option<(Trap, u64)> {
        let trap = self.trap?;
        self.last = Some(Instant::now());
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.trap = None;
        }
        Some((trap, self.tid))
    }
}

/// The part under the lock.
struct Inner {
    /// For every port with a LID.
    slots: KVec<[Slot; KINDS]>,
    /// The transaction of the last trap.
    tid: u64,
}

/// The traps of a node. The lock is taken before those of ports, never within them.
#[pin_data]
pub(crate) struct Traps {
    #[pin]
    inner: SpinLockIrq<Inner>,
    #[pin]
    ticker: Ticker<Node>,
}

impl Traps {
    /// For a node with so many ports that have a LID.
    pub(crate) fn new(ports: usize) -> Result<impl PinInit<Self>> {
        let slots = KVec::from_elem([Slot::EMPTY; KINDS], ports, GFP_KERNEL)?;
        Ok(pin_init!(Self {
            inner <- new_spinlock_irq!(Inner { slots, tid: 0 }, "ibfabric_traps"),
            ticker <- Ticker::new(),
        }))
    }

    /// Begins to send. [`Traps::stop`] has to follow. What happened before is of no interest, as no
    /// subnet manager can have been told of yet.
    pub(crate) fn start(&self, node: Arc<Node>) {
        self.ticker.start(node);
        self.ticker.wake_in(0);
    }

    /// Sends no more, and waits for what is being sent.
    pub(crate) fn stop(&self) {
        self.ticker.stop();
    }

    /// Something happened at the port with that place among those with a LID. Works in any context.
    pub(crate) fn raise(&self, place: usize, trap: Trap) {
        let mut inner = self.inner.lock();
        let tid = inner.tid.wrapping_add(1);
        let slots = inner.slots.get_mut(place);
        let Some(slot) = slots.and_then(|slots| slots.get_mut(trap.kind())) else {
            return;
        };
        slot.trap = Some(trap);
        slot.tid = tid;
        slot.left = SENDS;
        inner.tid = tid;
        self.ticker.wake_in(0);
    }

    /// A subnet manager heard of a trap.
    pub(crate) fn repress(&self, place: usize, tid: u64) {
        let mut inner = self.inner.lock();
        let slots = inner.slots.get_mut(place).into_iter().flatten();
        for slot in slots.filter(|slot| slot.tid == tid) {
            slot.trap = None;
        }
    }
}

/// Time between two traps of a port, in milliseconds.
fn interval(config: &PortConfig) -> u32 {
    /// The unit of PortInfo.SubnetTimeOut, in nanoseconds.
    const UNIT: u64 = 4096;
    let timeout = UNIT.checked_shl(config.subnet_timeout.into()).unwrap_or(0) / 1_000_000;
    u32::try_from(timeout).unwrap_or(u32::MAX).max(MIN_INTERVAL)
}

/// Whether a port has somebody to tell, and a way to do so.
fn can_send(config: &PortConfig) -> bool {
    let unicast = 1..mft::FIRST_LID;
    unicast.contains(&config.lid)
        && unicast.contains(&config.sm_lid)
        && config.state != PortState::Down
}

/// Sends a trap from a port.
fn send(node: &Node, port: &Port, config: &PortConfig, trap: &Trap, tid: u64) {
    let issuer = Issuer {
        node_type: node.node_type,
        lid: config.lid,
        cap_mask: config.cap_mask,
    };
    let packet = Packet {
        slid: config.lid,
        dlid: config.sm_lid,
        sl: config.sm_sl,
        source: QpKind::Smi,
        dest_qp: QpKind::Smi.number(),
        qkey: 0,
        pkey: 0xffff,
        solicited: false,
        grh: None,
        data: Datagram::new(trap.smp(tid, &issuer)),
        strikes: 0,
    };
    port.counters.traps.bump();
    // Lost if it finds no way; it is sent again.
    wire::send(node, port, 0, &packet);
}

impl Tick for Node {
    fn tick(this: ArcBorrow<'_, Self>) {
        let node = &*this;
        for (place, port) in node.addressed_ports().enumerate() {
            let config = port.config();
            for kind in 0..KINDS {
                let due = {
                    let mut inner = node.traps.inner.lock();
                    let slots = inner.slots.get_mut(place);
                    let slot = slots.and_then(|slots| slots.get_mut(kind));
                    slot.and_then(|slot| {
                        if !can_send(&config) {
                            slot.trap = None;
                        }
                        if slot.due_in(interval(&config))? > 0 {
                            return None;
                        }
                        slot.send()
                    })
                };
                if let Some((trap, tid)) = due {
                    send(node, port, &config, &trap, tid);
                }
            }
            port.manage(|managed| managed.mkey.expire());
        }
        // Under the lock, so that a trap that is raised now wakes this up after all.
        let inner = node.traps.inner.lock();
        let traps = inner
            .slots
            .iter()
            .zip(node.addressed_ports())
            .flat_map(|(slots, port)| {
                let interval = interval(&port.config());
                slots
                    .as_slice()
                    .iter()
                    .filter_map(move |slot| slot.due_in(interval))
            });
        let leases = node
            .addressed_ports()
            .filter_map(|port| port.manage(|managed| managed.mkey.left()))
            .map(|left| u32::try_from(left).unwrap_or(0).saturating_add(1));
        if let Some(next) = Iterator::chain(traps, leases).min() {
            node.traps.ticker.wake_in(next);
        }
    }
}
