// SPDX-License-Identifier: GPL-2.0

//! Takes an SMP over one hop, again and again, for a profiler to count: `dr-hop rules|mainline out|back
//! [TIMES]`.
//!
//! A switch is asked four times about an SMP that it passes on: may it come in, what comes next, by which
//! port, may it go out. Mainline asks itself by the four functions of `smi.c`; what the module answers is in
//! the four functions `hop_` below, which read and write the SMP as those do. `scripts/bench/core` counts
//! the instructions of the four and no others.

use std::env;
use std::hint::black_box;
use std::process::ExitCode;

use dr_check::mainline;

use dr::{
    Decision,
    DrSmp,
    NextStep,
    Node,
    NodeKind,
    Verdict, //
};

/// An InfiniBand SMP.
type Smp = [u8; 256];

/// External ports of the switch.
const PORTS: u8 = 36;
/// Where it comes in.
const INGRESS: u8 = 1;
/// Where it goes out.
const EGRESS: u8 = 2;

const HOP_PTR: usize = 6;
const INITIAL_PATH: usize = 128;
const RETURN_PATH: usize = 192;

/// Writes a decision into the SMP.
#[inline(always)]
fn apply(smp: &mut Smp, decision: &Decision, advance: bool) {
    if let Some(record) = decision.record {
        smp[RETURN_PATH + usize::from(record.element)] = record.port;
    }
    if advance {
        smp[HOP_PTR] = decision.hop_ptr;
    }
}

/// The switch.
#[inline(always)]
fn node(is_switch: bool, ports: u8) -> Node {
    let kind = if is_switch {
        NodeKind::Switch
    } else {
        NodeKind::Ca
    };
    Node { kind, ports }
}

/// An SMP came in: may it? In the place of `smi_handle_dr_smp_recv()`.
#[no_mangle]
#[inline(never)]
extern "C" fn hop_receive(smp: &mut Smp, is_switch: bool, port: u8, ports: u8) -> bool {
    let decision = dr::receive(&DrSmp::from_ib(smp), node(is_switch, ports), port);
    if matches!(decision.verdict, Verdict::Discard(_)) {
        return false;
    }
    apply(smp, &decision, decision.verdict == Verdict::Local);
    true
}

/// What comes next? In the place of `smi_check_forward_dr_smp()`.
#[no_mangle]
#[inline(never)]
extern "C" fn hop_next_step(smp: &Smp) -> u32 {
    dr::next_step(&DrSmp::from_ib(smp)) as u32
}

/// By which port? In the place of `smi_get_fwd_port()`.
#[no_mangle]
#[inline(never)]
extern "C" fn hop_forward_port(smp: &Smp) -> u32 {
    dr::forward_port(&DrSmp::from_ib(smp)).into()
}

/// It goes out: may it? In the place of `smi_handle_dr_smp_send()`.
#[no_mangle]
#[inline(never)]
extern "C" fn hop_send(smp: &mut Smp, is_switch: bool, port: u8, ports: u8) -> bool {
    let decision = dr::receive(&DrSmp::from_ib(smp), node(is_switch, ports), port);
    if !matches!(decision.verdict, Verdict::Forward { .. }) {
        return false;
    }
    apply(smp, &decision, true);
    true
}

/// Takes an SMP over the hop by the rules, and returns the egress port if it gets there.
fn by_the_rules(smp: &mut Smp) -> Option<u32> {
    let came_in = hop_receive(smp, black_box(true), INGRESS, PORTS);
    if !came_in || hop_next_step(smp) != NextStep::Forward as u32 {
        return None;
    }
    let port = hop_forward_port(smp);
    hop_send(smp, black_box(true), INGRESS, PORTS).then_some(port)
}

/// Takes an SMP over the hop as mainline does.
fn as_mainline(smp: &mut Smp) -> Option<u32> {
    mainline::pass_on(smp, INGRESS, PORTS)
}

/// The second of three hops, on the way out or back.
fn packet(returning: bool) -> Smp {
    let mut smp = [0; 256];
    smp[..4].copy_from_slice(&[1, 0x81, 1, 1]);
    smp[HOP_PTR + 1] = 3;
    smp[32..36].fill(0xFF);
    let (path, next) = if returning {
        smp[4] = 0x80;
        smp[HOP_PTR] = 3;
        (RETURN_PATH, 2)
    } else {
        smp[HOP_PTR] = 1;
        (INITIAL_PATH, 2)
    };
    smp[path + next] = EGRESS;
    smp
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let (who, way, times) = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [who, way] => (who, way, 1),
        [who, way, times] => (who, way, times.parse().unwrap_or(0)),
        _ => ("", "", 0),
    };
    let take = match who {
        "rules" => by_the_rules,
        "mainline" => as_mainline,
        _ => {
            eprintln!("usage: dr-hop rules|mainline out|back [TIMES]");
            return ExitCode::from(2);
        }
    };
    for _ in 0..times {
        let mut smp = black_box(packet(way == "back"));
        let left = (take(&mut smp), smp[HOP_PTR], smp[RETURN_PATH + 1]);
        let right = if way == "back" {
            (Some(EGRESS.into()), 2, 0)
        } else {
            (Some(EGRESS.into()), 2, INGRESS)
        };
        if left != right {
            eprintln!("dr-hop: {left:?} and not {right:?}: the SMP did not get over the hop");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
