// SPDX-License-Identifier: GPL-2.0

//! Faults of what runs on a node: the agent that answers, and on a switch the software that passes
//! directed routes on.
//!
//! That software is the kernel's MAD layer, which decides about a route; what the node's ports do with
//! it is done here. So an SMP can be lost before the MAD layer gets it, and leave by another port than
//! the one that it was told to.

use super::{
    filter::Filter,
    knob::{
        when,
        Knob,
        Plain,
        Setting, //
    },
    words,
    Words, //
};
use crate::{
    compat::{
        new_spinlock_irq,
        SpinLockIrq, //
    },
    node::Node,
    packet::{
        Packet,
        LID_PERMISSIVE, //
    },
    port::Port,
    provider::NodeType,
    sma::{
        opa,
        smp::{
            self,
            Smp, //
        }, //
    },
};
use kernel::{
    fmt,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        }, //
    },
};

/// A few pairs of values, written as `A:B,A:B`.
#[derive(Clone, Copy)]
struct Pairs<K, V>([Option<(K, V)>; 8]);

impl<K: TryFrom<u64> + PartialEq + Copy, V: TryFrom<u64> + Copy> Pairs<K, V> {
    /// Reads some, each of which has to be right and the only one for its key.
    fn parse(word: &[u8], between: u8, right: impl Fn(K, V) -> bool) -> Option<Self> {
        let mut pairs = Self([const { None }; 8]);
        for (index, text) in word.split(|byte| *byte == b',').enumerate() {
            let (key, value) = words::pair(text, between)?;
            let (key, value) = (words::number(key)?, words::number(value)?);
            if !right(key, value) || pairs.get(key).is_some() {
                return None;
            }
            *pairs.0.get_mut(index)? = Some((key, value));
        }
        Some(pairs)
    }

    /// What belongs to a key.
    fn get(&self, key: K) -> Option<V> {
        let mut pairs = self.0.iter().flatten();
        pairs.find(|(at, _)| *at == key).map(|(_, value)| *value)
    }

    /// Writes them.
    fn show(
        &self,
        f: &mut dyn fmt::Write,
        mut write: impl FnMut(&mut dyn fmt::Write, K, V) -> fmt::Result,
    ) -> fmt::Result {
        for (index, (key, value)) in self.0.iter().flatten().enumerate() {
            if index != 0 {
                f.write_str(",")?;
            }
            write(f, *key, *value)?;
        }
        f.write_str(" ")
    }
}

/// Which port is taken for which.
#[derive(Clone, Copy)]
pub(crate) enum Detour {
    /// Each for the one before it, of so many.
    Next(u8),
    /// Those for these.
    Some(Ports),
}

/// Ports instead of others.
#[derive(Clone, Copy)]
pub(crate) struct Ports(Pairs<u8, u8>);

impl Detour {
    /// The port instead of that one, if it is another.
    fn other(&self, port: u8) -> Option<u8> {
        let other = match self {
            Self::Next(ports) if port >= *ports => 1,
            Self::Next(_) => port.saturating_add(1),
            Self::Some(ports) => ports.0.get(port)?,
        };
        (other != port).then_some(other)
    }
}

impl Setting for Detour {
    const CAN_BE: &'static str = concat!(
        "off, or +1 or up to 8 pairs of ports there are, as 2:3,3:2, and ",
        when!()
    );

    fn parse(words: &mut Words<'_>, ports: u8) -> Option<Self> {
        if words.accept(b"+1") {
            return Some(Self::Next(ports));
        }
        let there = |port: u8| (1..=ports).contains(&port);
        let right = |from, to| there(from) && there(to) && from != to;
        let pairs = Pairs::parse(words.next()?, b':', right)?;
        Some(Self::Some(Ports(pairs)))
    }

    fn show(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        match self {
            Self::Next(_) => f.write_str("+1 "),
            Self::Some(ports) => ports.0.show(f, |f, from, to| write!(f, "{from}:{to}")),
        }
    }
}

/// With which status requests for an attribute are answered.
#[derive(Clone, Copy)]
pub(crate) struct Statuses(Pairs<u16, u16>);

