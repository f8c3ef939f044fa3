// SPDX-License-Identifier: GPL-2.0

//! The vectors: SMPs from the wire with their known answers, by the rules and by mainline.
//!
//! Worked out by hand. A switch has four external ports, a channel adapter two. A path goes on
//! with the last element that is given.

use crate::case::{
    Case,
    Layout, //
};

use Answer::{
    Drop,
    Forward,
    Local,
    Route, //
};

/// What becomes of an SMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Discarded.
    Drop,
    /// Handed up with the Hop Pointer.
    Local(u8),
    /// Out by the port, with the Hop Pointer.
    Forward(u8, u8),
    /// On to the LID, with the Hop Pointer.
    Route(u32, u8),
}

/// One vector. The numbers in the names leave gaps.
pub struct Vector {
    /// The name.
    pub name: &'static str,
    /// In a few words.
    pub what: &'static str,
    /// Switch, or channel adapter.
    pub switch: bool,
    /// The port that it comes in by.
    pub ingress: u8,
    /// The D bit.
    pub returning: bool,
    /// Hop Pointer and Hop Count.
    pub hop: (u8, u8),
    /// Initial Path, from element 1.
    pub initial: &'static [u8],
    /// Return Path, from element 1.
    pub back: &'static [u8],
    /// DrSLID, if not permissive.
    pub slid: Option<u32>,
    /// DrDLID, if not permissive.
    pub dlid: Option<u32>,
    /// Mainline's answer.
    pub mainline: Answer,
    /// The answer by the rules.
    pub rules: Answer,
}

impl Vector {
    /// The case, in `layout`.
    pub fn case(&self, layout: Layout) -> Case {
        Case {
            layout,
            switch: self.switch,
            ports: if self.switch { 4 } else { 2 },
            port: self.ingress,
            returning: self.returning,
            hop_ptr: self.hop.0,
            hop_cnt: self.hop.1,
            slid: self.slid,
            dlid: self.dlid,
            initial: path(self.initial),
            back: path(self.back),
        }
    }
}

/// A whole path.
fn path(given: &[u8]) -> [u8; 64] {
    let rest = given.last().copied().unwrap_or(0);
    std::array::from_fn(|at| match at {
        0 => 0,
        at => given.get(at - 1).copied().unwrap_or(rest),
    })
}

