// SPDX-License-Identifier: GPL-2.0

//! What is counted: decisions by point, rule and verdict, and discards by reason.
//!
//! Each port has a [`Tally`]. What concerns no port that is known, or one that goes, is counted as
//! nobody's; [`DISCARDS`] are all there were since the module was loaded. `folder` shows them.

use super::{
    hop::{
        reasons,
        verdict_name,
        Point,
        VERDICTS, //
    },
    origin::Origin,
    ports, //
};
use crate::dr::Rule;
use kernel::{
    fmt,
    sync::atomic::{
        ordering,
        Atomic, //
    }, //
};

type Counter = Atomic<u64>;

/// The points at which there are decisions: the first so many.
const POINTS: usize = 4;

/// One counter for each number that a reason can have.
pub(crate) struct Discards([Counter; 64]);

/// All discards.
pub(crate) static DISCARDS: Discards = Discards::new();

/// What concerns no port.
pub(crate) static NOBODY: Tally = Tally::new();

/// The counters of a port.
pub(crate) struct Tally {
    /// By point, rule and verdict, in the order of their numbers.
    decisions: [[[Counter; VERDICTS]; Rule::ALL.len() + 1]; POINTS],
    pub(crate) discards: Discards,
}

/// Counts a decision.
#[inline]
pub(crate) fn decided(origin: Origin<'_>, point: Point, rule: Rule, verdict: u8) {
    of(origin, |tally| tally.decided(point, rule, verdict));
}

/// Counts a discard, by the number of its reason.
#[cold]
pub(crate) fn discarded(origin: Origin<'_>, reason: u8) {
    DISCARDS.count(reason);
    of(origin, |tally| tally.discards.count(reason));
}

/// Calls `f` with the tally of a port.
#[inline]
fn of(origin: Origin<'_>, f: impl Fn(&Tally)) {
    let found = origin
        .device
        .and_then(|device| ports::with_tally(device, origin.port, &f));
    if found.is_none() {
        f(&NOBODY);
    }
}

impl Tally {
    /// Nothing counted yet.
    pub(crate) const fn new() -> Self {
        Self {
            decisions: [const { [const { [const { Atomic::new(0) }; VERDICTS] }; Rule::ALL.len() + 1] };
                POINTS],
            discards: Discards::new(),
        }
    }

    /// Counts a decision.
    #[inline]
    pub(crate) fn decided(&self, point: Point, rule: Rule, verdict: u8) {
        let counter = self
            .decisions
            .get(point as usize)
            .and_then(|rules| rules.get(usize::from(rule.number())))
            .and_then(|verdicts| verdicts.get(usize::from(verdict)));
        if let Some(counter) = counter {
            counter.add(1u64, ordering::Relaxed);
        }
    }

    /// Calls `f` with every decision that there was: point, rule, verdict and count.
    pub(crate) fn each_decision(
        &self,
        mut f: impl FnMut(&str, &str, &str, u64) -> fmt::Result,
    ) -> fmt::Result {
        for (point, rules) in Point::ALL.iter().zip(&self.decisions) {
            // No rule has number 0.
            for (rule, verdicts) in Rule::ALL.iter().zip(rules.iter().skip(1)) {
                for (verdict, counter) in (0u8..).zip(verdicts) {
                    match counter.load(ordering::Relaxed) {
                        0 => (),
                        count => f(point.name(), rule.name(), verdict_name(verdict), count)?,
                    }
                }
            }
        }
        Ok(())
    }
}

impl Discards {
    const fn new() -> Self {
        Self([const { Atomic::new(0) }; 64])
    }

    fn count(&self, reason: u8) {
        if let Some(counter) = self.0.get(usize::from(reason)) {
            counter.add(1u64, ordering::Relaxed);
        }
    }

    /// Calls `f` with every reason there is and its count, which may be 0.
    pub(crate) fn each(&self, mut f: impl FnMut(&str, u64) -> fmt::Result) -> fmt::Result {
        for (number, name) in reasons() {
            if let Some(counter) = self.0.get(usize::from(number)) {
                f(name, counter.load(ordering::Relaxed))?;
            }
        }
        Ok(())
    }
}
