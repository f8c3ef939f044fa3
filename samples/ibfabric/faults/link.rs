// SPDX-License-Identifier: GPL-2.0

//! Faults of a link, in the direction in which one port sends.
//!
//! A packet that a fault changes, doubles or delays is taken out of its sender's hands and goes on
//! from a queue of the port's, whose [`Delivery`] sends it at its time: so a fault costs no stack, a
//! packet that is held back follows the rules when it leaves (links, counters and captures see it
//! then), and there is a bound to how many there are.

use super::{
    delivery::Delivery,
    filter::Filter,
    knob::{
        when,
        Knob,
        Plain,
        Setting, //
    },
    FaultCounters,
    Words, //
};
use crate::{
    compat::enobufs,
    packet::Packet,
    port::PortRef,
    ring::Ring,
    sma::smp::Smp, //
};
use kernel::{
    alloc::{
        allocator::Kmalloc,
        flags::{
            GFP_ATOMIC,
            __GFP_NOWARN, //
        }, //
    },
    fmt,
    prelude::*,
    sync::Arc,
    time::{
        Instant,
        Monotonic,
        Msecs, //
    }, //
};

/// How many packets a port can hold back.
pub(super) const CAPACITY: usize = 256;

/// How often a packet can be held back on its way, which ends a way in circles.
const MAX_STRIKES: u8 = 64;

/// What becomes of a packet that is to leave.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It leaves.
    Pass,
    /// It leaves, and does not arrive.
    Lost,
    /// It leaves later, or not at all.
    Held,
}

/// For how long a packet is held back, in milliseconds.
#[derive(Clone, Copy)]
pub(crate) struct Delay(Msecs);

impl Setting for Delay {
    const CAN_BE: &'static str = concat!("off, or MS, 1 to 60000, and ", when!());

    fn parse(words: &mut Words<'_>, _: u8) -> Option<Self> {
        let delay = words.number().filter(|ms| (1..=60_000).contains(ms))?;
        Some(Self(delay))
    }

    fn show(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        write!(f, "{} ", self.0)
    }
}

/// To how many bytes a datagram is cut.
#[derive(Clone, Copy)]
pub(crate) struct Cut(u8);

impl Cut {
    /// How much of a packet is left, if it is longer than that.
    fn left(&self, packet: &Packet) -> Option<u16> {
        let left = u16::from(self.0);
        (packet.data.len() > left).then_some(left)
    }
}

impl Setting for Cut {
    const CAN_BE: &'static str = concat!("off, or BYTES, 1 to 255, and ", when!());

    fn parse(words: &mut Words<'_>, _: u8) -> Option<Self> {
        let bytes = words.number().filter(|bytes| *bytes != 0)?;
        Some(Self(bytes))
    }

    fn show(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        write!(f, "{} ", self.0)
    }
}

/// What is done to a byte.
#[derive(Clone, Copy)]
enum Change {
    Set(u8),
    Xor(u8),
}

/// A byte of a datagram, and what it becomes.
#[derive(Clone, Copy)]
pub(crate) struct Patch {
    offset: u8,
    change: Change,
}

impl Patch {
    /// Where, and the new value; unless the packet ends before it.
    fn apply(&self, packet: &Packet) -> Option<(u8, u8)> {
        let byte = packet.data.byte(self.offset)?;
        let byte = match self.change {
            Change::Set(value) => value,
            Change::Xor(bits) => byte ^ bits,
        };
        Some((self.offset, byte))
    }
}

impl Setting for Patch {
    const CAN_BE: &'static str = concat!(
        "off, or OFFSET, 0 to 255, with set VALUE (0 to 255) or xor BITS (1 to 255), and ",
        when!()
    );

    fn parse(words: &mut Words<'_>, _: u8) -> Option<Self> {
        let offset = words.number()?;
        let change = if words.accept(b"set") {
            Change::Set(words.number()?)
        } else if words.accept(b"xor") {
            Change::Xor(words.number().filter(|bits| *bits != 0)?)
        } else {
            return None;
        };
        Some(Self { offset, change })
    }

    fn show(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        write!(f, "{} ", self.offset)?;
        match self.change {
            Change::Set(value) => write!(f, "set {value:#04x} "),
            Change::Xor(bits) => write!(f, "xor {bits:#04x} "),
        }
    }
}

/// A packet that is held back.
pub(super) struct Waiting {
    since: Instant<Monotonic>,
    delay: Msecs,
    /// Whether the switch forwards it by itself.
    pub(super) forwarded: bool,
    pub(super) packet: Packet,
}

impl Waiting {
    /// Milliseconds until it goes on.
    fn left(&self) -> Msecs {
        let left = i64::from(self.delay).saturating_sub(self.since.elapsed().as_millis());
        Msecs::try_from(left).unwrap_or(0)
    }
}

