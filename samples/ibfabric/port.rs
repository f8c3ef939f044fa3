// SPDX-License-Identifier: GPL-2.0

//! A port of a node: its state, its end of a link, its queue pairs.

mod glance;

use self::glance::AtomicGlance;
pub(crate) use self::glance::Glance;
use crate::{
    compat::{
        new_spinlock_irq,
        SpinLockIrq, //
    },
    counters::{
        Counter,
        Counters, //
    },
    enabled::Enabled,
    faults::{
        Fate,
        FaultCounters,
        LinkFaults,
        SendFaults, //
    },
    managed::Managed,
    node::Node,
    packet::Packet,
    provider::{
        PhysState,
        PortState,
        QpKind, //
    },
    qp::{
        Qp,
        Visit, //
    },
    rate::Rate,
};
use kernel::{prelude::*, sync::Arc};

/// First half of all GIDs before a subnet manager says otherwise.
pub(crate) const DEFAULT_GID_PREFIX: u64 = 0xfe80_0000_0000_0000;

/// Capabilities that a port has without asking: traps, SL mapping, system image GUID, directed routes
/// in notices, capability mask notices, client reregistration, other local changes.
const CAPABILITIES: u32 = 1 << 3 | 1 << 6 | 1 << 11 | 1 << 21 | 1 << 22 | 1 << 25 | 1 << 26;

/// Those of ports of channel adapters besides: connection management.
const CA_CAPABILITIES: u32 = 1 << 16;

/// Those of a switch besides: an end of the multicast forwarding table.
const SWITCH_CAPABILITIES: u32 = 1 << 30;

/// The capability of extended speeds.
const EXTENDED_SPEEDS: u32 = 1 << 14;

/// Code of an MTU of 2048 bytes.
pub(crate) const MTU_2048: u8 = 4;

/// Entries of the P_Key table.
pub(crate) const PKEYS: usize = 16;

/// The P_Key that lets all talk to all.
const DEFAULT_PKEY: u16 = 0xffff;

/// That of management in Omni-Path, as a limited member: SMAs answer with it.
const MANAGEMENT_PKEY: u16 = 0x7fff;

/// Where it is in the P_Key table of Omni-Path.
pub(crate) const MANAGEMENT: u16 = 1;

/// The P_Key table before a subnet manager says otherwise.
const fn default_pkeys(opa: bool) -> [u16; PKEYS] {
    let mut pkeys = [0; PKEYS];
    pkeys[0] = DEFAULT_PKEY;
    if opa {
        pkeys[MANAGEMENT as usize] = MANAGEMENT_PKEY;
    }
    pkeys
}

/// What a subnet manager can see and change of a port.
#[derive(Clone, Copy)]
pub(crate) struct PortConfig {
    /// Logical state.
    pub(crate) state: PortState,
    /// Physical state.
    pub(crate) phys_state: PhysState,
    /// The port's LID; 0 before it has one.
    pub(crate) lid: u16,
    /// How many low bits of the LID are free.
    pub(crate) lmc: u8,
    /// LID of the subnet manager.
    pub(crate) sm_lid: u16,
    /// Service level to the subnet manager.
    pub(crate) sm_sl: u8,
    /// Capability mask.
    pub(crate) cap_mask: u32,
    /// First half of all GIDs.
    pub(crate) gid_prefix: u64,
    /// Subnet timeout.
    pub(crate) subnet_timeout: u8,
    /// MTU in use, by its code.
    pub(crate) mtu: u8,
    /// Whether the link is kept down from this end.
    pub(crate) disabled: bool,
    /// What the port can do at most.
    pub(crate) rate: Rate,
    /// What the link does.
    pub(crate) active: Rate,
    /// What is switched on of what it can do.
    pub(crate) enabled: Enabled,
}

/// How a port begins.
pub(crate) struct PortInit {
    /// Its number.
    pub(crate) number: u8,
    /// Its GUID.
    pub(crate) guid: u64,
    /// What it can do at most.
    pub(crate) rate: Rate,
    /// Whether it is kept down.
    pub(crate) disabled: bool,
    /// Whether it announces extended speeds.
    pub(crate) extended_speeds: bool,
    /// Whether it is of Omni-Path.
    pub(crate) opa: bool,
}

/// A port, named by its node.
#[derive(Clone)]
pub(crate) struct PortRef {
    /// The node.
    pub(crate) node: Arc<Node>,
    /// The number of the port there.
    pub(crate) number: u8,
}

