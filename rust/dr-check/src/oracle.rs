// SPDX-License-Identifier: GPL-2.0

//! The oracle: the rules once more, as a table of clauses of which the first that applies decides.
//!
//! It shares nothing with the library: the clauses are the sentences of the specification
//! (InfiniBand Architecture Specification, volume 1, section 14.2.2) as `Documentation/rules.rst`
//! states them, with plain numbers for ports, hops, rules and reasons.

use crate::case::{
    Case,
    Side, //
};

/// Rules, by number.
pub const RULES: [(u8, &str); 13] = [
    (1, "C14-6"),
    (2, "C14-9:1"),
    (3, "C14-9:2"),
    (4, "C14-9:3"),
    (5, "C14-9:4"),
    (6, "C14-9:5"),
    (7, "C14-10.1.1"),
    (8, "C14-13:1"),
    (9, "C14-13:2"),
    (10, "C14-13:3"),
    (11, "C14-13:4"),
    (12, "C14-13:5"),
    (13, "LID"),
];

/// Reasons, by number.
pub const REASONS: [(u8, &str); 9] = [
    (1, "hop-count"),
    (2, "hop-pointer"),
    (3, "no-such-port"),
    (4, "port-zero"),
    (5, "ca-in-transit"),
    (6, "not-from-wire"),
    (7, "wrong-port"),
    (8, "nowhere-to-go"),
    (9, "not-returning"),
];

/// What becomes of an SMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Kept.
    Keep,
    /// Out by a port.
    Leave(u8),
    /// On by LID.
    ByLid(Option<u32>),
    /// Dropped, with the number of the reason.
    Drop(u8),
}

/// A whole decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What becomes of the SMP.
    pub fate: Fate,
    /// Its Hop Pointer afterwards.
    pub hop_ptr: u8,
    /// Return Path element and the port written to it.
    pub record: Option<(u8, u8)>,
    /// The number of the rule.
    pub rule: u8,
}

/// What a clause does: fate, change of the Hop Pointer, whether the ingress port is recorded.
type Effect = (Fate, i32, bool);

/// One clause: its rule, whether it applies, what it does.
struct Clause {
    rule: u8,
    when: fn(&Case) -> bool,
    then: fn(&Case) -> Effect,
}

/// Hop Pointer, without an end to it.
fn ptr(c: &Case) -> i32 {
    c.hop_ptr.into()
}

/// Hop Count, without an end to it.
fn cnt(c: &Case) -> i32 {
    c.hop_cnt.into()
}

/// Element `at` of the path of the direction.
fn element(c: &Case, at: i32) -> u8 {
    let path = if c.returning { &c.back } else { &c.initial };
    path[usize::try_from(at).unwrap()]
}

/// Out by `port`, if it is an external port of the node, with the Hop Pointer moved by `step`.
fn leave(c: &Case, port: u8, step: i32, record: bool) -> Effect {
    match port {
        0 => (Fate::Drop(4), 0, false),
        port if port > c.ports => (Fate::Drop(3), 0, false),
        port => (Fate::Leave(port), step, record),
    }
}

/// Out by `port`, if the sending agent sits there; that of a switch on port 0 reaches all.
fn leave_by_agent(c: &Case, port: u8, step: i32) -> Effect {
    let reached = (c.switch && c.port == 0) || port == c.port;
    match leave(c, port, step, false) {
        (Fate::Leave(_), ..) if !reached => (Fate::Drop(7), 0, false),
        effect => effect,
    }
}

/// Kept if the LID is permissive, otherwise on by it.
fn keep_or_route(lid: Option<u32>, step: i32, record: bool) -> Effect {
    match lid {
        None => (Fate::Keep, step, record),
        lid => (Fate::ByLid(lid), step, record),
    }
}

const KEEP: Effect = (Fate::Keep, 0, false);
const BY_HANDLE: Effect = (Fate::ByLid(None), 0, false);
const TOO_MANY_HOPS: Effect = (Fate::Drop(1), 0, false);
const WRONG_POINTER: Effect = (Fate::Drop(2), 0, false);
const CA_PASSES_NOTHING: Effect = (Fate::Drop(5), 0, false);

/// From the wire.
#[rustfmt::skip]
const RECEIVE: &[Clause] = &[
    Clause { rule: 1, when: |c| cnt(c) > 63, then: |_| TOO_MANY_HOPS },

    Clause { rule: 2, when: |c| !c.returning && cnt(c) != 0 && ptr(c) == 0 && c.slid.is_none(),
             then: |_| (Fate::Drop(6), 0, false) },
    Clause { rule: 2, when: |c| !c.returning && cnt(c) != 0 && ptr(c) == 0 && !c.switch,
             then: |_| CA_PASSES_NOTHING },
    Clause { rule: 2, when: |c| !c.returning && cnt(c) != 0 && ptr(c) == 0,
             then: |c| leave(c, element(c, 1), 1, false) },
    Clause { rule: 3, when: |c| !c.returning && 0 < ptr(c) && ptr(c) < cnt(c) && !c.switch,
             then: |_| CA_PASSES_NOTHING },
    Clause { rule: 3, when: |c| !c.returning && 0 < ptr(c) && ptr(c) < cnt(c),
             then: |c| leave(c, element(c, ptr(c) + 1), 1, true) },
    Clause { rule: 4, when: |c| !c.returning && ptr(c) == cnt(c) && c.dlid.is_some() && !c.switch,
             then: |_| CA_PASSES_NOTHING },
    Clause { rule: 4, when: |c| !c.returning && ptr(c) == cnt(c),
             then: |c| keep_or_route(c.dlid, 1, cnt(c) != 0) },
    Clause { rule: 5, when: |c| !c.returning && ptr(c) == cnt(c) + 1, then: |_| KEEP },
    Clause { rule: 6, when: |c| !c.returning, then: |_| WRONG_POINTER },

    Clause { rule: 8, when: |c| cnt(c) != 0 && ptr(c) == cnt(c) + 1 && !c.switch,
             then: |_| CA_PASSES_NOTHING },
    Clause { rule: 8, when: |c| cnt(c) != 0 && ptr(c) == cnt(c) + 1,
             then: |c| leave(c, element(c, ptr(c) - 1), -1, false) },
    Clause { rule: 9, when: |c| 2 <= ptr(c) && ptr(c) <= cnt(c) && !c.switch,
             then: |_| CA_PASSES_NOTHING },
    Clause { rule: 9, when: |c| 2 <= ptr(c) && ptr(c) <= cnt(c),
             then: |c| leave(c, element(c, ptr(c) - 1), -1, false) },
    Clause { rule: 10, when: |c| ptr(c) == 1 && c.slid.is_some() && !c.switch,
             then: |_| CA_PASSES_NOTHING },
    Clause { rule: 10, when: |c| ptr(c) == 1, then: |c| keep_or_route(c.slid, -1, false) },
    Clause { rule: 11, when: |c| ptr(c) == 0, then: |_| KEEP },
    Clause { rule: 12, when: |_| true, then: |_| WRONG_POINTER },
];

