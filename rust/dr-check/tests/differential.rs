// SPDX-License-Identifier: GPL-2.0

//! Library and mainline differ by the known deviations alone.

use dr_check::{
    deviation,
    differential,
    documentation,
    mainline, //
};

#[test]
fn every_difference_is_a_known_one() {
    let Some(counts) = differential::run() else {
        println!("skipped: {}", mainline::ABSENT);
        return;
    };
    println!("{counts}");
    if let Some(example) = &counts.example {
        panic!("{} unexplained, such as\n{example}", counts.unexplained);
    }
    for (kind, counts) in deviation::ALL.iter().zip(&counts.deviations) {
        assert!(
            counts.iter().sum::<u64>() > 0,
            "M{} does not occur",
            kind.number
        );
    }
    assert!(documentation::shows(&counts.to_string()));
}
