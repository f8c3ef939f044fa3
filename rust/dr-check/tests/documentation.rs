// SPDX-License-Identifier: GPL-2.0

//! The tables of `Documentation/rules.rst` are those of the library, and of the oracle.

use dr::{
    Reason,
    Rule, //
};
use dr_check::{
    deviation,
    documentation,
    oracle, //
};

/// Number and name of each row.
type Table = Vec<(u8, String)>;

fn rows(rows: &[(u8, &str)]) -> Table {
    let row = |&(number, name): &(u8, &str)| (number, name.to_owned());
    rows.iter().map(row).collect()
}

#[test]
fn rules() {
    let library: Table = Rule::ALL
        .iter()
        .map(|rule| (rule.number(), rule.name().to_owned()))
        .collect();
    assert_eq!(library, documentation::table("Rule"));
    assert_eq!(library, rows(&oracle::RULES));
}

#[test]
fn reasons() {
    let library: Table = Reason::ALL
        .iter()
        .map(|reason| (reason.number(), reason.name().to_owned()))
        .collect();
    assert_eq!(library, documentation::table("Reason"));
    assert_eq!(library, rows(&oracle::REASONS));
}

#[test]
fn deviations() {
    let documented = documentation::deviations();
    let expected: Vec<u8> = (1..=22).collect();
    assert_eq!(documented, expected);
    let mut compared: Vec<_> = deviation::ALL.iter().map(|kind| kind.number).collect();
    compared.extend([1, 2, 12, 13, 14, 20, 21, 22]);
    compared.sort();
    assert_eq!(compared, expected);
}
