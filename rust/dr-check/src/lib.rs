// SPDX-License-Identifier: GPL-2.0

//! Proof of the rules on the host.
//!
//! An [`oracle`] written apart from the library, the [`enumeration`] of the whole space of cases
//! against it, the [`vectors`] with their known answers, and the [`differential`] against the
//! kernel's own `smi.c`, every difference of which has to be one of the known [`deviation`]s.

pub mod case;
pub mod deviation;
pub mod differential;
pub mod documentation;
pub mod enumeration;
pub mod grid;
pub mod mainline;
pub mod oracle;
pub mod vectors;
