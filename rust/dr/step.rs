// SPDX-License-Identifier: GPL-2.0

//! An SMP that came in from the wire was not discarded: the two questions that ib_mad asks then, about
//! the SMP alone.
//!
//! C functions: `smi_check_forward_dr_smp()`, `smi_get_fwd_port()`.

use super::{
    Direction,
    DrLid,
    DrSmp, //
};

/// What ib_mad does next with an SMP that was not discarded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// Hand it to the SMA or to an agent.
    Local,
    /// Advance it as if it were sent, then hand it to the SMA.
    Send,
    /// Pass it on.
    Forward,
}

/// What comes next for an SMP that [`receive()`](super::receive()), or ib_core's own function, has let pass.
#[inline]
pub fn next_step(smp: &DrSmp<'_>) -> NextStep {
    let hop = smp.hop_ptr;
    match smp.direction {
        Direction::Outgoing if hop < smp.hop_cnt => NextStep::Forward,
        Direction::Outgoing if hop > smp.hop_cnt => NextStep::Local,
        Direction::Outgoing => match smp.dr_dlid {
            // Only ib_core's own function leaves such a one.
            DrLid::Permissive => NextStep::Send,
            DrLid::Lid(_) => NextStep::Forward,
        },
        Direction::Returning if hop == 0 => NextStep::Local,
        Direction::Returning => NextStep::Forward,
    }
}

/// The port by which the path leaves next, for an SMP that is to be passed on; 0 if it leaves by LID.
#[inline]
pub fn forward_port(smp: &DrSmp<'_>) -> u8 {
    let hop = smp.hop_ptr;
    match smp.direction {
        Direction::Outgoing if hop != smp.hop_cnt => smp.initial(hop.wrapping_add(1)),
        Direction::Returning if hop > 1 => smp.returned(hop.wrapping_sub(1)),
        _ => 0,
    }
}
