// SPDX-License-Identifier: GPL-2.0

//! The space of cases, and the work of going through it on every processor.
//!
//! Hop Pointer and Hop Count take all 256 values each, the D bit, the node kind and the two
//! permissive bits both of theirs. Ports and path elements take the values at the boundaries: 0,
//! 1, one in the middle, the last, the one after it, 255. A path either goes round those, so that
//! an element differs from its neighbours and each element takes each value, or has the same
//! value all over.

use std::ops::AddAssign;
use std::sync::atomic::{
    AtomicUsize,
    Ordering, //
};
use std::thread;

use crate::case::{
    Case,
    Layout,
    Packet, //
};

/// Port counts of a node in the InfiniBand layout.
const PORTS: [u8; 5] = [1, 2, 4, 128, 254];

/// Port counts in the Omni-Path layout: the rules are the same, the layout is what matters.
const OPA_PORTS: [u8; 2] = [4, 254];

/// LIDs that are not permissive, with those beside the permissive one.
const IB_LIDS: [u32; 5] = [0x0005, 0xFFFE, 0x0000, 0xBFFF, 0xFF00];
const OPA_LIDS: [u32; 5] = [
    0x0000_0005,
    0xFFFF_FFFE,
    0x0000_FFFF,
    0x0001_0005,
    0x0000_BFFF,
];

/// Everything but the port, Hop Pointer and Hop Count.
pub struct Block {
    case: Case,
}

impl Block {
    /// The whole space.
    pub fn all() -> Vec<Self> {
        let mut blocks = Vec::new();
        for (layout, all_ports) in [(Layout::Ib, &PORTS[..]), (Layout::Opa, &OPA_PORTS[..])] {
            for &ports in all_ports {
                let values = elements(ports);
                for pattern in 0..2 * values.len() {
                    for bits in 0..16 {
                        let lid = |set: bool, which: usize| {
                            let lids = match layout {
                                Layout::Ib => IB_LIDS,
                                Layout::Opa => OPA_LIDS,
                            };
                            set.then(|| lids[(pattern + which) % lids.len()])
                        };
                        blocks.push(Self {
                            case: Case {
                                layout,
                                switch: bits & 1 != 0,
                                ports,
                                port: 0,
                                returning: bits & 2 != 0,
                                hop_ptr: 0,
                                hop_cnt: 0,
                                slid: lid(bits & 4 != 0, 0),
                                dlid: lid(bits & 8 != 0, 1),
                                initial: path(&values, pattern, 0),
                                back: path(&values, pattern, 1),
                            },
                        });
                    }
                }
            }
        }
        blocks
    }

    /// Whether it is a switch.
    pub fn is_switch(&self) -> bool {
        self.case.switch
    }

    /// External ports to come in or be sent by: the first, one in the middle, the last.
    pub fn external_ports(&self) -> Vec<u8> {
        let mut ports = vec![1, middle(self.case.ports), self.case.ports];
        ports.dedup();
        ports
    }

    /// Visits every Hop Pointer and Hop Count at `port`.
    pub fn visit(&self, port: u8, mut visit: impl FnMut(&Case, &mut Packet)) {
        let mut case = self.case.clone();
        case.port = port;
        let mut packet = Packet::new(&case);
        for hop_cnt in 0..=255 {
            for hop_ptr in 0..=255 {
                case.hop_ptr = hop_ptr;
                case.hop_cnt = hop_cnt;
                packet.set_hop(hop_ptr, hop_cnt);
                visit(&case, &mut packet);
            }
        }
    }
}

/// A port that is not the last, where there is one.
fn middle(ports: u8) -> u8 {
    ports.div_ceil(2)
}

/// What a path element may be at a node with `ports` external ports, each value once.
fn elements(ports: u8) -> Vec<u8> {
    let mut values = vec![0, 1, middle(ports), ports, ports.saturating_add(1), 255];
    values.dedup();
    values
}

/// A path by `pattern`; `offset` makes the two paths of a case differ.
fn path(values: &[u8], pattern: usize, offset: usize) -> [u8; 64] {
    std::array::from_fn(|at| {
        let step = if pattern < values.len() { at } else { 0 };
        values[(pattern + offset + step) % values.len()]
    })
}

/// Adds up `work` over all blocks, on every processor.
pub fn sum<T>(work: impl Fn(&Block) -> T + Sync) -> T
where
    T: AddAssign + Default + Send,
{
    let blocks = Block::all();
    let next = AtomicUsize::new(0);
    let one = || {
        let mut sum = T::default();
        while let Some(block) = blocks.get(next.fetch_add(1, Ordering::Relaxed)) {
            sum += work(block);
        }
        sum
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(one)).collect();
        let mut sum = one();
        for other in others {
            sum += other.join().unwrap();
        }
        sum
    })
}
