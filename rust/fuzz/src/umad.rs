// SPDX-License-Identifier: GPL-2.0

//! A hostile write to `/dev/infiniband/umadN`: a header, and the bytes of a MAD.
//!
//! C header: `include/uapi/rdma/ib_user_mad.h`.

use crate::chance::Chance;
use crate::expect;
use crate::smp::{
    self,
    Target, //
};
use crate::wire::Site;

/// Bytes of the header, with a P_Key index.
pub const HEADER: usize = 64;

/// Bytes of the header without one, as before the kernel had it.
pub const OLD_HEADER: usize = 56;

/// Agents that a client registers: class, class version, queue pair, RMPP version. The last one speaks
/// Omni-Path.
pub const AGENTS: [(u8, u8, u8, u8); 5] = [
    (0x81, 1, 0, 0),
    (0x01, 1, 0, 0),
    (0x03, 2, 1, 1),
    (0x04, 1, 1, 0),
    (0x81, 0x80, 0, 0),
];

/// A longer timeout than anybody waits for here.
pub const PATIENCE: u32 = 20;

/// A write.
pub struct Write {
    /// Which of the clients writes.
    pub client: usize,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The low word of its transaction ID, if it goes out and an answer or the report of a timeout has
    /// to come before long, once the kernel took it.
    pub due: Option<u32>,
}

/// What a client is: its port, and what it speaks.
pub struct Client {
    /// The node.
    pub site: Site,
    /// The port of the agents: 0 on a switch.
    pub port: u8,
    /// Whether the header has a P_Key index.
    pub pkey: bool,
}

impl Write {
    /// Write `index` of `seed`.
    pub fn make(seed: u64, index: u64, clients: &[Client]) -> Self {
        let mut chance = Chance::new(seed, index);
        let client = chance.below(clients.len());
        let Client { site, port, pkey } = &clients[client];
        let target = Target {
            ports: site.ports,
            opa: site.opa,
            gentle: false,
        };
        let mut mad = smp::make(&mut chance, target, index);
        send_from(&mut chance, &mut mad);
        if chance.one_in(16) {
            let len = chance.pick(&[
                0, 1, 23, 24, 35, 36, 37, 55, 56, 64, 192, 255, 257, 300, 2048, 2049,
            ]);
            mad.resize(len, 0);
        }
        let timeout = match chance.below(64) {
            0 => u32::MAX,
            1 => chance.any() as u32,
            n if n < 16 => 0,
            _ => 1 + chance.below(PATIENCE as usize) as u32,
        };
        // What is sent again without end keeps a slow kernel from all else, so that it is rare.
        let retries = match chance.below(512) {
            0 => u32::MAX,
            1 => chance.any() as u32,
            n if n < 64 => chance.below(4) as u32,
            _ => 0,
        };
        let mut bytes = header(&mut chance, timeout, retries, mad.len(), site.opa);
        if !pkey {
            bytes.truncate(OLD_HEADER);
        }
        bytes.extend_from_slice(&mad);
        let cut = chance.one_in(128);
        if cut {
            bytes.truncate(chance.below(bytes.len() + 1));
        }
        let bounded = (1..=PATIENCE).contains(&timeout) && retries < 4;
        Self {
            client,
            bytes,
            due: (bounded && !cut && expect::leaves(site, *port, &mad)).then(|| low_tid(&mad)),
        }
    }
}

/// The low word of the transaction ID of a MAD that has one.
pub fn low_tid(mad: &[u8]) -> u32 {
    u32::from_be_bytes(std::array::from_fn(|at| mad[12 + at]))
}

/// Lets most of them leave: with Hop Pointer 0, as a client has it.
fn send_from(chance: &mut Chance, mad: &mut [u8]) {
    if mad.len() >= 8 && !chance.one_in(4) {
        mad[6] = 0;
        mad[4] &= 0x7F;
    }
}

/// The header.
fn header(chance: &mut Chance, timeout: u32, retries: u32, length: usize, opa: bool) -> Vec<u8> {
    let last = if opa { AGENTS.len() } else { AGENTS.len() - 1 };
    let agent = match chance.below(32) {
        0 => chance.pick(&[5, 31, 32, 33, u32::MAX]),
        1..=6 => chance.below(last) as u32,
        _ if opa && chance.one_in(2) => 4,
        _ => 0,
    };
    let qpn: u32 = match chance.below(16) {
        0 => chance.pick(&[1, 2, 0xFF_FFFF, 0x100_0000, u32::MAX]),
        _ => 0,
    };
    let lid: u16 = match chance.below(8) {
        0 => chance.pick(&[0, 0xBFFF, 0xC000, 0xFFFE]),
        1 | 2 => 1 + chance.below(12) as u16,
        _ => 0xFFFF,
    };
    let qkey: u32 = chance.pick(&[0, 0x8001_0000]);
    let mut bytes = Vec::with_capacity(HEADER + smp::OPA_LEN);
    for word in [agent, 0, timeout, retries, length as u32] {
        bytes.extend_from_slice(&word.to_ne_bytes());
    }
    bytes.extend_from_slice(&qpn.to_be_bytes());
    bytes.extend_from_slice(&qkey.to_be_bytes());
    bytes.extend_from_slice(&lid.to_be_bytes());
    // Service level, path bits, whether there is a GRH, and what would be in it.
    let mut rest = [0; HEADER - 30];
    if chance.one_in(8) {
        chance.fill(&mut rest);
        rest[2] &= 1;
        // The P_Key index, and zeroes.
        rest[26..28].copy_from_slice(&(chance.below(3) as u16).to_ne_bytes());
    }
    bytes.extend_from_slice(&rest);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> Client {
        Client {
            site: Site {
                name: "sw0".into(),
                switch: true,
                ports: 4,
                opa: false,
            },
            port: 0,
            pkey: true,
        }
    }

    #[test]
    fn the_header_is_that_of_the_kernel() {
        let mut chance = Chance::new(1, 1);
        let bytes = header(&mut chance, 0x0102_0304, 9, 256, false);
        assert_eq!(bytes.len(), HEADER);
        // id, status, timeout_ms, retries, length, then qpn.
        assert_eq!(bytes[8..12], 0x0102_0304u32.to_ne_bytes());
        assert_eq!(bytes[12..16], 9u32.to_ne_bytes());
        assert_eq!(bytes[16..20], 256u32.to_ne_bytes());
    }

    #[test]
    fn many_are_due_and_all_of_those_soon() {
        let clients = [client()];
        let writes = (0..10_000).map(|index| Write::make(3, index, &clients));
        let due: Vec<_> = writes.filter(|write| write.due.is_some()).collect();
        assert!(due.len() > 1_000);
        for write in due {
            let word =
                |at: usize| u32::from_ne_bytes(std::array::from_fn(|byte| write.bytes[at + byte]));
            assert!((1..=PATIENCE).contains(&word(8)) && word(12) < 4);
        }
    }
}
