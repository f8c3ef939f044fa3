// SPDX-License-Identifier: GPL-2.0

//! Where mainline deviates from the rules: for each kind, on which input.
//!
//! Each predicate looks at the input alone, not at what either side made of it. It is exact: it
//! holds where the two differ by this kind, and nowhere else. (M19 covers whatever is not to be
//! discarded; that it asks the oracle.) The numbers are those of
//! `Documentation/rules.rst`; M1, M2 and M12 to M14 lie outside of what is compared.

use crate::case::{
    Case,
    Layout,
    Side, //
};
use crate::oracle::{
    self,
    Fate, //
};

/// A kind of deviation.
pub struct Deviation {
    /// The number: M3 is 3.
    pub number: u8,
    /// In a few words.
    pub title: &'static str,
    /// Whether an input falls under it.
    pub applies: fn(Side, &Case) -> bool,
}

/// All kinds that show in the comparison; the first that applies counts.
pub const ALL: &[Deviation] = &[
    Deviation {
        number: 19,
        title: "Omni-Path DrSLID above 16 bits refused",
        applies: wide_slid,
    },
    Deviation {
        number: 3,
        title: "start after a LID-routed part discarded",
        applies: |side, c| {
            side == Side::Receive
                && counted(c)
                && c.switch
                && !c.returning
                && at_start(c)
                && c.slid.is_some()
                && c.has(c.initial[1])
        },
    },
    Deviation {
        number: 4,
        title: "DrDLID set at the end: kept by the switch",
        applies: |side, c| {
            side != Side::Reply
                && counted(c)
                && c.switch
                && !c.returning
                && c.hop_ptr == c.hop_cnt
                && c.dlid.is_some()
                && !skipped(side, c)
        },
    },
    Deviation {
        number: 5,
        title: "DrSLID set at the end: not sent on by the switch",
        applies: |side, c| {
            side != Side::Reply
                && counted(c)
                && c.switch
                && c.returning
                && c.hop_ptr == 1
                && c.slid.is_some()
                && !skipped(side, c)
        },
    },
    Deviation {
        number: 6,
        title: "start of the way back compared with the ingress port",
        applies: |side, c| {
            side == Side::Receive && c.switch && past_end(c) && {
                let hop = usize::from(c.hop_cnt);
                // Two faults cancel out: the port of the hop after is the same, and the Hop
                // Pointer that moved too far here is not moved there (M7).
                let cancelled = hop >= 2
                    && c.back[hop] == c.port
                    && c.back[hop - 1] == c.port
                    && c.dlid.is_some()
                    && !refused(c);
                c.has(c.back[hop]) && !cancelled
            }
        },
    },
    Deviation {
        number: 7,
        title: "Hop Pointer of a forwarded SMP left alone",
        applies: |side, c| {
            side == Side::Receive
                && c.switch
                && skipped(Side::Send, c)
                && !refused(c)
                && next_port(c).is_some_and(|port| c.has(port))
        },
    },
    Deviation {
        number: 8,
        title: "sent out by port 0",
        applies: |side, c| match side {
            Side::Receive => c.switch && !refused(c) && next_port(c) == Some(0),
            Side::Send => c.switch && !refused(c) && c.port == 0 && own_port(c) == Some(0),
            Side::Reply => false,
        },
    },
    Deviation {
        number: 9,
        title: "start of the way back accepted by a CA",
        applies: |side, c| {
            side == Side::Receive
                && !c.switch
                && past_end(c)
                && c.back[usize::from(c.hop_cnt)] == c.port
                && !(c.hop_cnt == 1 && c.slid.is_some())
        },
    },
    Deviation {
        number: 10,
        title: "agent on port 0 of a switch cannot send",
        applies: |side, c| {
            side == Side::Send
                && c.switch
                && c.port == 0
                && own_port(c).is_some_and(|port| c.has(port))
        },
    },
    Deviation {
        number: 11,
        title: "answer without a hop handed to local agents",
        applies: |side, c| {
            side == Side::Reply
                && c.hop_cnt == 0
                && c.dlid.is_none()
                && (c.switch || c.slid.is_none())
        },
    },
    Deviation {
        number: 15,
        title: "Hop Count above 63 sent",
        applies: |side, c| side != Side::Receive && !counted(c) && skipped(side, c) && !refused(c),
    },
    Deviation {
        number: 16,
        title: "Hop Pointer of an own SMP neither checked nor moved",
        applies: |side, c| {
            side == Side::Send
                && counted(c)
                && skipped(side, c)
                && !refused(c)
                && c.hop_ptr != 0
                && u16::from(c.hop_ptr) != u16::from(c.hop_cnt) + 1
        },
    },
    Deviation {
        number: 17,
        title: "answer of a CA without a hop, to DrSLID, refused",
        applies: |side, c| {
            side != Side::Receive
                && !c.switch
                && c.returning
                && (c.hop_ptr, c.hop_cnt) == (1, 0)
                && c.slid.is_some()
                && c.dlid.is_none()
        },
    },
    Deviation {
        number: 18,
        title: "a switch's answer by another than the ingress port refused",
        applies: |side, c| {
            side == Side::Reply && c.switch && past_end(c) && c.dlid.is_none() && {
                let port = c.back[usize::from(c.hop_cnt)];
                port != c.port && c.has(port)
            }
        },
    },
];

