// SPDX-License-Identifier: GPL-2.0

//! The directed-route SMP: the fields that decide its way, read from the packet.
//!
//! Everything else in the packet (method, attribute, modifier, M_Key, data) is for the node that
//! executes it and is never looked at in transit.
//!
//! Source: InfiniBand Architecture Specification, volume 1, section 14.2.1.2.
//!
//! C headers: [`include/rdma/ib_smi.h`](srctree/include/rdma/ib_smi.h),
//! [`include/rdma/opa_smi.h`](srctree/include/rdma/opa_smi.h).

/// Elements in each of the two paths; element 0 is reserved.
pub const PATH_LEN: usize = 64;

/// The largest Hop Count (C14-6).
pub const MAX_HOPS: u8 = 63;

/// The D bit: bit 15 of the status word (bytes 4 and 5, network byte order).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// D is 0: on the way out, along the Initial Path.
    Outgoing,
    /// D is 1: on the way back, along the Return Path.
    Returning,
}

/// One of the two LIDs of the directed route, DrSLID or DrDLID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrLid {
    /// The permissive LID: the LID-routed part at this end is empty.
    Permissive,
    /// The LID, in host byte order, that the LID-routed part at this end goes to or comes from.
    Lid(u32),
}

impl DrLid {
    /// Whether there is a LID-routed part at this end.
    #[inline]
    pub const fn is_set(self) -> bool {
        matches!(self, Self::Lid(_))
    }
}

/// The routing part of a directed-route SMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrSmp<'a> {
    /// The D bit.
    pub direction: Direction,
    /// Hop Pointer (byte 6): the path element that the SMP has reached.
    pub hop_ptr: u8,
    /// Hop Count (byte 7): the number of hops of the directed-route part, 0 to 63.
    pub hop_cnt: u8,
    /// DrSLID: the source end of the route.
    pub dr_slid: DrLid,
    /// DrDLID: the destination end of the route.
    pub dr_dlid: DrLid,
    /// Initial Path: the egress port at each hop on the way out, from element 1.
    pub initial_path: &'a [u8; PATH_LEN],
    /// Return Path: the ingress port recorded at each hop, from element 1.
    pub return_path: &'a [u8; PATH_LEN],
}

impl<'a> DrSmp<'a> {
    /// Reads an InfiniBand SMP (`struct ib_smp`): 256 bytes, network byte order, 16-bit LIDs,
    /// permissive 0xFFFF.
    #[inline]
    pub fn from_ib(bytes: &'a [u8; 256]) -> Self {
        Self {
            direction: direction(field::<4, 1, 256>(bytes)),
            hop_ptr: byte(field::<6, 1, 256>(bytes)),
            hop_cnt: byte(field::<7, 1, 256>(bytes)),
            dr_slid: ib_lid(field::<32, 2, 256>(bytes)),
            dr_dlid: ib_lid(field::<34, 2, 256>(bytes)),
            initial_path: field::<128, PATH_LEN, 256>(bytes),
            return_path: field::<192, PATH_LEN, 256>(bytes),
        }
    }

    /// Reads the head of an Omni-Path SMP (`struct opa_smp`), which has up to 2048 bytes and its route
    /// in the first 168: network byte order, 32-bit LIDs, permissive 0xFFFFFFFF.
    #[inline]
    pub fn from_opa<const N: usize>(bytes: &'a [u8; N]) -> Self {
        Self {
            direction: direction(field::<4, 1, N>(bytes)),
            hop_ptr: byte(field::<6, 1, N>(bytes)),
            hop_cnt: byte(field::<7, 1, N>(bytes)),
            dr_slid: opa_lid(field::<32, 4, N>(bytes)),
            dr_dlid: opa_lid(field::<36, 4, N>(bytes)),
            initial_path: field::<40, PATH_LEN, N>(bytes),
            return_path: field::<104, PATH_LEN, N>(bytes),
        }
    }

    /// The Initial Path's element `hop`, 1 to 63.
    #[inline]
    pub(super) fn initial(&self, hop: u8) -> u8 {
        element(self.initial_path, hop)
    }

    /// The Return Path's element `hop`, 1 to 63.
    #[inline]
    pub(super) fn returned(&self, hop: u8) -> u8 {
        element(self.return_path, hop)
    }

    /// Whether the Hop Pointer is one past the Hop Count: at the far end of the directed route.
    #[inline]
    pub(super) fn past_end(&self) -> bool {
        self.hop_ptr == self.hop_cnt.wrapping_add(1)
    }
}

