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

/// Code of virtual lanes 0 to 7.
pub(crate) const VLS: u8 = 4;

/// What a subnet manager can see and change.
#[derive(Clone, Copy)]
pub(crate) struct Managed {
    /// The management key.
    pub(crate) mkey: MKey,
    /// The GUID table. The first one is that of the port, and not kept here.
    pub(crate) guids: [u64; GUIDS],
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
    /// Packets with a wrong P_Key when the violations were last set to zero.
    pub(crate) bad_pkeys: u64,
    /// Packets with a wrong Q_Key when the violations were last set to zero.
    pub(crate) bad_qkeys: u64,
    /// The VL arbitration table.
    pub(crate) arbitration: [[u8; 64]; ARBITRATION_BLOCKS],
}

impl Managed {
    /// As a port comes out of a reset.
    pub(crate) const fn new() -> Self {
        Self {
            mkey: MKey::new(),
            guids: [0; GUIDS],
            vls: VLS,
            high_limit: 0,
            stall_count: 0,
            head_life: 0,
            init_reply: 0,
            phy_errors: 0,
            overrun_errors: 0,
            bad_pkeys: 0,
            bad_qkeys: 0,
            arbitration: [[0; 64]; ARBITRATION_BLOCKS],
        }
    }
}