/// All of them.
#[rustfmt::skip]
pub const ALL: &[Vector] = &[
    Vector { name: "V1", what: "transit",
             switch: true, ingress: 1, returning: false, hop: (1, 2),
             initial: &[1, 2], back: &[], slid: None, dlid: None,
             mainline: Forward(2, 2), rules: Forward(2, 2) },
    Vector { name: "V2", what: "transit egress 0",
             switch: true, ingress: 1, returning: false, hop: (1, 2),
             initial: &[1, 0], back: &[], slid: None, dlid: None,
             mainline: Forward(0, 2), rules: Drop },
    Vector { name: "V3", what: "transit egress n+1",
             switch: true, ingress: 1, returning: false, hop: (1, 2),
             initial: &[1, 5], back: &[], slid: None, dlid: None,
             mainline: Drop, rules: Drop },
    Vector { name: "V4", what: "end of path at switch",
             switch: true, ingress: 1, returning: false, hop: (1, 1),
             initial: &[1], back: &[], slid: None, dlid: None,
             mainline: Local(2), rules: Local(2) },
    Vector { name: "V5", what: "end of path at CA",
             switch: false, ingress: 1, returning: false, hop: (2, 2),
             initial: &[1, 2], back: &[], slid: None, dlid: None,
             mainline: Local(3), rules: Local(3) },
    Vector { name: "V6", what: "transit at CA",
             switch: false, ingress: 1, returning: false, hop: (1, 2),
             initial: &[1, 2], back: &[], slid: None, dlid: None,
             mainline: Drop, rules: Drop },
    Vector { name: "V7", what: "hop_cnt=63 transit",
             switch: true, ingress: 1, returning: false, hop: (62, 63),
             initial: &[1, 1], back: &[], slid: None, dlid: None,
             mainline: Forward(1, 63), rules: Forward(1, 63) },
    Vector { name: "V8", what: "hop_cnt=63 last",
             switch: true, ingress: 1, returning: false, hop: (63, 63),
             initial: &[1, 1], back: &[], slid: None, dlid: None,
             mainline: Local(64), rules: Local(64) },
    Vector { name: "V9", what: "hop_cnt=64",
             switch: true, ingress: 1, returning: false, hop: (1, 64),
             initial: &[1, 2], back: &[], slid: None, dlid: None,
             mainline: Drop, rules: Drop },
    Vector { name: "V11", what: "hop_ptr=hop_cnt+1",
             switch: true, ingress: 1, returning: false, hop: (3, 2),
             initial: &[1, 2], back: &[], slid: None, dlid: None,
             mainline: Local(3), rules: Local(3) },
    Vector { name: "V12", what: "hop_ptr=hop_cnt+2",
             switch: true, ingress: 1, returning: false, hop: (4, 2),
             initial: &[1, 2], back: &[], slid: None, dlid: None,
             mainline: Drop, rules: Drop },
    Vector { name: "V13", what: "hop_ptr=0 DrSLID perm",
             switch: true, ingress: 1, returning: false, hop: (0, 2),
             initial: &[1, 2], back: &[], slid: None, dlid: None,
             mainline: Drop, rules: Drop },
    Vector { name: "V14", what: "hop_ptr=0 DrSLID=5 (start of DR part)",
             switch: true, ingress: 1, returning: false, hop: (0, 2),
             initial: &[2, 2], back: &[], slid: Some(5), dlid: None,
             mainline: Drop, rules: Forward(2, 1) },
    Vector { name: "V16", what: "end DrDLID=7 switch",
             switch: true, ingress: 1, returning: false, hop: (1, 1),
             initial: &[1], back: &[], slid: None, dlid: Some(7),
             mainline: Local(1), rules: Route(7, 2) },
    Vector { name: "V17", what: "end DrDLID=7 CA",
             switch: false, ingress: 1, returning: false, hop: (1, 1),
             initial: &[1], back: &[], slid: None, dlid: Some(7),
             mainline: Drop, rules: Drop },
    Vector { name: "V18", what: "hop_cnt=0 hop_ptr=0 from wire, switch",
             switch: true, ingress: 1, returning: false, hop: (0, 0),
             initial: &[], back: &[], slid: None, dlid: None,
             mainline: Local(1), rules: Local(1) },
    Vector { name: "V20", what: "return transit",
             switch: true, ingress: 2, returning: true, hop: (2, 2),
             initial: &[1, 2], back: &[1, 1], slid: None, dlid: None,
             mainline: Forward(1, 1), rules: Forward(1, 1) },
    Vector { name: "V21", what: "return transit rpath=0",
             switch: true, ingress: 2, returning: true, hop: (2, 2),
             initial: &[1, 2], back: &[0, 1], slid: None, dlid: None,
             mainline: Forward(0, 1), rules: Drop },
    Vector { name: "V22", what: "return transit rpath=n+1",
             switch: true, ingress: 2, returning: true, hop: (2, 2),
             initial: &[1, 2], back: &[5, 1], slid: None, dlid: None,
             mainline: Drop, rules: Drop },
    Vector { name: "V23", what: "return end at CA, DrSLID perm",
             switch: false, ingress: 1, returning: true, hop: (1, 2),
             initial: &[1, 2], back: &[1, 1], slid: None, dlid: None,
             mainline: Local(0), rules: Local(0) },
    Vector { name: "V24", what: "return end at switch, DrSLID perm",
             switch: true, ingress: 1, returning: true, hop: (1, 2),
             initial: &[1, 2], back: &[1, 1], slid: None, dlid: None,
             mainline: Local(0), rules: Local(0) },
    Vector { name: "V25", what: "return end at switch, DrSLID=5",
             switch: true, ingress: 1, returning: true, hop: (1, 2),
             initial: &[1, 2], back: &[1, 1], slid: Some(5), dlid: None,
             mainline: Drop, rules: Route(5, 0) },
    Vector { name: "V27", what: "return hp=hc+1, DrDLID=7, in port 3, rpath[2]=1",
             switch: true, ingress: 3, returning: true, hop: (3, 2),
             initial: &[1, 2], back: &[2, 1], slid: None, dlid: Some(7),
             mainline: Drop, rules: Forward(1, 2) },
    Vector { name: "V29", what: "return hp=hc+1, all permissive, in port=rpath[hc]",
             switch: true, ingress: 1, returning: true, hop: (3, 2),
             initial: &[1, 2], back: &[2, 1], slid: None, dlid: None,
             mainline: Forward(2, 1), rules: Forward(1, 2) },
    Vector { name: "V30", what: "return hp=hc+1, CA, rpath ok",
             switch: false, ingress: 1, returning: true, hop: (3, 2),
             initial: &[1, 2], back: &[2, 1], slid: None, dlid: None,
             mainline: Local(2), rules: Drop },
    Vector { name: "V31", what: "return hp=0",
             switch: false, ingress: 1, returning: true, hop: (0, 2),
             initial: &[1, 2], back: &[1, 1], slid: None, dlid: None,
             mainline: Local(0), rules: Local(0) },
    Vector { name: "V32", what: "return hp=0 hc=0",
             switch: true, ingress: 1, returning: true, hop: (0, 0),
             initial: &[], back: &[], slid: None, dlid: None,
             mainline: Local(0), rules: Local(0) },
    Vector { name: "V35", what: "return transit DrDLID=7",
             switch: true, ingress: 2, returning: true, hop: (2, 2),
             initial: &[1, 2], back: &[1, 1], slid: None, dlid: Some(7),
             mainline: Forward(1, 2), rules: Forward(1, 1) },
    Vector { name: "V36", what: "transit back out of the ingress port",
             switch: true, ingress: 1, returning: false, hop: (1, 2),
             initial: &[1, 1], back: &[], slid: None, dlid: None,
             mainline: Forward(1, 2), rules: Forward(1, 2) },
];
