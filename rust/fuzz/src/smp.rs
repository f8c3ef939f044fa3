// SPDX-License-Identifier: GPL-2.0

//! The bytes of a hostile SMP.
//!
//! Each field has its boundary values, and now and then any value at all; most packets are right enough
//! in the fields that come first to be looked at in those that come after.

use crate::chance::Chance;

/// Bytes of an InfiniBand SMP.
pub const IB_LEN: usize = 256;

/// Bytes of the largest Omni-Path SMP.
pub const OPA_LEN: usize = 2048;

/// Bytes of an Omni-Path SMP before its data.
pub const OPA_HEADER: usize = 176;

/// The directed-route class.
pub const DIRECTED_ROUTE: u8 = 0x81;

/// The class of SMPs that are routed by LID.
pub const LID_ROUTED: u8 = 0x01;

const GET: u8 = 0x01;
const SET: u8 = 0x02;

/// Lengths of a datagram on an Omni-Path port: at the ends of its parts, and a byte to each side.
const LENGTHS: [usize; 20] = [
    1, 6, 7, 8, 24, 40, 104, 167, 168, 169, 175, 176, 177, 255, 256, 257, 1024, 2040, 2047, 2048,
];

/// Classes: vendor's, performance, CM, BM, SNMP and others, at the ends of their ranges too.
const CLASSES: [u8; 16] = [
    0x00, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0F, 0x10, 0x30, 0x4F, 0x80, 0xFF,
];

/// Get, Set, Send, Trap, Report, TrapRepress, and answers; and those that there are not.
const METHODS: [u8; 16] = [
    0x01, 0x01, 0x02, 0x03, 0x05, 0x06, 0x07, 0x12, 0x15, 0x81, 0x81, 0x82, 0x86, 0x87, 0x00, 0xFF,
];

/// All attributes of subnet management, vendors' and nobody's.
const ATTRIBUTES: [u16; 24] = [
    0x0001, 0x0002, 0x0003, 0x0010, 0x0011, 0x0011, 0x0012, 0x0014, 0x0015, 0x0015, 0x0016, 0x0017,
    0x0018, 0x0019, 0x001A, 0x001B, 0x0020, 0x0030, 0x0031, 0x0032, 0xFF00, 0xFF90, 0x0000, 0xFFFF,
];

/// Hop Counts and Hop Pointers at the ends of the rules.
const HOPS: [u8; 14] = [0, 1, 2, 3, 4, 5, 62, 63, 64, 65, 127, 128, 254, 255];

/// The node that an SMP is made for.
#[derive(Clone, Copy)]
pub struct Target {
    /// External ports.
    pub ports: u8,
    /// Whether it speaks Omni-Path's datagrams too.
    pub opa: bool,
    /// Whether nothing may change at the node, nor come back to it: no Set, no LID of its own.
    pub gentle: bool,
}

/// Makes the bytes of packet `index`.
pub fn make(chance: &mut Chance, target: Target, index: u64) -> Vec<u8> {
    let opa = target.opa && !chance.one_in(3);
    let mut mad = vec![0; length(chance, target, opa)];
    if chance.one_in(64) {
        chance.fill(&mut mad);
    } else {
        // A short one is cut from a whole one.
        let mut whole = vec![0; mad.len().max(IB_LEN)];
        data(chance, &mut whole);
        head(chance, &mut whole, opa, index);
        route(chance, &mut whole, opa, target);
        let len = mad.len();
        mad.copy_from_slice(&whole[..len]);
    }
    if chance.one_in(16) {
        mutate(chance, &mut mad);
    }
    if target.gentle {
        calm(&mut mad);
    }
    mad
}

/// How long it is: another length than 256 is for Omni-Path alone.
fn length(chance: &mut Chance, target: Target, opa: bool) -> usize {
    if !opa {
        IB_LEN
    } else if target.gentle {
        // What is not there would be what was in the buffer before.
        chance.pick(&LENGTHS).max(IB_LEN)
    } else if chance.one_in(4) {
        1 + chance.below(OPA_LEN)
    } else {
        chance.pick(&LENGTHS)
    }
}

