// SPDX-License-Identifier: GPL-2.0

//! `smi-fuzz`: throws hostile subnet management packets at the virtual fabric that runs here.

use std::io::{
    self,
    Write, //
};
use std::process::ExitCode;

#[path = "smi-fuzz/idle.rs"]
mod idle;
#[path = "smi-fuzz/umad.rs"]
mod umad;
#[path = "smi-fuzz/wire.rs"]
mod wire;

const HELP: &str = "\
smi-fuzz: throws hostile subnet management packets at the virtual fabric that runs here.

usage: smi-fuzz wire|umad [OPTION]...

    wire            before the ports of all nodes, as if they had come in from the links
    umad            by the agents of clients of all umad devices

    --seed N        packets follow from it; 1
    --first N       the number of the first packet; 0
    --count N       how many; 1000
    --opa           the nodes speak Omni-Path's datagrams too
    --gentle        wire: nothing that changes a node, nor a packet for anything but QP0
    --print         print the packets instead: what `inject` would get, or the writes in hexadecimal

The same seed, number and fabric make the same packet. Prints a line NAME COUNT for what was done, and

    expect DEVICE PORT decision recv RULE VERDICT COUNT
    expect DEVICE PORT discard REASON COUNT

for what the rules make of the packets of `wire` on arrival, by the oracle of dr-check: what the file
`counters` of ib_smi has to say if the nodes have no links and the packets are gentle.
";

/// The command line.
pub struct Options {
    seed: u64,
    first: u64,
    count: u64,
    opa: bool,
    gentle: bool,
    print: bool,
}

impl Options {
    /// The numbers of the packets.
    fn numbers(&self) -> std::ops::Range<u64> {
        self.first..self.first.saturating_add(self.count)
    }
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let side = words.next().unwrap_or_default();
    let done = match (side.as_str(), options(words)) {
        (_, Err(error)) => Err(error),
        ("wire", Ok(options)) => wire::run(&options).map_err(|error| error.to_string()),
        ("umad", Ok(options)) => umad::run(&options).map_err(|error| error.to_string()),
        _ => Err(HELP.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to be told if that fails.
            let _ = writeln!(io::stderr(), "smi-fuzz: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Reads the options.
fn options(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        seed: 1,
        first: 0,
        count: 1000,
        opa: false,
        gentle: false,
        print: false,
    };
    while let Some(word) = words.next() {
        let mut number = || -> Result<u64, String> {
            let value = words.next().ok_or(format!("{word} needs a number"))?;
            value
                .parse()
                .map_err(|_| format!("{word} {value}: not a number"))
        };
        match word.as_str() {
            "--seed" => options.seed = number()?,
            "--first" => options.first = number()?,
            "--count" => options.count = number()?,
            "--opa" => options.opa = true,
            "--gentle" => options.gentle = true,
            "--print" => options.print = true,
            _ => return Err(format!("unknown option {word}\n\n{HELP}")),
        }
    }
    Ok(options)
}