/// The node's own.
#[rustfmt::skip]
const SEND: &[Clause] = &[
    Clause { rule: 1, when: |c| cnt(c) > 63, then: |_| TOO_MANY_HOPS },

    Clause { rule: 13, when: |c| !c.returning && c.slid.is_some() && ptr(c) == 0,
             then: |_| BY_HANDLE },
    Clause { rule: 2, when: |c| !c.returning && cnt(c) != 0 && ptr(c) == 0,
             then: |c| leave_by_agent(c, element(c, 1), 1) },
    Clause { rule: 3, when: |c| !c.returning && 0 < ptr(c) && ptr(c) < cnt(c) && !c.switch,
             then: |_| CA_PASSES_NOTHING },
    Clause { rule: 3, when: |c| !c.returning && 0 < ptr(c) && ptr(c) < cnt(c),
             then: |c| leave_by_agent(c, element(c, ptr(c) + 1), 1) },
    Clause { rule: 4, when: |c| !c.returning && ptr(c) == cnt(c) && c.dlid.is_some() && !c.switch,
             then: |_| CA_PASSES_NOTHING },
    Clause { rule: 4, when: |c| !c.returning && ptr(c) == cnt(c),
             then: |c| keep_or_route(c.dlid, 1, false) },
    Clause { rule: 5, when: |c| !c.returning && ptr(c) == cnt(c) + 1, then: |_| KEEP },
    Clause { rule: 6, when: |c| !c.returning, then: |_| WRONG_POINTER },

    Clause { rule: 13, when: |c| c.dlid.is_some() && ptr(c) == cnt(c) + 1, then: |_| BY_HANDLE },
    Clause { rule: 8, when: |c| cnt(c) != 0 && ptr(c) == cnt(c) + 1,
             then: |c| leave_by_agent(c, element(c, ptr(c) - 1), -1) },
    Clause { rule: 9, when: |c| 2 <= ptr(c) && ptr(c) <= cnt(c) && !c.switch,
             then: |_| CA_PASSES_NOTHING },
    Clause { rule: 9, when: |c| 2 <= ptr(c) && ptr(c) <= cnt(c),
             then: |c| leave_by_agent(c, element(c, ptr(c) - 1), -1) },
    Clause { rule: 10, when: |c| ptr(c) == 1 && c.slid.is_some() && !c.switch && cnt(c) != 0,
             then: |_| CA_PASSES_NOTHING },
    Clause { rule: 10, when: |c| ptr(c) == 1, then: |c| keep_or_route(c.slid, -1, false) },
    Clause { rule: 11, when: |c| ptr(c) == 0, then: |_| KEEP },
    Clause { rule: 12, when: |_| true, then: |_| WRONG_POINTER },
];

/// An answer to one from the wire.
#[rustfmt::skip]
const REPLY: &[Clause] = &[
    Clause { rule: 1, when: |c| cnt(c) > 63, then: |_| TOO_MANY_HOPS },
    Clause { rule: 7, when: |c| !c.returning, then: |_| (Fate::Drop(9), 0, false) },
    Clause { rule: 12, when: |c| ptr(c) != cnt(c) + 1, then: |_| WRONG_POINTER },
    Clause { rule: 13, when: |c| c.dlid.is_some(), then: |_| BY_HANDLE },
    Clause { rule: 8, when: |c| cnt(c) != 0 && !c.switch,
             then: |c| leave_by_agent(c, element(c, ptr(c) - 1), -1) },
    Clause { rule: 8, when: |c| cnt(c) != 0, then: |c| leave(c, element(c, ptr(c) - 1), -1, false) },
    Clause { rule: 10, when: |c| c.slid.is_some(), then: |c| (Fate::ByLid(c.slid), -1, false) },
    Clause { rule: 10, when: |_| true, then: |_| (Fate::Drop(8), 0, false) },
];

/// The decision by the first clause that applies.
pub fn judge(side: Side, case: &Case) -> Outcome {
    let table = match side {
        Side::Receive => RECEIVE,
        Side::Send => SEND,
        Side::Reply => REPLY,
    };
    let clause = table.iter().find(|clause| (clause.when)(case)).unwrap();
    let (fate, step, record) = (clause.then)(case);
    Outcome {
        fate,
        hop_ptr: u8::try_from(ptr(case) + step).unwrap(),
        record: record.then_some((case.hop_ptr, case.port)),
        rule: clause.rule,
    }
}
