// SPDX-License-Identifier: GPL-2.0

//! Hostile subnet management packets, made from a seed and a number.
//!
//! [`smp`] makes the bytes, [`wire`] puts them before a port of the virtual fabric, [`umad`] into a
//! write to `/dev/infiniband/umadN`; [`expect`] says by the oracle of `dr-check` how a node judges what
//! comes in. The same seed and number always make the same packet, whatever was made before.

#![forbid(unsafe_code)]

pub mod chance;
pub mod expect;
pub mod smp;
pub mod umad;
pub mod wire;
