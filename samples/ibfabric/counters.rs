// SPDX-License-Identifier: GPL-2.0

//! What a port counts.
//!
//! Counts inside only grow, with one relaxed addition each. What management sees can be set, so that
//! it is kept as a count and what has to be taken off: nothing that is counted meanwhile gets lost. So no
//! count may ever seem to shrink, and none is made as a difference of others that go on meanwhile, but as a
//! sum. Most ports are never written to, so that there is memory for a base only after the first time.

use crate::{
    faults::FaultCounters,
    packet::Packet, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        SetOnce, //
    },
};

/// A number that only grows.
pub(crate) struct Counter(Atomic<u64>);

impl Counter {
    /// Starts at zero.
    pub(crate) const fn new() -> Self {
        Self(Atomic::new(0))
    }

    /// Counts one more.
    pub(crate) fn bump(&self) {
        self.0.add(1u64, Relaxed);
    }

    /// The number so far.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Packets, to one and to many apart.
pub(crate) struct Packets {
    unicast: Counter,
    multicast: Counter,
}

impl Packets {
    /// Starts at zero.
    const fn new() -> Self {
        Self {
            unicast: Counter::new(),
            multicast: Counter::new(),
        }
    }

    /// Counts one more.
    pub(crate) fn count(&self, packet: &Packet) {
        let counter = if packet.is_multicast() {
            &self.multicast
        } else {
            &self.unicast
        };
        counter.bump();
    }

    /// The number of all so far.
    pub(crate) fn get(&self) -> u64 {
        self.unicast.get().wrapping_add(self.multicast.get())
    }
}

/// What management can read and write of a port's counters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    /// Minor link errors.
    SymbolErrors,
    /// Link errors that were overcome.
    LinkRecoveries,
    /// How often the link was lost.
    LinkDowned,
    /// Packets that came in and are of no use.
    RcvErrors,
    /// Packets that came in marked as bad.
    RcvRemotePhysical,
    /// Packets that came in and that a switch cannot forward.
    RcvSwitchRelay,
    /// Packets that could not leave.
    XmitDiscards,
    /// Packets that were not allowed to leave.
    XmitConstraint,
    /// Packets that were not allowed in.
    RcvConstraint,
    /// Local link integrity errors.
    LocalIntegrity,
    /// Excessive buffer overruns.
    BufferOverrun,
    /// SMPs that found no buffer.
    Vl15Dropped,
    /// GMPs that found no buffer.
    Qp1Dropped,
    /// Ticks during which something had to wait.
    XmitWait,
    /// Data sent, in words of four bytes.
    XmitData,
    /// Data received, in words of four bytes.
    RcvData,
    /// Packets sent.
    XmitPackets,
    /// Packets received.
    RcvPackets,
    /// Of those sent, those to one.
    UnicastXmit,
    /// Of those received, those to one.
    UnicastRcv,
    /// Of those sent, those to many.
    MulticastXmit,
    /// Of those received, those to many.
    MulticastRcv,
}

/// Number of fields.
const FIELDS: usize = Field::MulticastRcv as usize + 1;

/// Words of a packet with a datagram: LRH, BTH, DETH, datagram, invariant checksum.
const PACKET_WORDS: u64 = (8 + 12 + 8 + 256 + 4) / 4;

/// Words of a global route header.
const GRH_WORDS: u64 = 40 / 4;

/// The counters of a port.
pub(crate) struct Counters {
    /// Packets put on the wire.
    pub(crate) xmit: Packets,
    /// Those of them with a global route header.
    pub(crate) xmit_grh: Counter,
    /// Those of them that the switch forwarded by itself, by LID.
    pub(crate) forwarded: Counter,
    /// Packets that came off the wire.
    pub(crate) rcv: Packets,
    /// Those of them with a global route header.
    pub(crate) rcv_grh: Counter,
    /// How often the link was lost.
    pub(crate) link_downed: Counter,
    /// Packets that could not leave: no link, or on their way for too long.
    pub(crate) xmit_discards: Counter,
    /// Packets that came in and were not for here, or not what the queue pair takes.
    pub(crate) rcv_errors: Counter,
    /// Packets that came in and that a switch knows no way for.
    pub(crate) relay_errors: Counter,
    /// SMPs that found no receive buffer.
    pub(crate) vl15_dropped: Counter,
    /// GMPs that found no receive buffer.
    pub(crate) qp1_dropped: Counter,
    /// Packets that had to wait for a receive buffer.
    pub(crate) held: Counter,
    /// Traps that the port sent, each time.
    pub(crate) traps: Counter,
    /// Packets with a P_Key that is not in the table.
    pub(crate) bad_pkeys: Counter,
    /// Packets with a Q_Key that is not the queue pair's.
    pub(crate) bad_qkeys: Counter,
    /// What faults did, once there are any.
    faults: SetOnce<KBox<FaultCounters>>,
    /// What to take off each field.
    bases: SetOnce<KBox<[Atomic<u64>; FIELDS]>>,
}

