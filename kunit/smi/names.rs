// SPDX-License-Identifier: GPL-2.0

//! Numbers and names of rules and reasons: those that `include/trace/events/ib_smi.h` prints, and the
//! counters'.

use crate::{
    dr::{
        Decision,
        Reason,
        Rule,
        Verdict, //
    },
    ib_smi::{
        counters::{
            self,
            DISCARDS,
            NOBODY, //
        },
        hop::{
            Hop,
            Obstacle,
            Point, //
        },
        origin::Origin,
        smp::Format, //
    },
    packet::request,
    table::{
        Row,
        Table,
        Test, //
    }, //
};
use kernel::{
    fmt,
    prelude::*,
    str::CString, //
};

/// What has the number and the name.
#[derive(Clone, Copy)]
enum What {
    Rule(Rule),
    Reason(Reason),
    Obstacle(Obstacle),
}

/// One entry of the header's tables.
pub(crate) struct Entry {
    what: What,
    number: u8,
    name: &'static str,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.what {
            What::Rule(_) => "rule",
            What::Reason(_) | What::Obstacle(_) => "reason",
        };
        write!(f, "{kind} {} is {}", self.number, self.name)
    }
}

impl Row for Entry {
    fn check(&self, test: &Test) -> Result {
        let (rule, verdict, obstacle) = match self.what {
            What::Rule(rule) => (rule, Verdict::Local, None),
            What::Reason(reason) => (Rule::C14_6, Verdict::Discard(reason), None),
            What::Obstacle(obstacle) => (Rule::C14_6, Verdict::Local, Some(obstacle)),
        };
        let hop = Hop {
            point: Point::Recv,
            smp: &request(1, 2).bytes(),
            format: Format::Ib,
            origin: Origin::UNKNOWN,
            is_switch: true,
            ingress: 1,
            decision: Decision {
                verdict,
                hop_ptr: 1,
                record: None,
                rule,
            },
            obstacle,
        };
        let c = hop.to_c();
        let line = CString::try_from_fmt(fmt!("{hop}"))?;
        let line = line.to_str().map_err(|_| EINVAL)?;
        let (number, key) = match self.what {
            What::Rule(_) => (c.rule, "rule="),
            What::Reason(_) | What::Obstacle(_) => (c.reason, "reason="),
        };
        test.equal("number", number, self.number);
        let name = line.split(' ').find_map(|word| word.strip_prefix(key));
        test.equal("name", name, Some(self.name));

        if let What::Rule(_) = self.what {
            let before = decided(self.name)?;
            hop.settle(None);
            test.equal("decisions", decided(self.name)?, before + 1);
        } else {
            // A number that two reasons shared would count for both.
            let (before, all) = (count(self.name)?, total()?);
            counters::discarded(Origin::UNKNOWN, self.number);
            test.equal("counter", count(self.name)?, before + 1);
            test.equal("all counters", total()?, all + 1);
        }
        Ok(())
    }
}

/// How many SMPs that came in for no port that is known were local by a rule.
fn decided(name: &str) -> Result<u64> {
    let mut sum = 0;
    NOBODY
        .each_decision(|point, rule, verdict, count| {
            if (point, rule, verdict) == ("recv", name, "local") {
                sum += count;
            }
            Ok(())
        })
        .map_err(|_| EINVAL)?;
    Ok(sum)
}

/// How many discards were counted for a reason.
pub(super) fn count(name: &str) -> Result<u64> {
    sum(|reason| reason == name)
}

/// How many discards were counted.
fn total() -> Result<u64> {
    sum(|_| true)
}

/// The sum of some counters; an error if there is none.
fn sum(which: impl Fn(&str) -> bool) -> Result<u64> {
    let mut sum = None;
    DISCARDS
        .each(|name, count| {
            if which(name) {
                sum = Some(sum.unwrap_or(0) + count);
            }
            Ok(())
        })
        .map_err(|_| EINVAL)?;
    sum.ok_or(ENOENT)
}

const fn rule(rule: Rule, number: u8, name: &'static str) -> Entry {
    Entry {
        what: What::Rule(rule),
        number,
        name,
    }
}

const fn reason(reason: Reason, number: u8, name: &'static str) -> Entry {
    Entry {
        what: What::Reason(reason),
        number,
        name,
    }
}

const fn obstacle(obstacle: Obstacle, number: u8, name: &'static str) -> Entry {
    Entry {
        what: What::Obstacle(obstacle),
        number,
        name,
    }
}

/// The tables of the header, in its order.
pub(crate) struct Names;

impl Table for Names {
    type Row = Entry;

    const ROWS: &'static [Entry] = &[
        rule(Rule::C14_6, 1, "C14-6"),
        rule(Rule::C14_9_1, 2, "C14-9:1"),
        rule(Rule::C14_9_2, 3, "C14-9:2"),
        rule(Rule::C14_9_3, 4, "C14-9:3"),
        rule(Rule::C14_9_4, 5, "C14-9:4"),
        rule(Rule::C14_9_5, 6, "C14-9:5"),
        rule(Rule::C14_10_1_1, 7, "C14-10.1.1"),
        rule(Rule::C14_13_1, 8, "C14-13:1"),
        rule(Rule::C14_13_2, 9, "C14-13:2"),
        rule(Rule::C14_13_3, 10, "C14-13:3"),
        rule(Rule::C14_13_4, 11, "C14-13:4"),
        rule(Rule::C14_13_5, 12, "C14-13:5"),
        rule(Rule::Lid, 13, "LID"),
        reason(Reason::HopCount, 1, "hop-count"),
        reason(Reason::HopPointer, 2, "hop-pointer"),
        reason(Reason::NoSuchPort, 3, "no-such-port"),
        reason(Reason::PortZero, 4, "port-zero"),
        reason(Reason::CaInTransit, 5, "ca-in-transit"),
        reason(Reason::NotFromWire, 6, "not-from-wire"),
        reason(Reason::WrongPort, 7, "wrong-port"),
        reason(Reason::NowhereToGo, 8, "nowhere-to-go"),
        reason(Reason::NotReturning, 9, "not-returning"),
        obstacle(Obstacle::InTransition, 32, "in-transition"),
        obstacle(Obstacle::NoSma, 33, "no-sma"),
        obstacle(Obstacle::NotByLid, 34, "not-by-lid"),
        obstacle(Obstacle::NoAgent, 35, "no-agent"),
        obstacle(Obstacle::QueueFull, 36, "queue-full"),
        obstacle(Obstacle::NoMemory, 37, "no-memory"),
        obstacle(Obstacle::PostFailed, 38, "post-failed"),
        obstacle(Obstacle::NotAsked, 39, "not-asked"),
        obstacle(Obstacle::SendFailed, 40, "send-failed"),
        obstacle(Obstacle::NoListener, 41, "no-listener"),
        obstacle(Obstacle::TooShort, 42, "too-short"),
    ];
}

const _: () =
    assert!(Names::ROWS.len() == Rule::ALL.len() + Reason::ALL.len() + Obstacle::ALL.len());
const _: () = assert!(Names::ROWS.len() == 33);