/// What is nobody's business on the way: zero, ones, or anything.
fn data(chance: &mut Chance, mad: &mut [u8]) {
    match chance.below(4) {
        0 => mad.fill(0xFF),
        1 => chance.fill(mad),
        _ => {}
    }
}

/// The first 32 bytes.
fn head(chance: &mut Chance, mad: &mut [u8], opa: bool, index: u64) {
    let version = if opa { 0x80 } else { 0x01 };
    // ib_mad tells each one with another base version in the log.
    mad[0] = if chance.one_in(512) {
        chance.byte()
    } else {
        version
    };
    mad[1] = match chance.below(16) {
        0 => chance.pick(&CLASSES),
        1 | 2 => LID_ROUTED,
        _ => DIRECTED_ROUTE,
    };
    mad[2] = match chance.below(16) {
        0 => chance.byte(),
        1 => chance.pick(&[0, 1, 2, 0x80]),
        _ => version,
    };
    mad[3] = if chance.one_in(16) {
        chance.byte()
    } else {
        chance.pick(&METHODS)
    };
    let status = match chance.below(8) {
        0 => chance.any() as u16 & 0x7FFF,
        1 => chance.pick(&[1, 4, 8, 0x0C, 0x1C, 0x7FFF]),
        _ => 0,
    };
    let returning = if chance.one_in(2) { 0x8000 } else { 0 };
    put(mad, 4, &(status | returning).to_be_bytes());
    // The high word is the number of an agent of this host, or looks like one.
    let agent = match chance.below(4) {
        0 => 0,
        1 => chance.any() as u32,
        _ => 1 + chance.below(64) as u32,
    };
    put(mad, 8, &agent.to_be_bytes());
    // CAST: The low word, which is enough to tell packets apart.
    put(mad, 12, &(index as u32).to_be_bytes());
    let attribute = if chance.one_in(8) {
        chance.any() as u16
    } else {
        chance.pick(&ATTRIBUTES)
    };
    put(mad, 16, &attribute.to_be_bytes());
    let modifier = match chance.below(4) {
        0 => chance.any() as u32,
        1 => chance.pick(&[u32::MAX, 1 << 31, 1 << 24, 0xFF, 0x100, 0xFFFF]),
        _ => chance.below(8) as u32,
    };
    put(mad, 20, &modifier.to_be_bytes());
    let key = match chance.below(8) {
        0 => chance.any(),
        1 => 1,
        2 => u64::MAX,
        _ => 0,
    };
    put(mad, 24, &key.to_be_bytes());
}

/// Hops, LIDs and paths.
fn route(chance: &mut Chance, mad: &mut [u8], opa: bool, target: Target) {
    let count = hop(chance);
    let near = count.wrapping_add(chance.pick(&[0, 1, 2, 255, 254]));
    mad[6] = match chance.below(4) {
        0 => hop(chance),
        1 if count > 1 => 1 + chance.below(count.into()) as u8,
        _ => near,
    };
    mad[7] = count;
    let lids = [lid(chance, opa), lid(chance, opa)];
    let (first, paths) = if opa {
        put(mad, 36, &lids[1].to_be_bytes());
        (lids[0].to_be_bytes().to_vec(), [40, 104])
    } else {
        let [_, _, a, b] = lids[1].to_be_bytes();
        put(mad, 34, &[a, b]);
        let [_, _, a, b] = lids[0].to_be_bytes();
        (vec![a, b], [128, 192])
    };
    put(mad, 32, &first);
    for at in paths {
        path(chance, &mut mad[at..at + 64], target.ports);
    }
}

