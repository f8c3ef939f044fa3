// SPDX-License-Identifier: GPL-2.0

//! Packets before the ports of the fabric's nodes.

use crate::{
    idle::Queues,
    Options, //
};
use smi_fuzz::{
    expect,
    wire::{
        Arrival,
        Site, //
    }, //
};
use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::io::{
    self,
    BufWriter,
    Write, //
};

const FABRIC: &str = "/sys/kernel/debug/ibfabric";

/// How many packets are thrown before all nodes have to be idle. A node has receive buffers for eight times as
/// many, since one looks idle too that a busy host has stopped before it could look.
const BATCH: u64 = 64;

/// A counter of ib_smi: site, port, and the words behind them.
type Counter = (usize, u8, [&'static str; 3]);

/// What was done, and what the rules make of it.
#[derive(Default)]
struct Counts {
    injected: u64,
    judged: u64,
    expected: BTreeMap<Counter, u64>,
}

/// The nodes of the fabric.
pub fn sites(opa: bool) -> io::Result<Vec<Site>> {
    let text = fs::read_to_string(format!("{FABRIC}/nodes"))?;
    let sites: Vec<_> = text
        .lines()
        .filter_map(|line| Site::parse(line, opa))
        .collect();
    if sites.is_empty() {
        return Err(io::Error::other("the fabric has no nodes"));
    }
    Ok(sites)
}

/// Throws, or prints, all of them.
pub fn run(options: &Options) -> io::Result<()> {
    let sites = sites(options.opa)?;
    let mut output = BufWriter::new(io::stdout().lock());
    let mut counts = Counts::default();
    let mut line = Vec::with_capacity(4200);
    if options.print {
        for index in options.numbers() {
            let arrival = Arrival::make(options.seed, index, &sites, options.gentle);
            arrival.line(&sites, &mut line);
            output.write_all(&line)?;
        }
        return output.flush();
    }
    let mut inject = File::options()
        .write(true)
        .open(format!("{FABRIC}/inject"))?;
    let mut queues = Queues::open()?;
    for index in options.numbers() {
        let arrival = Arrival::make(options.seed, index, &sites, options.gentle);
        arrival.line(&sites, &mut line);
        inject.write_all(&line)?;
        counts.note(&sites, &arrival);
        if index % BATCH == BATCH - 1 {
            queues.settle()?;
        }
    }
    queues.settle()?;
    counts.print(&sites, &mut output)?;
    output.flush()
}

impl Counts {
    /// Counts a packet.
    fn note(&mut self, sites: &[Site], arrival: &Arrival) {
        self.injected += 1;
        let site = &sites[arrival.site];
        if (arrival.qp, arrival.dlid) != (0, 0xFFFF) {
            return;
        }
        let Some(judged) = expect::judge(site, arrival.port, &arrival.mad) else {
            return;
        };
        self.judged += 1;
        let port = if site.switch { 0 } else { arrival.port };
        let mut expect = |words| {
            *self
                .expected
                .entry((arrival.site, port, words))
                .or_default() += 1;
        };
        expect(["decision recv", judged.rule, judged.verdict]);
        if let Some(reason) = judged.reason {
            expect(["discard", reason, ""]);
        }
        if judged.unheard {
            expect(["discard", "no-listener", ""]);
        }
    }

    /// Prints all that was counted.
    fn print(&self, sites: &[Site], output: &mut impl Write) -> io::Result<()> {
        writeln!(output, "injected {}\njudged {}", self.injected, self.judged)?;
        for ((site, port, words), count) in &self.expected {
            let words = words.join(" ");
            writeln!(
                output,
                "expect {} {port} {} {count}",
                sites[*site].name,
                words.trim_end()
            )?;
        }
        Ok(())
    }
}
