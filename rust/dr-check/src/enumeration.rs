// SPDX-License-Identifier: GPL-2.0

//! The enumeration: every case of the grid, judged by the library and by the oracle.

use std::fmt;
use std::ops::AddAssign;

use dr::{
    Decision,
    Verdict, //
};

use crate::case::{
    Case,
    Packet,
    Side, //
};
use crate::grid::{
    self,
    Block, //
};
use crate::oracle::{
    self,
    Fate,
    Outcome, //
};

/// How many cases there were, and whether any was judged otherwise.
#[derive(Default)]
pub struct Counts {
    /// By side, then by verdict: local, forward, route, discard.
    pub verdicts: [[u64; 4]; 3],
    /// Cases in which library and oracle differ.
    pub mismatches: u64,
    /// One of them.
    pub example: Option<String>,
}

impl Counts {
    /// All cases.
    pub fn total(&self) -> u64 {
        self.verdicts.iter().flatten().sum()
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        let sums = self.verdicts.iter_mut().flatten();
        for (sum, count) in sums.zip(other.verdicts.iter().flatten()) {
            *sum += count;
        }
        self.mismatches += other.mismatches;
        self.example = self.example.take().or(other.example);
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = ["local", "forward", "route", "discard", "cases"];
        write!(f, "{:10}", "")?;
        for title in header {
            write!(f, "{title:>14}")?;
        }
        for (side, counts) in Side::ALL.iter().zip(&self.verdicts) {
            write!(f, "\n{:10}", format!("{side:?}").to_lowercase())?;
            for count in counts {
                write!(f, "{count:14}")?;
            }
            write!(f, "{:14}", counts.iter().sum::<u64>())?;
        }
        write!(f, "\n{:10}{:70}", "all", self.total())?;
        write!(f, "\nmismatches with the oracle: {}", self.mismatches)
    }
}

/// The library's decision about `packet`.
pub fn library(side: Side, case: &Case, packet: &Packet) -> Decision {
    let smp = packet.smp();
    match side {
        Side::Receive => dr::receive(&smp, case.node(), case.port),
        Side::Send => dr::send(&smp, case.node(), case.port),
        Side::Reply => dr::reply(&smp, case.node(), case.port),
    }
}

/// A decision of the library in the terms of the oracle.
pub fn outcome(decision: Decision) -> Outcome {
    Outcome {
        fate: match decision.verdict {
            Verdict::Local => Fate::Keep,
            Verdict::Forward { egress } => Fate::Leave(egress),
            Verdict::Route(lid) => Fate::ByLid(lid),
            Verdict::Discard(reason) => Fate::Drop(reason.number()),
        },
        hop_ptr: decision.hop_ptr,
        record: decision.record.map(|record| (record.element, record.port)),
        rule: decision.rule.number(),
    }
}

/// The ports at which `side` has a case in `block`.
fn ports(side: Side, block: &Block) -> Vec<u8> {
    let mut ports = block.external_ports();
    match side {
        Side::Receive | Side::Reply => {}
        // The agent of a switch sits on port 0; nothing of a channel adapter does.
        Side::Send => ports.push(0),
    }
    ports
}

/// Goes through all of it.
pub fn run() -> Counts {
    grid::sum(|block| {
        let mut counts = Counts::default();
        for side in Side::ALL {
            for port in ports(side, block) {
                block.visit(port, |case, packet| {
                    let expected = oracle::judge(side, case);
                    let found = outcome(library(side, case, packet));
                    let verdict = match expected.fate {
                        Fate::Keep => 0,
                        Fate::Leave(_) => 1,
                        Fate::ByLid(_) => 2,
                        Fate::Drop(_) => 3,
                    };
                    counts.verdicts[side as usize][verdict] += 1;
                    if found != expected {
                        counts.mismatches += 1;
                        counts.example.get_or_insert_with(|| {
                            format!("{side:?} {case:?}\nexpected {expected:?}\nfound {found:?}")
                        });
                    }
                });
            }
        }
        counts
    })
}