impl PortRef {
    /// The port itself.
    pub(crate) fn port(&self) -> Option<&Port> {
        self.node.port(self.number)
    }
}

/// A port. Port 0 of a switch is the switch itself.
///
/// None of the locks is held while another is taken.
#[pin_data]
pub(crate) struct Port {
    /// Its number.
    pub(crate) number: u8,
    /// Its GUID.
    pub(crate) guid: u64,
    #[pin]
    config: SpinLockIrq<PortConfig>,
    /// The part of it that packets want to know.
    glance: AtomicGlance,
    #[pin]
    managed: SpinLockIrq<Managed>,
    #[pin]
    pkeys: SpinLockIrq<[u16; PKEYS]>,
    #[pin]
    peer: SpinLockIrq<Option<PortRef>>,
    #[pin]
    smi: SpinLockIrq<Option<Arc<Qp>>>,
    #[pin]
    gsi: SpinLockIrq<Option<Arc<Qp>>>,
    /// What goes wrong with what it sends, if somebody wants that.
    #[pin]
    faults: SpinLockIrq<Option<KBox<LinkFaults>>>,
    /// What it counts.
    pub(crate) counters: Counters,
}

impl Port {
    /// A port with nothing plugged in. Port 0 of a switch is always up.
    pub(crate) fn new(init: PortInit) -> impl PinInit<Self> {
        let PortInit {
            number,
            guid,
            rate,
            disabled,
            extended_speeds,
            opa,
        } = init;
        let phys_state = match (number, disabled) {
            (0, _) => PhysState::LinkUp,
            (_, true) => PhysState::Disabled,
            (_, false) => PhysState::Polling,
        };
        let (state, kind) = match number {
            0 => (PortState::Active, SWITCH_CAPABILITIES),
            _ => (PortState::Down, CA_CAPABILITIES),
        };
        let extended = if extended_speeds { EXTENDED_SPEEDS } else { 0 };
        pin_init!(Self {
            number,
            guid,
            config <- new_spinlock_irq!(PortConfig {
                state,
                phys_state,
                lid: 0,
                lmc: 0,
                sm_lid: 0,
                sm_sl: 0,
                cap_mask: CAPABILITIES | kind | extended,
                gid_prefix: DEFAULT_GID_PREFIX,
                subnet_timeout: 18,
                mtu: MTU_2048,
                disabled,
                rate,
                active: rate,
                enabled: Enabled::all(rate),
            }, "ibfabric_port_config"),
            managed <- new_spinlock_irq!(Managed::new(), "ibfabric_port_managed"),
            glance: AtomicGlance::new(state),
            pkeys <- new_spinlock_irq!(default_pkeys(opa), "ibfabric_port_pkeys"),
            peer <- new_spinlock_irq!(None, "ibfabric_port_peer"),
            smi <- new_spinlock_irq!(None, "ibfabric_port_smi"),
            gsi <- new_spinlock_irq!(None, "ibfabric_port_gsi"),
            faults <- new_spinlock_irq!(None, "ibfabric_port_faults"),
            counters: Counters::new(),
        })
    }

    /// A copy of the configuration.
    pub(crate) fn config(&self) -> PortConfig {
        *self.config.lock()
    }

    /// Changes the configuration.
    pub(crate) fn configure<R>(&self, change: impl FnOnce(&mut PortConfig) -> R) -> R {
        let mut config = self.config.lock();
        let outcome = change(&mut config);
        self.glance.update(&config);
        outcome
    }

    /// What packets want to know, without a lock.
    pub(crate) fn glance(&self) -> Glance {
        self.glance.get()
    }

    /// Reads or changes the rest of what a subnet manager can see.
    pub(crate) fn manage<R>(&self, change: impl FnOnce(&mut Managed) -> R) -> R {
        change(&mut self.managed.lock())
    }

    /// The port at the other end of the link.
    pub(crate) fn peer(&self) -> Option<PortRef> {
        self.peer.lock().clone()
    }

    /// Changes the peer, of which only `link` knows when. Returns the one before.
    pub(crate) fn set_peer(&self, peer: Option<PortRef>) -> Option<PortRef> {
        core::mem::replace(&mut *self.peer.lock(), peer)
    }

    /// A copy of the P_Key table.
    pub(crate) fn pkeys(&self) -> [u16; PKEYS] {
        *self.pkeys.lock()
    }

    /// An entry of the P_Key table.
    pub(crate) fn pkey(&self, index: usize) -> Option<u16> {
        self.pkeys.lock().get(index).copied()
    }

