// SPDX-License-Identifier: GPL-2.0

//! Every vector, against the library, the oracle and mainline.

use dr::Verdict;
use dr_check::case::{
    Layout,
    Packet,
    Side, //
};
use dr_check::enumeration::{
    library,
    outcome, //
};
use dr_check::vectors::{
    self,
    Answer, //
};
use dr_check::{
    mainline,
    oracle, //
};

#[test]
fn by_the_rules() {
    for layout in [Layout::Ib, Layout::Opa] {
        for vector in vectors::ALL {
            let case = vector.case(layout);
            let decision = library(Side::Receive, &case, &Packet::new(&case));
            let answer = match decision.verdict {
                Verdict::Local => Answer::Local(decision.hop_ptr),
                Verdict::Forward { egress } => Answer::Forward(egress, decision.hop_ptr),
                Verdict::Route(lid) => Answer::Route(lid.unwrap(), decision.hop_ptr),
                Verdict::Discard(_) => Answer::Drop,
            };
            assert_eq!(answer, vector.rules, "{} {}", vector.name, vector.what);
            let expected = oracle::judge(Side::Receive, &case);
            assert_eq!(
                outcome(decision),
                expected,
                "{} {}",
                vector.name,
                vector.what
            );
        }
    }
    println!("{} vectors", vectors::ALL.len());
}

#[test]
fn by_mainline() {
    if !mainline::PRESENT {
        println!("skipped: {}", mainline::ABSENT);
        return;
    }
    for layout in [Layout::Ib, Layout::Opa] {
        for vector in vectors::ALL {
            let case = vector.case(layout);
            let outcome = mainline::judge(Side::Receive, &case, &mut Packet::new(&case)).unwrap();
            let answer = match outcome.fate {
                mainline::Fate::Dropped => Answer::Drop,
                mainline::Fate::Local => Answer::Local(outcome.hop_ptr),
                mainline::Fate::Posted(port) => {
                    Answer::Forward(port.try_into().unwrap(), outcome.hop_ptr)
                }
            };
            assert_eq!(answer, vector.mainline, "{} {}", vector.name, vector.what);
        }
    }
}
