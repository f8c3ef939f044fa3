// SPDX-License-Identifier: GPL-2.0

//! A made-up directed-route SMP.
//!
//! Its layout is written down here once more, byte by byte, so that a test does not share a mistake
//! with what it tests.

use crate::dr::DrSmp;

/// The permissive LID.
const PERMISSIVE: u16 = 0xffff;

/// Where no path is given: a port that no node here has.
const NO_PORT: u8 = 200;

/// The parts of an SMP that decide its way, and the transaction ID. The paths count from element 1 on,
/// and go on with the last port that is given.
#[derive(Clone, Copy)]
pub(crate) struct Packet {
    /// Whether it has the format of Omni-Path.
    pub(crate) opa: bool,
    returning: bool,
    method: u8,
    pub(crate) hop_ptr: u8,
    pub(crate) hop_cnt: u8,
    initial: &'static [u8],
    back: &'static [u8],
    slid: u16,
    dlid: u16,
    tid: u64,
}

/// A request, on its way out.
pub(crate) const fn request(hop_ptr: u8, hop_cnt: u8) -> Packet {
    Packet {
        opa: false,
        returning: false,
        method: 0x01,
        hop_ptr,
        hop_cnt,
        initial: &[],
        back: &[],
        slid: PERMISSIVE,
        dlid: PERMISSIVE,
        tid: 0x1122_3344_5566_7788,
    }
}

/// A response, on its way back.
pub(crate) const fn response(hop_ptr: u8, hop_cnt: u8) -> Packet {
    Packet {
        returning: true,
        method: 0x81,
        ..request(hop_ptr, hop_cnt)
    }
}

impl Packet {
    /// With this Initial Path.
    pub(crate) const fn initial(self, ports: &'static [u8]) -> Self {
        Self {
            initial: ports,
            ..self
        }
    }

    /// With this Return Path.
    pub(crate) const fn back(self, ports: &'static [u8]) -> Self {
        Self {
            back: ports,
            ..self
        }
    }

    /// With this DrSLID.
    pub(crate) const fn slid(self, lid: u16) -> Self {
        Self { slid: lid, ..self }
    }

    /// With this DrDLID.
    pub(crate) const fn dlid(self, lid: u16) -> Self {
        Self { dlid: lid, ..self }
    }

    /// With this method; else it is Get on the way out, GetResp on the way back.
    pub(crate) const fn method(self, method: u8) -> Self {
        Self { method, ..self }
    }

    /// With this transaction ID.
    pub(crate) const fn tid(self, tid: u64) -> Self {
        Self { tid, ..self }
    }

    /// The same SMP in both formats.
    pub(crate) const fn in_both(self) -> [Self; 2] {
        [self, Self { opa: true, ..self }]
    }

    /// The route of the SMP.
    pub(crate) fn route<'a>(&self, bytes: &'a [u8; 256]) -> DrSmp<'a> {
        if self.opa {
            DrSmp::from_opa(bytes)
        } else {
            DrSmp::from_ib(bytes)
        }
    }

    /// The SMP, or the head of one of Omni-Path. What else there is is noise, the status below the D bit
    /// too.
    pub(crate) fn bytes(&self) -> [u8; 256] {
        let mut bytes = core::array::from_fn(noise);
        // BaseVersion, MgmtClass, ClassVersion, Method; D bit and status; Hop Pointer, Hop Count.
        bytes[..4].copy_from_slice(&[1, 0x81, 1, self.method]);
        bytes[4] = if self.returning { 0xff } else { 0x7f };
        bytes[6] = self.hop_ptr;
        bytes[7] = self.hop_cnt;
        bytes[8..16].copy_from_slice(&self.tid.to_be_bytes());
        if self.opa {
            (bytes[0], bytes[2]) = (0x80, 0x80);
            bytes[32..36].copy_from_slice(&wide(self.slid).to_be_bytes());
            bytes[36..40].copy_from_slice(&wide(self.dlid).to_be_bytes());
            fill(&mut bytes[41..104], self.initial);
            fill(&mut bytes[105..168], self.back);
        } else {
            bytes[32..34].copy_from_slice(&self.slid.to_be_bytes());
            bytes[34..36].copy_from_slice(&self.dlid.to_be_bytes());
            fill(&mut bytes[129..192], self.initial);
            fill(&mut bytes[193..256], self.back);
        }
        bytes
    }
}

/// A LID of Omni-Path, which has 32 bits.
fn wide(lid: u16) -> u32 {
    if lid == PERMISSIVE {
        u32::MAX
    } else {
        lid.into()
    }
}

/// A byte that depends on its place.
fn noise(at: usize) -> u8 {
    u8::try_from(at * 37 % 251).unwrap_or(0) ^ 0xa5
}

/// Fills a path, from element 1 on.
fn fill(path: &mut [u8], ports: &[u8]) {
    let rest = ports.last().copied().unwrap_or(NO_PORT);
    let ports = ports.iter().copied().chain(core::iter::repeat(rest));
    for (element, port) in path.iter_mut().zip(ports) {
        *element = port;
    }
}
