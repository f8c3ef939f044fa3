// SPDX-License-Identifier: GPL-2.0

//! Module parameters, checked.

use crate::{
    bindings,
    compat::value,
    module_parameters, //
};
use core::ops::RangeInclusive;
use kernel::{
    prelude::*,
    str::CStr, //
};

/// Which of the built-in fabrics.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topology {
    /// Nothing, until configfs is told.
    None,
    /// Two HCAs and a switch.
    Pair,
    /// Two HCAs.
    Direct,
    /// Switches in line, an HCA at both ends.
    Chain,
    /// Two levels of switches.
    FatTree,
}

/// The parameters.
pub(crate) struct Params {
    /// What to build.
    pub(crate) topology: Topology,
    /// Length of a chain.
    pub(crate) switches: u8,
    /// Leaves of a fat tree.
    pub(crate) leaves: u8,
    /// Spines of a fat tree.
    pub(crate) spines: u8,
    /// HCAs at every leaf of a fat tree.
    pub(crate) hosts: u8,
    /// Whether to begin as if a subnet manager had been there.
    pub(crate) preset: bool,
    /// Whether the nodes have the management datagrams of Omni-Path too.
    pub(crate) opa: bool,
    /// Packets to remember.
    pub(crate) capture: u16,
}

/// Refuses a number that is out of range, and says so.
fn within(name: &str, value: u8, range: RangeInclusive<u8>) -> Result<u8> {
    if range.contains(&value) {
        return Ok(value);
    }
    pr_err!(
        "{}={} is out of range: it can be {} to {}\n",
        name,
        value,
        range.start(),
        range.end(),
    );
    Err(EINVAL)
}

/// The parameter that is a string.
fn topology() -> &'static CStr {
    // SAFETY: There since the module was loaded.
    let name = unsafe { bindings::ibfabric_topology() };
    // SAFETY: A string of C, which is read-only and stays as long as the module.
    unsafe { CStr::from_char_ptr(name) }
}

impl Params {
    /// Reads and checks them all.
    pub(crate) fn read() -> Result<Self> {
        let topology = match topology().to_bytes() {
            b"none" => Topology::None,
            b"pair" => Topology::Pair,
            b"direct" => Topology::Direct,
            b"chain" => Topology::Chain,
            b"fattree" => Topology::FatTree,
            _ => {
                pr_err!(
                    "topology={} is unknown: it can be none, pair, direct, chain or fattree\n",
                    topology(),
                );
                return Err(EINVAL);
            }
        };
        Ok(Self {
            topology,
            switches: within("switches", value(&module_parameters::switches), 1..=62)?,
            leaves: within("leaves", value(&module_parameters::leaves), 1..=64)?,
            spines: within("spines", value(&module_parameters::spines), 1..=64)?,
            hosts: within("hosts", value(&module_parameters::hosts), 1..=64)?,
            // SAFETY: There since the module was loaded.
            preset: unsafe { bindings::ibfabric_preset() },
            // SAFETY: As above.
            opa: unsafe { bindings::ibfabric_opa() },
            capture: value(&module_parameters::capture),
        })
    }
}
