// SPDX-License-Identifier: GPL-2.0

//! Prints the counts of the enumeration and of the comparison with mainline.

use std::process::ExitCode;

use dr_check::{
    differential,
    enumeration,
    mainline, //
};

fn main() -> ExitCode {
    let counts = enumeration::run();
    println!("library and oracle, cases by verdict\n\n{counts}");
    let mut bad = report(counts.example);

    match differential::run() {
        Some(counts) => {
            println!("\nlibrary and mainline, differences by deviation\n\n{counts}");
            bad |= report(counts.example);
        }
        None => println!("\nlibrary and mainline: skipped, {}", mainline::ABSENT),
    }

    if bad {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// Prints the example of a failure, if there is one.
fn report(example: Option<String>) -> bool {
    if let Some(example) = &example {
        println!("such as\n{example}");
    }
    example.is_some()
}
