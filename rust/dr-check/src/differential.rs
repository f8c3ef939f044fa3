// SPDX-License-Identifier: GPL-2.0

//! The comparison with mainline: every case of the grid, judged by the library and by `smi.c`.
//!
//! A difference in verdict, egress or Hop Pointer has to fall under a known [`deviation`], and
//! where a deviation is predicted there has to be a difference.

use std::fmt;
use std::ops::AddAssign;

use dr::{
    Decision,
    Verdict, //
};

use crate::case::{
    Case,
    Side, //
};
use crate::deviation;
use crate::enumeration::library;
use crate::grid::{
    self,
    Block, //
};
use crate::mainline::{
    self,
    Fate, //
};

/// How many cases differ, by what.
#[derive(Default)]
pub struct Counts {
    /// All cases, by side.
    pub cases: [u64; 3],
    /// Those that differ, by deviation (in the order of [`deviation::ALL`]) and side.
    pub deviations: [[u64; 3]; deviation::ALL.len()],
    /// Those that differ under no deviation, or do not although they should.
    pub unexplained: u64,
    /// One of them.
    pub example: Option<String>,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        let sums = self.deviations.iter_mut().flatten();
        for (sum, count) in sums.zip(other.deviations.iter().flatten()) {
            *sum += count;
        }
        for (sum, count) in self.cases.iter_mut().zip(other.cases) {
            *sum += count;
        }
        self.unexplained += other.unexplained;
        self.example = self.example.take().or(other.example);
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |f: &mut fmt::Formatter<'_>, what: &str, counts: &[u64; 3], title: &str| {
            let [receive, send, reply] = counts;
            write!(f, "{what:6}{receive:12}{send:12}{reply:12}")?;
            writeln!(f, "{}{title}", if title.is_empty() { "" } else { "  " })
        };
        writeln!(f, "{:6}{:>12}{:>12}{:>12}", "", "receive", "send", "reply")?;
        let mut order: Vec<_> = (0..deviation::ALL.len()).collect();
        order.sort_by_key(|&at| deviation::ALL[at].number);
        for at in order {
            let kind = &deviation::ALL[at];
            let name = format!("M{}", kind.number);
            row(f, &name, &self.deviations[at], kind.title)?;
        }
        row(f, "cases", &self.cases, "")?;
        write!(f, "unexplained differences: {}", self.unexplained)
    }
}

/// The ports at which `side` is compared in `block`; for an answer those that the request may have
/// come in by.
fn ports(side: Side, block: &Block) -> Vec<u8> {
    let mut ports = block.external_ports();
    if side == Side::Send && block.is_switch() {
        ports.push(0);
    }
    ports
}

/// Whether `side` has a counterpart in mainline for `case`. What an SMA hands over as an answer has
/// the D bit and the Hop Pointer past the end; the rest is refused by the library alone.
pub fn comparable(side: Side, case: &Case) -> bool {
    side != Side::Reply
        || (case.returning && u16::from(case.hop_ptr) == u16::from(case.hop_cnt) + 1)
}

/// Whether mainline does the same. A record is compared where an SMP lives on.
pub fn same(case: &Case, decision: &Decision, other: &mainline::Outcome) -> bool {
    let fate = match decision.verdict {
        Verdict::Local => other.fate == Fate::Local,
        Verdict::Forward { egress } => other.fate == Fate::Posted(egress.into()),
        // By the address handle, out of the port of the agent.
        Verdict::Route(None) => other.fate == Fate::Posted(case.port.into()),
        // Mainline has no such thing: it never looks into a forwarding table.
        Verdict::Route(Some(_)) => false,
        Verdict::Discard(_) => return other.fate == Fate::Dropped,
    };
    let record = match decision.record {
        Some(record) => other.recorded == Some(record.port),
        None => other.recorded == case.back.get(usize::from(case.hop_ptr)).copied(),
    };
    fate && record && decision.hop_ptr == other.hop_ptr
}

/// Goes through all of it; nothing without `smi.c`.
pub fn run() -> Option<Counts> {
    mainline::PRESENT.then(|| grid::sum(compare))
}

/// One block of the grid.
fn compare(block: &Block) -> Counts {
    let mut counts = Counts::default();
    for side in Side::ALL {
        for port in ports(side, block) {
            block.visit(port, |case, packet| {
                if !comparable(side, case) {
                    return;
                }
                counts.cases[side as usize] += 1;
                let decision = library(side, case, packet);
                let Some(other) = mainline::judge(side, case, packet) else {
                    return;
                };
                match (same(case, &decision, &other), deviation::of(side, case)) {
                    (true, None) => {}
                    (false, Some(kind)) => counts.deviations[kind][side as usize] += 1,
                    (_, kind) => {
                        counts.unexplained += 1;
                        counts.example.get_or_insert_with(|| {
                            let kind = kind.map(|kind| deviation::ALL[kind].number);
                            format!(
                                "{side:?} {case:?}\nrules {decision:?}\nmainline {other:?}\n\
                                 deviation {kind:?}"
                            )
                        });
                    }
                }
            });
        }
    }
    counts
}
