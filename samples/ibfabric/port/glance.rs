// SPDX-License-Identifier: GPL-2.0

//! What a packet has to know of a port: LID and state, in a word that is read without a lock.

use super::PortConfig;
use crate::{
    packet::LID_PERMISSIVE,
    provider::PortState, //
};
use kernel::sync::atomic::{
    Atomic,
    Relaxed, //
};

/// A part of a port's configuration.
#[derive(Clone, Copy)]
pub(crate) struct Glance {
    /// The port's LID; 0 before it has one.
    pub(crate) lid: u16,
    /// How many low bits of the LID are free.
    lmc: u8,
    /// Logical state.
    pub(crate) state: PortState,
    /// Whether there are faults to look at when something leaves by the port.
    pub(crate) faulty: bool,
}

impl Glance {
    /// The bits of a LID that are the port's own.
    fn mask(self) -> u16 {
        u16::MAX.checked_shl(self.lmc.into()).unwrap_or(0)
    }

    /// Whether a packet to `dlid` is for this port.
    pub(crate) fn owns(self, dlid: u16) -> bool {
        self.lid != 0 && (dlid ^ self.lid) & self.mask() == 0
    }

    /// The part of a LID of this port that is free.
    pub(crate) fn path_bits(self, lid: u16) -> u8 {
        if lid == LID_PERMISSIVE {
            return 0;
        }
        // CAST: There are at most seven such bits.
        (lid & !self.mask() & 0x7f) as u8
    }

    /// The LID to send from, with the free bits that the sender wants.
    pub(crate) fn source(self, path_bits: u8) -> u16 {
        self.lid & self.mask() | u16::from(path_bits) & !self.mask()
    }
}

/// The bit of the word that says so, in the byte of the state.
const FAULTY: u32 = 1 << 31;

/// It, shared. Who changes it holds the lock of the configuration.
pub(super) struct AtomicGlance(Atomic<u32>);

/// All in a word.
fn pack(config: &PortConfig) -> u32 {
    // CAST: An enumerator of an enum with that representation.
    let state = config.state as u8;
    u32::from(state) << 24 | u32::from(config.lmc) << 16 | u32::from(config.lid)
}

impl AtomicGlance {
    /// Of a port that is new.
    pub(super) fn new(state: PortState) -> Self {
        // CAST: As in `pack`.
        Self(Atomic::new(u32::from(state as u8) << 24))
    }

    /// Takes over a change.
    pub(super) fn update(&self, config: &PortConfig) {
        let faulty = self.0.load(Relaxed) & FAULTY;
        self.0.store(pack(config) | faulty, Relaxed);
    }

    /// Says whether there are faults to look at.
    pub(super) fn set_faulty(&self, faulty: bool) {
        let rest = self.0.load(Relaxed) & !FAULTY;
        self.0
            .store(if faulty { rest | FAULTY } else { rest }, Relaxed);
    }

    /// Reads it.
    pub(super) fn get(&self) -> Glance {
        let word = self.0.load(Relaxed);
        let [state, lmc, high, low] = (word & !FAULTY).to_be_bytes();
        Glance {
            lid: u16::from_be_bytes([high, low]),
            lmc,
            state: match state {
                4 => PortState::Active,
                3 => PortState::Armed,
                2 => PortState::Init,
                _ => PortState::Down,
            },
            faulty: word & FAULTY != 0,
        }
    }
}