impl Setting for Statuses {
    const CAN_BE: &'static str = concat!(
        "off, or up to 8 pairs of attribute and status (1 to 0x7fff), as 0x15=0x1c,0x11=0x8, and ",
        when!()
    );

    fn parse(words: &mut Words<'_>, _: u8) -> Option<Self> {
        let statuses = 1..=0x7fff;
        let right = |_, status| statuses.contains(&status);
        Some(Self(Pairs::parse(words.next()?, b'=', right)?))
    }

    fn show(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        self.0.show(f, |f, attribute, status| {
            write!(f, "{attribute:#06x}={status:#06x}")
        })
    }
}

/// What goes wrong in a node's software.
pub(crate) struct NodeFaults {
    /// To which SMPs. For what the agent does, it counts either way.
    pub(crate) filter: Filter,
    /// Sent out of another port than they should be.
    pub(crate) wrong_port: Knob<Detour>,
    /// Responses in transit that are not passed on.
    pub(crate) swallow_transit: Knob<Plain>,
    /// Requests that are carried out and not answered.
    pub(crate) swallow_answers: Knob<Plain>,
    /// SMPs in transit that are not passed on, for their M_Key is not that of this node.
    pub(crate) check_mkey: Knob<Plain>,
    /// Requests that are not carried out, and answered with a status.
    pub(crate) answer_status: Knob<Statuses>,
    /// Requests whose port is taken for the one behind it.
    pub(crate) ports_from_zero: Knob<Plain>,
}

impl NodeFaults {
    /// None.
    pub(crate) fn new() -> Self {
        Self {
            filter: Filter::default(),
            wrong_port: Knob::OFF,
            swallow_transit: Knob::OFF,
            swallow_answers: Knob::OFF,
            check_mkey: Knob::OFF,
            answer_status: Knob::OFF,
            ports_from_zero: Knob::OFF,
        }
    }
}

/// The software of a node, as far as it is faulty.
#[pin_data]
pub(crate) struct Software {
    /// Whether there are faults to look at.
    faulty: Atomic<bool>,
    #[pin]
    faults: SpinLockIrq<Option<KBox<NodeFaults>>>,
}