    /// Where in the table a P_Key is that goes with that of a packet: the same partition, and not both
    /// of limited membership (section 10.9.3 of the specification).
    pub(crate) fn find_pkey(&self, pkey: u16) -> Option<u8> {
        const FULL: u16 = 0x8000;
        if pkey & !FULL == 0 {
            return None;
        }
        let pkeys = self.pkeys.lock();
        let place = pkeys
            .iter()
            .position(|own| (own ^ pkey) & !FULL == 0 && (own | pkey) & FULL != 0)?;
        u8::try_from(place).ok()
    }

    /// Where in the table that very P_Key is, for a queue pair that takes any: 0 if it is not there.
    pub(crate) fn place_of_pkey(&self, pkey: u16) -> u8 {
        let place = self.pkeys.lock().iter().position(|own| *own == pkey);
        place.and_then(|place| place.try_into().ok()).unwrap_or(0)
    }

    /// Changes the P_Key table. Returns whether anything is different now.
    pub(crate) fn set_pkeys(&self, pkeys: [u16; PKEYS]) -> bool {
        core::mem::replace(&mut *self.pkeys.lock(), pkeys) != pkeys
    }

    /// Where a queue pair of this port is kept.
    fn slot(&self, kind: QpKind) -> &SpinLockIrq<Option<Arc<Qp>>> {
        match kind {
            QpKind::Smi => &self.smi,
            QpKind::Gsi => &self.gsi,
        }
    }

    /// Comes in to a queue pair of this port, if somebody made it.
    pub(crate) fn visit(&self, kind: QpKind) -> Option<Visit> {
        // Under the lock, so that `unplug` knows who is in.
        Visit::new(self.slot(kind).lock().as_ref()?)
    }

    /// Looks at what goes wrong at a queue pair of this port, or changes it.
    pub(crate) fn send_faults<R>(
        &self,
        kind: QpKind,
        look: impl FnOnce(&mut SendFaults) -> R,
    ) -> Option<R> {
        let qp = self.slot(kind).lock().clone()?;
        Some(qp.faults(look))
    }

    /// Lets completions of sends be heard of again, at each queue pair of this port or at one.
    pub(crate) fn unstall(&self, kinds: &[QpKind]) {
        for kind in kinds {
            let qp = self.slot(*kind).lock().clone();
            if let Some(qp) = qp {
                qp.unstall();
            }
        }
    }

    /// Lets there be faults of the link. Gives them back if there are some already.
    pub(crate) fn stage(&self, faults: KBox<LinkFaults>) -> Result<(), KBox<LinkFaults>> {
        {
            let mut slot = self.faults.lock();
            if slot.is_some() {
                return Err(faults);
            }
            *slot = Some(faults);
        }
        self.set_faulty(true);
        Ok(())
    }

    /// Lets there be no faults of the link. Returns those that there were.
    pub(crate) fn unstage(&self) -> Option<KBox<LinkFaults>> {
        self.set_faulty(false);
        self.faults.lock().take()
    }

    /// Lets packets look at the faults of the link, or not.
    fn set_faulty(&self, faulty: bool) {
        let _config = self.config.lock();
        self.glance.set_faulty(faulty);
    }

    /// Looks at the faults of the link, if there are any, or changes them.
    pub(crate) fn faults<R>(&self, look: impl FnOnce(&mut LinkFaults) -> R) -> Option<R> {
        self.faults.lock().as_deref_mut().map(look)
    }

    /// What becomes of a packet that leaves by a port with faults.
    #[cold]
    pub(crate) fn judge(&self, packet: &Packet, forwarded: bool) -> Fate {
        let Some(counters) = self.counters.faults() else {
            return Fate::Pass;
        };
        self.faults(|faults| faults.judge(packet, forwarded, counters))
            .unwrap_or(Fate::Pass)
    }

    /// Counts what a fault did.
    pub(crate) fn count_fault(&self, pick: impl FnOnce(&FaultCounters) -> &Counter) {
        if let Some(counters) = self.counters.faults() {
            pick(counters).bump();
        }
    }

    /// Makes a queue pair reachable for packets. There can be one of a kind.
    pub(crate) fn plug(&self, kind: QpKind, qp: Arc<Qp>) -> Result {
        let mut slot = self.slot(kind).lock();
        if slot.is_some() {
            return Err(EBUSY);
        }
        *slot = Some(qp);
        Ok(())
    }

    /// Undoes [`Port::plug`].
    pub(crate) fn unplug(&self, kind: QpKind) {
        let qp = self.slot(kind).lock().take();
        drop(qp);
    }
}
