// SPDX-License-Identifier: GPL-2.0

//! A hostile datagram before a port of the virtual fabric, as a line for its file `inject`.

use crate::chance::Chance;
use crate::smp::{
    self,
    Target, //
};
use std::io::Write;

/// The two digits of every byte.
static DIGITS: [[u8; 2]; 256] = {
    let digits = b"0123456789abcdef";
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [digits[byte >> 4], digits[byte & 15]];
        byte += 1;
    }
    pairs
};

/// A node, as the fabric's file `nodes` lists it.
pub struct Site {
    /// The device.
    pub name: String,
    /// Switch, or channel adapter.
    pub switch: bool,
    /// External ports.
    pub ports: u8,
    /// Whether it speaks Omni-Path's datagrams too.
    pub opa: bool,
}

impl Site {
    /// Reads a line `NAME ca|switch GUID PORTS LID…`.
    pub fn parse(line: &str, opa: bool) -> Option<Self> {
        let mut words = line.split_whitespace();
        let name = words.next()?.to_string();
        let switch = match words.next()? {
            "switch" => true,
            "ca" => false,
            _ => return None,
        };
        let ports = words.nth(1)?.parse().ok()?;
        Some(Self {
            name,
            switch,
            ports,
            opa,
        })
    }
}

/// A datagram before a port.
pub struct Arrival {
    /// Which of the sites.
    pub site: usize,
    /// The external port that it comes in by.
    pub port: u8,
    /// Source LID of the packet.
    pub slid: u16,
    /// Destination LID of the packet.
    pub dlid: u16,
    /// The destination queue pair.
    pub qp: u32,
    /// The bytes.
    pub mad: Vec<u8>,
}

impl Arrival {
    /// Arrival `index` of `seed`. A `gentle` one changes nothing and always reaches QP0.
    pub fn make(seed: u64, index: u64, sites: &[Site], gentle: bool) -> Self {
        let mut chance = Chance::new(seed, index);
        let site = chance.below(sites.len());
        let node = &sites[site];
        let target = Target {
            ports: node.ports,
            opa: node.opa,
            gentle,
        };
        let port = 1 + chance.below(node.ports.into()) as u8;
        let mut made = Self {
            site,
            port,
            slid: 0xFFFF,
            dlid: 0xFFFF,
            qp: 0,
            mad: smp::make(&mut chance, target, index),
        };
        if !gentle {
            made.address(&mut chance);
        }
        made
    }

    /// What the packet around it says: most often what a directed route has.
    fn address(&mut self, chance: &mut Chance) {
        let mut lid = || match chance.below(32) {
            0 => 0,
            1..=3 => 1 + chance.below(12) as u16,
            4 => chance.pick(&[0xBFFF, 0xC000, 0xC001, 0xFFFE]),
            5 => chance.any() as u16,
            _ => 0xFFFF,
        };
        (self.slid, self.dlid) = (lid(), lid());
        self.qp = match chance.below(64) {
            0 => 1,
            1 => chance.pick(&[2, 0xFF_FFFF, 0x100_0000]),
            _ => 0,
        };
    }

    /// Writes the line.
    pub fn line(&self, sites: &[Site], line: &mut Vec<u8>) {
        line.clear();
        // Writing to memory does not fail.
        let _ = write!(line, "{} {} ", sites[self.site].name, self.port);
        for byte in &self.mad {
            line.extend_from_slice(&DIGITS[usize::from(*byte)]);
        }
        if (self.slid, self.dlid, self.qp) != (0xFFFF, 0xFFFF, 0) {
            let _ = write!(
                line,
                " slid={} dlid={} qp={}",
                self.slid, self.dlid, self.qp
            );
        }
        line.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sites() -> Vec<Site> {
        let lines = ["hca0 ca 0x021bfa0000000100 1 1", "sw0 switch 0x2 4"];
        lines.map(|line| Site::parse(line, false).unwrap()).into()
    }

    #[test]
    fn a_line_is_what_inject_reads() {
        let mut line = Vec::new();
        let mut arrival = Arrival::make(1, 0, &sites(), true);
        (arrival.site, arrival.port, arrival.mad) = (1, 3, vec![0x01, 0x81, 0xAF]);
        arrival.line(&sites(), &mut line);
        assert_eq!(line, b"sw0 3 0181af\n");
        (arrival.slid, arrival.qp) = (5, 1);
        arrival.line(&sites(), &mut line);
        assert_eq!(line, b"sw0 3 0181af slid=5 dlid=65535 qp=1\n");
    }

    #[test]
    fn a_node_is_read() {
        let [hca, switch] = &sites()[..] else {
            panic!("two nodes")
        };
        assert_eq!(
            (hca.name.as_str(), hca.switch, hca.ports),
            ("hca0", false, 1)
        );
        assert_eq!((switch.switch, switch.ports), (true, 4));
        assert!(Site::parse("hca0 router 0x1 1", false).is_none());
        assert!(Site::parse("hca0 ca", false).is_none());
    }
}
