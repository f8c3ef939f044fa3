// SPDX-License-Identifier: GPL-2.0

//! Lets a test make sends fail.
//!
//! The text is `DEVICE PORT smi|gsi POSTS SENDS`: so many of the next posts are refused, and so many
//! of the next sends complete with an error, which puts the queue pair into its error state for
//! sends. The port is that of the MAD layer: 0 on a switch.

use crate::{
    fabric::Fabric,
    provider::QpKind,
    qp::Faults, //
};
use kernel::{
    prelude::*,
    str::{
        parse_int::ParseInt,
        BStr, //
    },
    uaccess::UserSliceReader, //
};

/// No line can be longer.
const MAX_LINE: usize = 80;

/// Handles a write.
pub(crate) fn write(fabric: &Fabric, reader: &mut UserSliceReader) -> Result {
    let mut buffer = [0; MAX_LINE];
    let line = buffer.get_mut(..reader.len()).ok_or(EMSGSIZE)?;
    reader.read_slice(line)?;
    let mut words = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let mut word = || words.next().ok_or(EINVAL);
    let node = fabric.find(word()?).ok_or(ENODEV)?;
    let port = node
        .port(u8::from_str(BStr::from_bytes(word()?))?)
        .ok_or(EINVAL)?;
    let kind = match word()? {
        b"smi" => QpKind::Smi,
        b"gsi" => QpKind::Gsi,
        _ => return Err(EINVAL),
    };
    let faults = Faults {
        posts: u32::from_str(BStr::from_bytes(word()?))?,
        sends: u32::from_str(BStr::from_bytes(word()?))?,
    };
    port.set_faults(kind, faults)
}
