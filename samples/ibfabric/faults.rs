// SPDX-License-Identifier: GPL-2.0

//! Faults that a test stages: on a link, in a node's software, at a queue pair.
//!
//! `config/faults.rs` is where they are set. A fault consists of what goes wrong (a [`Setting`]), when
//! (a [`Trigger`]) and to which datagrams (a [`Filter`]); a [`Knob`] has the first two and how often it
//! was done. Where packets pass it costs a bit of a word that is read there anyway
//! ([`Glance::faulty`](crate::port::Glance)), and a word of the node's: nothing else is looked at while
//! nobody has staged anything.

mod counters;
mod delivery;
mod filter;
mod knob;
mod link;
mod sends;
mod software;
mod trigger;

pub(crate) use self::{
    counters::FaultCounters,
    filter::Filter,
    knob::{
        Knob,
        Setting, //
    },
    link::{
        Fate,
        LinkFaults, //
    },
    sends::{
        Countdown,
        SendFaults,
        Stall, //
    },
    software::{
        NodeFaults,
        Software, //
    },
};
use crate::words::{
    self,
    Words, //
};