impl Software {
    /// Without a fault.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            faulty: Atomic::new(false),
            faults <- new_spinlock_irq!(None, "ibfabric_node_faults"),
        })
    }

    /// Lets there be faults, unless there are some already.
    pub(crate) fn stage(&self, faults: KBox<NodeFaults>) -> Result {
        let mut slot = self.faults.lock();
        if slot.is_some() {
            return Err(EBUSY);
        }
        *slot = Some(faults);
        self.faulty.store(true, Relaxed);
        Ok(())
    }

    /// Lets there be no faults.
    pub(crate) fn unstage(&self) {
        self.faulty.store(false, Relaxed);
        let before = self.faults.lock().take();
        drop(before);
    }

    /// Looks at the faults, if there are any, or changes them.
    #[inline]
    pub(crate) fn faults<R>(&self, look: impl FnOnce(&mut NodeFaults) -> R) -> Option<R> {
        if !self.faulty.load(Relaxed) {
            return None;
        }
        self.faults.lock().as_deref_mut().map(look)
    }

    /// The port that an SMP really leaves by, which was to leave by `egress`.
    pub(crate) fn egress(&self, node: &Node, egress: u8, packet: &Packet) -> u8 {
        let other = self.faults(|faults| {
            if !faults.filter.matches(&Smp(*packet.data.head())) {
                return None;
            }
            faults.wrong_port.strike(|detour| detour.other(egress))
        });
        let Some(other) = other.flatten() else {
            return egress;
        };
        if let Some(port) = node.port(0) {
            port.count_fault(|counters| &counters.misrouted);
        }
        other
    }

    /// Whether an SMP that came to the software of a switch is lost there.
    pub(crate) fn loses(&self, agent: &Port, packet: &Packet) -> bool {
        let lost = self.faults(|faults| {
            let mad = Smp(*packet.data.head());
            if !is_in_transit(&mad) || !faults.filter.matches(&mad) {
                return None;
            }
            let response = mad.status() & smp::STATUS_DIRECTION != 0;
            let swallowed = faults
                .swallow_transit
                .strike(|_| response.then_some(Loss::Swallowed));
            swallowed.or_else(|| {
                let wrong = || agent.manage(|managed| managed.mkey.is_wrong(mad.mkey()));
                faults.check_mkey.strike(|_| wrong().then_some(Loss::MKey))
            })
        });
        let Some(loss) = lost.flatten() else {
            return false;
        };
        agent.count_fault(|counters| match loss {
            Loss::Swallowed => &counters.swallowed,
            Loss::MKey => &counters.mkey,
        });
        true
    }

    /// The status that a request for the node is answered with, whatever it asks.
    pub(crate) fn status(&self, agent: &Port, request: &Smp) -> Option<u16> {
        let status = self.faults(|faults| {
            if !faults.filter.matches_either_way(request) {
                return None;
            }
            let attribute = request.attribute();
            faults
                .answer_status
                .strike(|statuses| statuses.0.get(attribute))
        });
        status.flatten().inspect(|_| {
            agent.count_fault(|counters| &counters.status);
        })
    }

    /// Whether the answer to a request for the node is lost.
    pub(crate) fn swallows(&self, agent: &Port, request: &Smp) -> bool {
        let swallowed = self.faults(|faults| {
            if !faults.filter.matches_either_way(request) {
                return None;
            }
            faults.swallow_answers.strike(|_| Some(()))
        });
        let swallowed = swallowed.flatten().is_some();
        if swallowed {
            agent.count_fault(|counters| &counters.swallowed);
        }
        swallowed
    }

    /// What a node that counts its ports from 0 takes a request for.
    pub(crate) fn misread(&self, node: &Node, agent: &Port, request: &Smp) -> Option<Smp> {
        let misread = self.faults(|faults| {
            if !faults.filter.matches_either_way(request) {
                return None;
            }
            let next = || next_port(node.node_type, request);
            faults.ports_from_zero.strike(|_| next())
        });
        let modifier = misread.flatten()?;
        agent.count_fault(|counters| &counters.numbered);
        let mut request = *request;
        request.set_modifier(modifier);
        Some(request)
    }
}

/// Why an SMP is lost in transit.
#[derive(Clone, Copy)]
enum Loss {
    Swallowed,
    MKey,
}

/// Whether an SMP that arrives is one for the software to pass on, by a directed route or behind its
/// end by LID (C14-9:2 and 3, C14-13:1 to 3).
fn is_in_transit(mad: &Smp) -> bool {
    if mad.class() != smp::CLASS_DIRECTED_ROUTE {
        return false;
    }
    let (hop, count) = (mad.hop_ptr(), mad.hop_count());
    let (begins_by_lid, ends_by_lid) = if opa::is_for(mad) {
        opa::by_lid(mad)
    } else {
        (
            mad.dr_slid() != LID_PERMISSIVE,
            mad.dr_dlid() != LID_PERMISSIVE,
        )
    };
    if mad.status() & smp::STATUS_DIRECTION == 0 {
        hop < count || hop == count && ends_by_lid
    } else {
        hop > 1 || hop == 1 && begins_by_lid
    }
}

/// The modifier of the port behind the one that a request names, if its attribute has one.
fn next_port(node_type: NodeType, request: &Smp) -> Option<u32> {
    let modifier = request.modifier();
    match (request.attribute(), node_type) {
        (smp::PORT_INFO, _) | (smp::VL_ARBITRATION_TABLE, NodeType::Switch) => {
            modifier.checked_add(1)
        }
        (smp::PKEY_TABLE, NodeType::Switch) => modifier.checked_add(1 << 16),
        (smp::SL_TO_VL_TABLE, NodeType::Switch) => {
            let [reserved, all, input, output] = modifier.to_be_bytes();
            let next = |port: u8| port.saturating_add(1);
            Some(u32::from_be_bytes([
                reserved,
                all,
                next(input),
                next(output),
            ]))
        }
        _ => None,
    }
}
