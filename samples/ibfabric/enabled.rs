// SPDX-License-Identifier: GPL-2.0

//! Which of the widths and speeds that a port has are switched on.
//!
//! A subnet manager sets them with PortInfo; they count when the link comes up the next time. Section
//! 14.2.5.6 of the specification has the special values.

use crate::rate::{
    Rate,
    Speed,
    Width, //
};

/// What is switched on, with the bits of PortInfo.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Enabled {
    widths: u8,
    speeds: u8,
    extended: u8,
}

impl Enabled {
    /// The value of LinkSpeedExtEnabled for no extended speed at all.
    const NO_EXTENDED: u8 = 30;

    /// Everything that a port has.
    pub(crate) fn all(most: Rate) -> Self {
        Self {
            widths: most.width.supported(),
            speeds: most.speed.supported(),
            extended: most.speed.extended_supported(),
        }
    }

    /// LinkWidthEnabled.
    pub(crate) fn widths(&self) -> u8 {
        self.widths
    }

    /// LinkSpeedEnabled.
    pub(crate) fn speeds(&self) -> u8 {
        self.speeds
    }

    /// LinkSpeedExtEnabled of a port.
    pub(crate) fn extended(&self, most: Rate) -> u8 {
        match (self.extended, most.speed.extended_supported()) {
            (0, 1..) => Self::NO_EXTENDED,
            (extended, _) => extended,
        }
    }

    /// What a subnet manager wants of a port: 0 changes nothing, all ones is all there is, and
    /// anything else has to be there.
    pub(crate) fn choose(&self, most: Rate, widths: u8, speeds: u8, extended: u8) -> Option<Self> {
        fn pick(asked: u8, all_ones: u8, now: u8, there: u8) -> Option<u8> {
            match asked {
                0 => Some(now),
                _ if asked == all_ones => Some(there),
                _ => (asked & !there == 0).then_some(asked),
            }
        }
        let there = Self::all(most);
        Some(Self {
            widths: pick(widths, 0xff, self.widths, there.widths)?,
            speeds: pick(speeds, 0xf, self.speeds, there.speeds)?,
            extended: match extended {
                Self::NO_EXTENDED => 0,
                _ => pick(extended, 0x1f, self.extended, there.extended)?,
            },
        })
    }

    /// The best that two ends have both switched on, if there is any.
    pub(crate) fn common(&self, other: &Self) -> Option<Rate> {
        let widths = self.widths & other.widths;
        let speeds = self.speeds & other.speeds;
        let extended = self.extended & other.extended;
        Some(Rate {
            width: Width::widest(widths)?,
            speed: Speed::fastest(speeds, extended)?,
        })
    }
}
