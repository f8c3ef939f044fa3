// SPDX-License-Identifier: GPL-2.0

//! Library and oracle agree on every case.

use dr_check::{
    documentation,
    enumeration, //
};

#[test]
fn library_and_oracle_agree() {
    let counts = enumeration::run();
    println!("{counts}");
    if let Some(example) = &counts.example {
        panic!("{} mismatches, such as\n{example}", counts.mismatches);
    }
    assert!(counts.total() >= 100_000_000);
    assert!(documentation::shows(&counts.to_string()));
    // Every verdict occurs on every side; only an answer never stays.
    for (side, verdicts) in counts.verdicts.iter().enumerate() {
        for (verdict, count) in verdicts.iter().enumerate() {
            assert_eq!(*count == 0, (side, verdict) == (2, 0));
        }
    }
}
