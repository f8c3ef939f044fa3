// SPDX-License-Identifier: GPL-2.0

//! One case: an SMP, the node that judges it and the port; and the packet that carries it.
//!
//! The layouts are written down here a second time, so that reading a packet is checked too.

use dr::{
    DrSmp,
    Node,
    NodeKind, //
};

/// Which packet carries the SMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// InfiniBand: 256 bytes, 16-bit LIDs.
    Ib,
    /// Omni-Path: 2048 bytes, 32-bit LIDs.
    Opa,
}

/// Which of the three functions judges, and what `Case::port` is for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// From the wire; the ingress port.
    Receive,
    /// The node's own; the port of the sending agent.
    Send,
    /// The node's own answer to one from the wire; the ingress port of that one.
    Reply,
}

impl Side {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Receive, Self::Send, Self::Reply];
}

/// An SMP at a node.
#[derive(Clone, Debug)]
pub struct Case {
    /// The packet's layout.
    pub layout: Layout,
    /// Switch, or channel adapter.
    pub switch: bool,
    /// External ports of the node.
    pub ports: u8,
    /// The port that it comes in by or is sent by.
    pub port: u8,
    /// The D bit.
    pub returning: bool,
    /// Hop Pointer.
    pub hop_ptr: u8,
    /// Hop Count.
    pub hop_cnt: u8,
    /// DrSLID, if not permissive.
    pub slid: Option<u32>,
    /// DrDLID, if not permissive.
    pub dlid: Option<u32>,
    /// Initial Path.
    pub initial: [u8; 64],
    /// Return Path.
    pub back: [u8; 64],
}

impl Case {
    /// Whether the node has the external port `port`.
    pub fn has(&self, port: u8) -> bool {
        1 <= port && port <= self.ports
    }

    /// The node, as the library wants it.
    pub fn node(&self) -> Node {
        Node {
            kind: if self.switch {
                NodeKind::Switch
            } else {
                NodeKind::Ca
            },
            ports: self.ports,
        }
    }
}

/// The packet of a case. Fields that no rule reads hold something.
pub struct Packet {
    layout: Layout,
    bytes: Box<[u8; 2048]>,
}

impl Packet {
    /// Encodes `case`.
    pub fn new(case: &Case) -> Self {
        let mut bytes = Box::new([0xA5; 2048]);
        let direction = if case.returning { 0x80 } else { 0 };
        let versions = match case.layout {
            Layout::Ib => (1, 1),
            Layout::Opa => (0x80, 0x80),
        };
        bytes[..6].copy_from_slice(&[versions.0, 0x81, versions.1, 1, direction | 0x1C, 7]);
        let paths = match case.layout {
            Layout::Ib => {
                let lid = |lid: Option<u32>| (lid.unwrap_or(0xFFFF) as u16).to_be_bytes();
                bytes[32..34].copy_from_slice(&lid(case.slid));
                bytes[34..36].copy_from_slice(&lid(case.dlid));
                [128, 192]
            }
            Layout::Opa => {
                let lid = |lid: Option<u32>| lid.unwrap_or(0xFFFF_FFFF).to_be_bytes();
                bytes[32..36].copy_from_slice(&lid(case.slid));
                bytes[36..40].copy_from_slice(&lid(case.dlid));
                [40, 104]
            }
        };
        bytes[paths[0]..paths[0] + 64].copy_from_slice(&case.initial);
        bytes[paths[1]..paths[1] + 64].copy_from_slice(&case.back);
        let mut packet = Self {
            layout: case.layout,
            bytes,
        };
        packet.set_hop(case.hop_ptr, case.hop_cnt);
        packet
    }

    /// Another Hop Pointer and Hop Count.
    pub fn set_hop(&mut self, hop_ptr: u8, hop_cnt: u8) {
        self.bytes[6] = hop_ptr;
        self.bytes[7] = hop_cnt;
    }

    /// The SMP, as the library reads it.
    pub fn smp(&self) -> DrSmp<'_> {
        match self.layout {
            Layout::Ib => DrSmp::from_ib(self.bytes.first_chunk().unwrap()),
            Layout::Opa => DrSmp::from_opa(&self.bytes),
        }
    }

    /// The bytes.
    pub fn bytes(&mut self) -> &mut [u8; 2048] {
        &mut self.bytes
    }
}
