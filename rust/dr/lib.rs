// SPDX-License-Identifier: GPL-2.0

//! The rules of directed-route subnet management packets (SMPs): what a node does with one.
//!
//! Three pure and total functions, on `core` alone: [`receive()`] judges an SMP that came in from
//! the wire, [`send()`] one that the node itself sends, [`reply()`] an answer of the node's own SMA.
//! Each looks at the packet and at the node, and gives a [`Decision`]; nothing is written,
//! allocated or looked up. Two more, [`next_step()`] and [`forward_port()`], tell from an SMP that was
//! judged already where it goes. The same files are built into the kernel module and into the host
//! programs.
//!
//! Source: InfiniBand Architecture Specification, volume 1, section 14.2.2, compliance statements
//! C14-6, C14-9, C14-10.1.1 and C14-13; `Documentation/rules.rst` states them as implemented.

#![cfg_attr(not(any(test, CONFIG_RUST)), no_std)]
#![forbid(unsafe_code)]
// In the kernel it is a private module, of which a crate takes what it needs.
#![cfg_attr(CONFIG_RUST, allow(dead_code, unreachable_pub, unused_imports))]

mod decision;
mod node;
mod reason;
mod receive;
mod reply;
mod rule;
mod send;
mod smp;
mod step;

pub use self::decision::{
    Decision,
    Record,
    Verdict, //
};
pub use self::node::{
    Node,
    NodeKind, //
};
pub use self::reason::Reason;
pub use self::receive::receive;
pub use self::reply::reply;
pub use self::rule::Rule;
pub use self::send::send;
pub use self::smp::{
    Direction,
    DrLid,
    DrSmp,
    MAX_HOPS,
    PATH_LEN, //
};
pub use self::step::{
    forward_port,
    next_step,
    NextStep, //
};
