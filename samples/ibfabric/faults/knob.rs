// SPDX-License-Identifier: GPL-2.0

//! One fault: what goes wrong and when, or nothing; and how often it did.

use super::{
    trigger::Trigger,
    Words, //
};
use kernel::fmt;

/// What goes wrong, with all that has to be known about it.
pub(crate) trait Setting: Copy {
    /// What can be written to the knob.
    const CAN_BE: &'static str;

    /// Reads it, at a node with so many ports.
    fn parse(words: &mut Words<'_>, ports: u8) -> Option<Self>;

    /// Writes it as it is read, with a blank behind it unless it is nothing.
    fn show(&self, f: &mut dyn fmt::Write) -> fmt::Result;
}

/// How a trigger is written, for [`Setting::CAN_BE`].
macro_rules! when {
    () => {
        "all, nth K, every K or percent 1 to 100 [seed N]; K from 1 on"
    };
}

pub(super) use when;

/// A fault of which nothing has to be known but when it happens.
#[derive(Clone, Copy)]
pub(crate) struct Plain;

impl Setting for Plain {
    const CAN_BE: &'static str = concat!("off, ", when!());

    fn parse(_: &mut Words<'_>, _: u8) -> Option<Self> {
        Some(Self)
    }

    fn show(&self, _: &mut dyn fmt::Write) -> fmt::Result {
        Ok(())
    }
}

/// A fault that is staged, or not.
#[derive(Clone, Copy)]
pub(crate) struct Knob<T> {
    setting: Option<(T, Trigger)>,
    hits: u64,
}

impl<T: Setting> Knob<T> {
    /// Nothing goes wrong.
    pub(super) const OFF: Self = Self {
        setting: None,
        hits: 0,
    };

    /// Reads what was written; counting begins anew.
    pub(crate) fn parse(line: &[u8], ports: u8) -> Option<Self> {
        let mut words = Words::of(line);
        if words.is_empty() {
            return None;
        }
        let mut knob = Self::OFF;
        if !words.accept(b"off") {
            let setting = T::parse(&mut words, ports)?;
            knob.setting = Some((setting, Trigger::parse(&mut words)?));
        }
        words.is_empty().then_some(knob)
    }

    /// A datagram comes by. Returns what happens to it, if anything; `act` says what could, and without
    /// that the datagram does not count.
    pub(super) fn strike<R>(&mut self, act: impl FnOnce(&T) -> Option<R>) -> Option<R> {
        let (setting, trigger) = self.setting.as_mut()?;
        let result = act(setting)?;
        if !trigger.fires() {
            return None;
        }
        self.hits = self.hits.saturating_add(1);
        Some(result)
    }
}

impl<T: Setting> Knob<T> {
    /// Writes it as it is read.
    pub(crate) fn show(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        match &self.setting {
            Some((setting, trigger)) => {
                setting.show(f)?;
                trigger.show(f)?;
            }
            None => write!(f, "off")?,
        }
        write!(f, " hits={}", self.hits)
    }
}