/// What goes wrong with packets that leave by one port.
pub(crate) struct LinkFaults {
    /// To which of them.
    pub(crate) filter: Filter,
    /// Sent, and gone.
    pub(crate) drop: Knob<Plain>,
    /// Held back.
    pub(crate) delay: Knob<Delay>,
    /// Sent twice.
    pub(crate) duplicate: Knob<Plain>,
    /// Sent without their end.
    pub(crate) truncate: Knob<Cut>,
    /// Sent with another byte.
    pub(crate) corrupt: Knob<Patch>,
    /// How many found no room since the beginning.
    lost: u64,
    /// Whether one is just leaving.
    leaving: bool,
    /// In the order in which they came.
    queue: Ring<KBox<Waiting>, Kmalloc>,
    delivery: Arc<Delivery>,
}

impl LinkFaults {
    /// None yet, at a port. [`LinkFaults::end`] has to follow.
    pub(crate) fn new(at: PortRef) -> Result<KBox<Self>> {
        let faults = KBox::new(
            Self {
                filter: Filter::default(),
                drop: Knob::OFF,
                delay: Knob::OFF,
                duplicate: Knob::OFF,
                truncate: Knob::OFF,
                corrupt: Knob::OFF,
                lost: 0,
                leaving: false,
                queue: Ring::new(CAPACITY)?,
                delivery: Delivery::new(at)?,
            },
            GFP_KERNEL,
        )?;
        // Last, since nothing may fail between this and the end.
        faults.delivery.start();
        Ok(faults)
    }

    /// Decides about a packet that leaves.
    pub(crate) fn judge(
        &mut self,
        packet: &Packet,
        forwarded: bool,
        counters: &FaultCounters,
    ) -> Fate {
        if !self.filter.matches(&Smp(*packet.data.head())) {
            return Fate::Pass;
        }
        if self.drop.strike(|_| Some(())).is_some() {
            counters.dropped.bump();
            return Fate::Lost;
        }
        let patch = self.corrupt.strike(|patch| patch.apply(packet));
        let cut = self.truncate.strike(|cut| cut.left(packet));
        let twice = self.duplicate.strike(|_| Some(())).is_some();
        let delay = self.delay.strike(|delay| Some(delay.0));
        for (happens, counter) in [
            (patch.is_some(), &counters.corrupted),
            (cut.is_some(), &counters.truncated),
            (twice, &counters.duplicated),
            (delay.is_some(), &counters.delayed),
        ] {
            if happens {
                counter.bump();
            }
        }
        if patch.is_none() && cut.is_none() && !twice && delay.is_none() {
            return Fate::Pass;
        }
        let change = |packet: &mut Packet| {
            if let Some((offset, value)) = patch {
                packet.data.set_byte(offset, value);
            }
            if let Some(left) = cut {
                packet.data.cut(left);
            }
        };
        for _ in 0..if twice { 2 } else { 1 } {
            if self
                .hold(packet, change, delay.unwrap_or(0), forwarded)
                .is_err()
            {
                self.lost = self.lost.saturating_add(1);
                counters.lost.bump();
            }
        }
        Fate::Held
    }

    /// Holds back a copy.
    fn hold(
        &mut self,
        packet: &Packet,
        change: impl FnOnce(&mut Packet),
        delay: Msecs,
        forwarded: bool,
    ) -> Result {
        if self.queue.len() >= CAPACITY || packet.strikes >= MAX_STRIKES {
            return Err(enobufs());
        }
        let waiting = Waiting {
            since: Instant::now(),
            delay,
            forwarded,
            packet: packet.clone(),
        };
        let mut waiting = KBox::new(waiting, GFP_ATOMIC | __GFP_NOWARN)?;
        waiting.packet.strikes = packet.strikes.saturating_add(1);
        change(&mut waiting.packet);
        self.queue.push(waiting).map_err(|_| enobufs())?;
        if self.queue.len() == 1 {
            self.delivery.wake_in(delay);
        }
        Ok(())
    }

    /// Holds nothing back any longer than by now.
    pub(crate) fn release(&mut self) {
        for offset in 0..self.queue.len() {
            if let Some(waiting) = self.queue.get_mut(offset) {
                waiting.delay = 0;
            }
        }
        self.delivery.wake_in(0);
    }

    /// Takes out the next packet, if its time has come. The one before has left.
    pub(super) fn take_due(&mut self) -> Option<KBox<Waiting>> {
        self.leaving = self.queue.get(0).is_some_and(|next| next.left() == 0);
        if self.leaving {
            self.queue.pop()
        } else {
            None
        }
    }

    /// Wakes the delivery up for the next packet. The one before has left.
    pub(super) fn rearm(&mut self) {
        self.leaving = false;
        if let Some(next) = self.queue.get(0) {
            self.delivery.wake_in(next.left());
        }
    }

    /// What is held back, and what was lost.
    pub(crate) fn show_queue(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        let waiting = self.queue.len().saturating_add(self.leaving.into());
        let lost = self.lost;
        write!(f, "waiting={waiting} capacity={CAPACITY} lost={lost}")
    }

    /// Ends it all: what is held back leaves now. Nobody may see the faults any more. May sleep.
    pub(crate) fn end(mut self: KBox<Self>) {
        self.delivery.stop();
        while let Some(waiting) = self.queue.pop() {
            self.delivery.send(&waiting);
        }
    }
}