/// A path of ports that the node has, some of them wrong in every second one.
fn path(chance: &mut Chance, path: &mut [u8], ports: u8) {
    chance.fill(path);
    for port in path.iter_mut() {
        // CAST: At most `ports`.
        *port = 1 + ((u16::from(*port) * u16::from(ports)) >> 8) as u8;
    }
    for _ in 0..chance.pick(&[0, 0, 1, 16]) {
        let wrong = chance.pick(&[0, ports.wrapping_add(1), 128, 254, 255]);
        // Among the first ones, which are used most.
        let end = chance.pick(&[4, 64]);
        path[chance.below(end)] = wrong;
    }
}

/// A Hop Count or Hop Pointer: short ones most of all.
fn hop(chance: &mut Chance) -> u8 {
    match chance.below(8) {
        0 => chance.byte(),
        1 | 2 => chance.pick(&HOPS),
        3 => chance.below(65) as u8,
        _ => chance.below(5) as u8,
    }
}

/// DrSLID or DrDLID: permissive, one of the fabric's, none, a group's, or too large.
fn lid(chance: &mut Chance, opa: bool) -> u32 {
    let permissive = if opa { u32::MAX } else { 0xFFFF };
    match chance.below(12) {
        0 => 0,
        1 | 2 => 1 + chance.below(12) as u32,
        3 => chance.pick(&[0xBFFF, 0xC000, 0xFFFE, 0xFFFF, 0x1_0000, 0xFFFF_FFFE]),
        4 => chance.any() as u32,
        _ => permissive,
    }
}

/// Changes a few bits or bytes.
fn mutate(chance: &mut Chance, mad: &mut [u8]) {
    for _ in 0..=chance.below(8) {
        let at = chance.below(mad.len());
        if chance.one_in(2) {
            mad[at] ^= 1 << chance.below(8);
        } else {
            mad[at] = chance.byte();
        }
    }
}

/// Takes out what would change something at the node, or come back to it: Set, and LID 0, which is that
/// of a port without one.
fn calm(mad: &mut [u8]) {
    if mad[3] == SET {
        mad[3] = GET;
    }
    for (at, len) in [(32, 2), (34, 2), (32, 4), (36, 4)] {
        if mad[at..at + len].iter().all(|byte| *byte == 0) {
            mad[at + len - 1] = 77;
        }
    }
}

fn put(mad: &mut [u8], at: usize, bytes: &[u8]) {
    mad[at..at + bytes.len()].copy_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: Target = Target {
        ports: 4,
        opa: true,
        gentle: false,
    };

    fn some(target: Target) -> impl Iterator<Item = Vec<u8>> {
        (0..200_000).map(move |index| make(&mut Chance::new(1, index), target, index))
    }

    #[test]
    fn every_value_of_the_fields_that_decide_turns_up() {
        let mut seen = [[false; 256]; 8];
        for mad in some(SWITCH).filter(|mad| mad.len() >= 8) {
            for (seen, byte) in seen.iter_mut().zip(&mad) {
                seen[usize::from(*byte)] = true;
            }
        }
        // Base version, class, class version, method, D bit and status, Hop Pointer, Hop Count.
        for (at, seen) in seen.iter().enumerate() {
            assert!(seen.iter().all(|seen| *seen), "byte {at}");
        }
    }

    #[test]
    fn every_length_turns_up() {
        let mut seen = vec![false; OPA_LEN + 1];
        for mad in some(SWITCH) {
            seen[mad.len()] = true;
        }
        assert!(!seen[0] && seen[1..].iter().all(|seen| *seen));
    }

    #[test]
    fn a_gentle_one_sets_nothing_and_has_its_route() {
        for mad in some(Target {
            gentle: true,
            ..SWITCH
        }) {
            assert_ne!(mad[3], SET);
            assert!(mad.len() >= IB_LEN);
            assert_ne!(mad[32..34], [0, 0]);
            assert_ne!(mad[34..36], [0, 0]);
            assert_ne!(mad[36..40], [0, 0, 0, 0]);
        }
    }

    #[test]
    fn those_of_an_infiniband_node_have_256_bytes() {
        assert!(some(Target {
            opa: false,
            ..SWITCH
        })
        .all(|mad| mad.len() == IB_LEN));
    }
}
