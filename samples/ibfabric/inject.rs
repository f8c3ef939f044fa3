// SPDX-License-Identifier: GPL-2.0

//! Lets a test put any datagram before a port, as if it had come over the link.
//!
//! The text is `DEVICE PORT HEX` with 512 hexadecimal digits, or any even number up to 4096 for a node
//! of Omni-Path, and then any of `slid=`, `dlid=`, `qp=`,
//! `pkey=` and `qkey=` with a number. Unless told, LIDs are permissive, the queue pair is QP0 and the
//! P_Key is the default one. `qp` is the destination's, and the source is QP1 unless that is QP0. One
//! line at a write.

use crate::{
    datagram::Datagram,
    fabric::Fabric,
    packet::{
        Packet,
        LID_PERMISSIVE, //
    },
    port::PortRef,
    provider::{
        QpKind,
        MAD_SIZE, //
    },
    wire,
    words, //
};
use kernel::{
    prelude::*,
    uaccess::UserSliceReader, //
};

/// No line can be longer.
const MAX_LINE: usize = 4096 + 128;

/// Handles a write.
pub(crate) fn write(fabric: &Fabric, reader: &mut UserSliceReader) -> Result {
    if reader.len() > MAX_LINE {
        return Err(EMSGSIZE);
    }
    let mut line = KVec::from_elem(0u8, reader.len(), GFP_KERNEL)?;
    reader.read_slice(&mut line)?;
    let mut rest = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let node = fabric.find(rest.next().ok_or(EINVAL)?).ok_or(ENODEV)?;
    let port = number(rest.next().ok_or(EINVAL)?)?;
    let port = node.external_port(port).ok_or(EINVAL)?;
    let mut packet = Packet {
        slid: LID_PERMISSIVE,
        dlid: LID_PERMISSIVE,
        sl: 0,
        source: QpKind::Smi,
        dest_qp: QpKind::Smi.number(),
        qkey: 0,
        pkey: 0xffff,
        solicited: false,
        grh: None,
        data: datagram(rest.next().ok_or(EINVAL)?, node.opa)?,
        strikes: 0,
    };
    for word in rest {
        let (key, value) = words::pair(word, b'=').ok_or(EINVAL)?;
        match key {
            b"slid" => packet.slid = number(value)?,
            b"dlid" => packet.dlid = number(value)?,
            b"pkey" => packet.pkey = number(value)?,
            b"qkey" => packet.qkey = number(value)?,
            b"qp" => packet.dest_qp = number(value)?,
            _ => return Err(EINVAL),
        }
    }
    if !packet.is_smp() {
        packet.source = QpKind::Gsi;
    }
    let at = PortRef {
        node: node.clone(),
        number: port.number,
    };
    wire::inject(&at, &packet);
    Ok(())
}

/// Reads a number that fits.
fn number<T: TryFrom<u64>>(text: &[u8]) -> Result<T> {
    words::number(text).ok_or(EINVAL)
}

/// Reads a datagram; one of Omni-Path may have another length than InfiniBand's.
fn datagram(text: &[u8], opa: bool) -> Result<Datagram> {
    let digit = |digit: u8| -> Result<u8> {
        let value = char::from(digit).to_digit(16).ok_or(EINVAL)?;
        Ok(u8::try_from(value)?)
    };
    let len = text.len() / 2;
    if text.len() % 2 != 0 || len != MAD_SIZE && !opa {
        return Err(EINVAL);
    }
    let mut head = [0; MAD_SIZE];
    let mut rest = Datagram::room(len)?;
    let room = rest.as_mut().map_or(&mut [][..], |rest| rest);
    let places = [&mut head[..], room].into_iter().flatten();
    for (to, pair) in places.zip(text.chunks_exact(2)) {
        let &[high, low] = pair else {
            return Err(EINVAL);
        };
        *to = digit(high)? << 4 | digit(low)?;
    }
    Ok(Datagram::long(head, rest, len))
}