/// The kind that an input falls under.
pub fn of(side: Side, case: &Case) -> Option<usize> {
    ALL.iter().position(|kind| (kind.applies)(side, case))
}

/// Whether the Hop Count is one.
fn counted(c: &Case) -> bool {
    c.hop_cnt <= 63
}

/// Whether the way out has not started yet.
fn at_start(c: &Case) -> bool {
    c.hop_cnt != 0 && c.hop_ptr == 0
}

/// Whether the way back has not started yet.
fn past_end(c: &Case) -> bool {
    counted(c) && c.returning && c.hop_cnt != 0 && c.hop_ptr == c.hop_cnt + 1
}

/// Whether the LID-routed part that comes first in this direction is not empty: on that
/// `handle_outgoing_dr_smp` skips the rules, wherever the Hop Pointer is.
fn skipped(side: Side, c: &Case) -> bool {
    side != Side::Receive && if c.returning { c.dlid } else { c.slid }.is_some()
}

/// Whether `handle_outgoing_dr_smp` refuses the DrSLID.
fn refused(c: &Case) -> bool {
    c.layout == Layout::Opa && c.slid.is_some_and(|lid| lid > 0xFFFF)
}

/// The port by which an SMP in transit leaves.
fn next_port(c: &Case) -> Option<u8> {
    let hop = usize::from(c.hop_ptr);
    if !counted(c) {
        None
    } else if !c.returning {
        (0 < c.hop_ptr && c.hop_ptr < c.hop_cnt).then(|| c.initial[hop + 1])
    } else {
        (2 <= c.hop_ptr && c.hop_ptr <= c.hop_cnt).then(|| c.back[hop - 1])
    }
}

/// The port by which an own SMP of a switch leaves, if it does not start with a LID-routed part.
fn own_port(c: &Case) -> Option<u8> {
    if skipped(Side::Send, c) || !counted(c) {
        None
    } else if !c.returning && at_start(c) {
        Some(c.initial[1])
    } else if past_end(c) {
        Some(c.back[usize::from(c.hop_cnt)])
    } else {
        next_port(c)
    }
}

/// M19: on everything that goes through `handle_outgoing_dr_smp` and should not be discarded.
fn wide_slid(side: Side, c: &Case) -> bool {
    if !refused(c) {
        return false;
    }
    match side {
        Side::Receive => c.switch && next_port(c).is_some_and(|port| c.has(port)),
        Side::Send | Side::Reply => !matches!(oracle::judge(side, c).fate, Fate::Drop(_)),
    }
}
