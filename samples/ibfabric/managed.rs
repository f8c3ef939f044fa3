// SPDX-License-Identifier: GPL-2.0

//! What a subnet manager can see and change of a port beyond its link and address.
//!
//! Nothing here is looked at for a packet on its way, so it has a lock of its own.

use crate::mkey::MKey;

/// Entries of the GUID table.
pub(crate) const GUIDS: usize = 8;

/// Blocks of the VL arbitration table: two for low and two for high priority.
pub(crate) const ARBITRATION_BLOCKS: usize = 4;

/// Entries of one priority.
pub(crate) const ARBITRATION_ENTRIES: u8 = 64;

/// Widths there are: one lane and four.
pub(crate) const WIDTHS: u8 = 1 | 2;

/// Speeds there are: 2.5, 5 and 10 Gbit/s a lane.
pub(crate) const SPEEDS: u8 = 1 | 2 | 4;

/// Code of virtual lanes 0 to 7.
pub(crate) const VLS: u8 = 4;

/// The highest bit of a set of widths or speeds, which is the best.
fn best(set: u8) -> u8 {
    match set.checked_ilog2() {
        Some(bit) => 1u8.checked_shl(bit).unwrap_or(0),
        None => 0,
    }
}

/// What a subnet manager can see and change.
#[derive(Clone, Copy)]
pub(crate) struct Managed {
    /// The management key.
    pub(crate) mkey: MKey,
    /// The GUID table. The first one is that of the port, and not kept here.
    pub(crate) guids: [u64; GUIDS],
    /// Widths that are switched on.
    pub(crate) widths: u8,
    /// Speeds that are switched on.
    pub(crate) speeds: u8,
    /// Width in use.
    pub(crate) width: u8,
    /// Speed in use.
    pub(crate) speed: u8,
    /// Code of the virtual lanes in use.
    pub(crate) vls: u8,
    /// How much high priority may send before low priority.
    pub(crate) high_limit: u8,
    /// How many packets may be dropped in sequence before a lane stalls.
    pub(crate) stall_count: u8,
    /// How long a packet may wait at the head of a queue.
    pub(crate) head_life: u8,
    /// What the subnet manager answers to the kind of initialisation that was asked for.
    pub(crate) init_reply: u8,
    /// How many physical errors there may be.
    pub(crate) phy_errors: u8,
    /// How many buffer overruns there may be.
    pub(crate) overrun_errors: u8,
    /// Packets with a wrong P_Key.
    pub(crate) pkey_violations: u16,
    /// Packets with a wrong Q_Key.
    pub(crate) qkey_violations: u16,
    /// The VL arbitration table.
    pub(crate) arbitration: [[u8; 64]; ARBITRATION_BLOCKS],
}

impl Managed {
    /// As a port comes out of a reset.
    pub(crate) const fn new() -> Self {
        Self {
            mkey: MKey::new(),
            guids: [0; GUIDS],
            widths: WIDTHS,
            speeds: SPEEDS,
            width: 2,
            speed: 4,
            vls: VLS,
            high_limit: 0,
            stall_count: 0,
            head_life: 0,
            init_reply: 0,
            phy_errors: 0,
            overrun_errors: 0,
            pkey_violations: 0,
            qkey_violations: 0,
            arbitration: [[0; 64]; ARBITRATION_BLOCKS],
        }
    }

    /// The best width and speed that two ends have both switched on, if any.
    pub(crate) fn common(&self, other: &Self) -> Option<(u8, u8)> {
        let width = best(self.widths & other.widths);
        let speed = best(self.speeds & other.speeds);
        (width != 0 && speed != 0).then_some((width, speed))
    }
}