impl Counters {
    /// All at zero.
    pub(crate) const fn new() -> Self {
        Self {
            xmit: Packets::new(),
            xmit_grh: Counter::new(),
            forwarded: Counter::new(),
            rcv: Packets::new(),
            rcv_grh: Counter::new(),
            link_downed: Counter::new(),
            xmit_discards: Counter::new(),
            rcv_errors: Counter::new(),
            relay_errors: Counter::new(),
            vl15_dropped: Counter::new(),
            qp1_dropped: Counter::new(),
            held: Counter::new(),
            traps: Counter::new(),
            bad_pkeys: Counter::new(),
            bad_qkeys: Counter::new(),
            faults: SetOnce::new(),
            bases: SetOnce::new(),
        }
    }

    /// What faults did, if any were ever staged here.
    pub(crate) fn faults(&self) -> Option<&FaultCounters> {
        self.faults.as_ref().map(|faults| &**faults)
    }

    /// Prepares to count what faults do. May sleep.
    pub(crate) fn count_faults(&self) -> Result {
        if self.faults.as_ref().is_none() {
            let faults = KBox::new(FaultCounters::new(), GFP_KERNEL)?;
            // If somebody else was faster, it is the same.
            let _ = self.faults.populate(faults);
        }
        Ok(())
    }

    /// All that was ever counted for a field. There is no physical layer, and no one has to wait.
    fn total(&self, field: Field) -> u64 {
        let data = |packets: &Packets, headers: &Counter| {
            packets
                .get()
                .wrapping_mul(PACKET_WORDS)
                .wrapping_add(headers.get().wrapping_mul(GRH_WORDS))
        };
        match field {
            Field::SymbolErrors
            | Field::LinkRecoveries
            | Field::RcvRemotePhysical
            | Field::XmitConstraint
            | Field::RcvConstraint
            | Field::LocalIntegrity
            | Field::BufferOverrun
            | Field::XmitWait => 0,
            Field::LinkDowned => self.link_downed.get(),
            Field::RcvErrors => self.rcv_errors.get(),
            Field::RcvSwitchRelay => self.relay_errors.get(),
            Field::XmitDiscards => self.xmit_discards.get(),
            Field::Vl15Dropped => self.vl15_dropped.get(),
            Field::Qp1Dropped => self.qp1_dropped.get(),
            Field::XmitData => data(&self.xmit, &self.xmit_grh),
            Field::RcvData => data(&self.rcv, &self.rcv_grh),
            Field::XmitPackets => self.xmit.get(),
            Field::RcvPackets => self.rcv.get(),
            Field::UnicastXmit => self.xmit.unicast.get(),
            Field::UnicastRcv => self.rcv.unicast.get(),
            Field::MulticastXmit => self.xmit.multicast.get(),
            Field::MulticastRcv => self.rcv.multicast.get(),
        }
    }

    /// What is taken off a field.
    fn base(&self, field: Field) -> Option<&Atomic<u64>> {
        // CAST: The number of a field, below `FIELDS`.
        self.bases.as_ref()?.get(field as usize)
    }

    /// A field, as management sees it.
    pub(crate) fn read(&self, field: Field) -> u64 {
        let base = self.base(field).map_or(0, |base| base.load(Relaxed));
        self.total(field).wrapping_sub(base)
    }

    /// Lets a field go on from another value. May sleep.
    pub(crate) fn write(&self, field: Field, value: u64) -> Result {
        if self.bases.as_ref().is_none() {
            let bases = KBox::new([const { Atomic::new(0) }; FIELDS], GFP_KERNEL)?;
            // If somebody else was faster, it is the same.
            let _ = self.bases.populate(bases);
        }
        let base = self.base(field).ok_or(EBUSY)?;
        base.store(self.total(field).wrapping_sub(value), Relaxed);
        Ok(())
    }
}