/// Element `hop` of a path. A rule only asks for 1 to 63; the mask shows it to the compiler.
#[inline]
fn element(path: &[u8; PATH_LEN], hop: u8) -> u8 {
    path[usize::from(hop & MAX_HOPS)]
}

/// The `LEN` bytes from byte `AT` on. That they are inside is checked when it is compiled.
#[inline]
fn field<const AT: usize, const LEN: usize, const N: usize>(bytes: &[u8; N]) -> &[u8; LEN] {
    const { assert!(AT + LEN <= N) };
    match bytes.get(AT..).and_then(<[u8]>::first_chunk) {
        Some(found) => found,
        // Not reached, by the assertion above.
        None => const { &[0; LEN] },
    }
}

/// The only byte of a field.
#[inline]
fn byte(&[byte]: &[u8; 1]) -> u8 {
    byte
}

/// The D bit, from the high byte of the status word.
#[inline]
fn direction(&[high]: &[u8; 1]) -> Direction {
    if high & 0x80 == 0 {
        Direction::Outgoing
    } else {
        Direction::Returning
    }
}

/// A 16-bit LID of an InfiniBand SMP.
#[inline]
fn ib_lid(bytes: &[u8; 2]) -> DrLid {
    match u16::from_be_bytes(*bytes) {
        u16::MAX => DrLid::Permissive,
        lid => DrLid::Lid(u32::from(lid)),
    }
}

/// A 32-bit LID of an Omni-Path SMP.
#[inline]
fn opa_lid(bytes: &[u8; 4]) -> DrLid {
    match u32::from_be_bytes(*bytes) {
        u32::MAX => DrLid::Permissive,
        lid => DrLid::Lid(lid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_an_infiniband_smp() {
        let mut bytes = [0xEE; 256];
        bytes[4..8].copy_from_slice(&[0x80, 0x00, 3, 5]);
        bytes[32..36].copy_from_slice(&[0x12, 0x34, 0xFF, 0xFF]);
        for at in 0..64u8 {
            bytes[128 + usize::from(at)] = at;
            bytes[192 + usize::from(at)] = 100 + at;
        }
        let smp = DrSmp::from_ib(&bytes);
        assert_eq!(smp.direction, Direction::Returning);
        assert_eq!((smp.hop_ptr, smp.hop_cnt), (3, 5));
        assert_eq!(smp.dr_slid, DrLid::Lid(0x1234));
        assert_eq!(smp.dr_dlid, DrLid::Permissive);
        for at in 0..64u8 {
            assert_eq!((smp.initial(at), smp.returned(at)), (at, 100 + at));
        }
    }

    #[test]
    fn reads_an_omni_path_smp() {
        let mut bytes = [0xEE; 2048];
        bytes[4..8].copy_from_slice(&[0x7F, 0xFF, 1, 63]);
        bytes[32..40].copy_from_slice(&[0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]);
        for at in 0..64u8 {
            bytes[40 + usize::from(at)] = at;
            bytes[104 + usize::from(at)] = 100 + at;
        }
        let smp = DrSmp::from_opa(&bytes);
        assert_eq!(smp.direction, Direction::Outgoing);
        assert_eq!((smp.hop_ptr, smp.hop_cnt), (1, 63));
        assert_eq!(
            smp.dr_slid,
            DrLid::Lid(0xFFFF),
            "16-bit permissive is a LID here"
        );
        assert_eq!(smp.dr_dlid, DrLid::Permissive);
        for at in 0..64u8 {
            assert_eq!((smp.initial(at), smp.returned(at)), (at, 100 + at));
        }
    }

    #[test]
    fn the_d_bit_is_the_top_bit_of_the_status() {
        for status in 0..=u16::MAX {
            let mut bytes = [0; 256];
            bytes[4..6].copy_from_slice(&status.to_be_bytes());
            let returning = DrSmp::from_ib(&bytes).direction == Direction::Returning;
            assert_eq!(returning, status >= 0x8000);
        }
    }

    #[test]
    fn every_lid_but_the_permissive_one_is_set() {
        for lid in 0..=u16::MAX {
            let expected = if lid == 0xFFFF {
                DrLid::Permissive
            } else {
                DrLid::Lid(lid.into())
            };
            assert_eq!(ib_lid(&lid.to_be_bytes()), expected);
        }
    }
}
