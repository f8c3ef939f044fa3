// SPDX-License-Identifier: GPL-2.0

//! The rule that decided: one name for each clause, by which it is found in the specification.
//!
//! Source: InfiniBand Architecture Specification, volume 1, section 14.2.2.

/// The clause that decided. The numbers are stable: trace events and counters carry them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Rule {
    /// Hop Count is 0 to 63.
    C14_6 = 1,
    /// Outgoing, Hop Pointer 0: start of the directed-route part.
    C14_9_1 = 2,
    /// Outgoing, between the ends: a switch passes on along the Initial Path.
    C14_9_2 = 3,
    /// Outgoing, Hop Pointer is Hop Count: end of the directed-route part.
    C14_9_3 = 4,
    /// Outgoing, Hop Pointer is Hop Count + 1: for the local SMA or SM.
    C14_9_4 = 5,
    /// Outgoing, any other Hop Pointer.
    C14_9_5 = 6,
    /// The responder sets D and copies DrSLID and DrDLID.
    C14_10_1_1 = 7,
    /// Returning, Hop Pointer is Hop Count + 1: start of the directed-route part.
    C14_13_1 = 8,
    /// Returning, between the ends: a switch passes on along the Return Path.
    C14_13_2 = 9,
    /// Returning, Hop Pointer 1: end of the directed-route part.
    C14_13_3 = 10,
    /// Returning, Hop Pointer 0: for the local SM.
    C14_13_4 = 11,
    /// Returning, any other Hop Pointer.
    C14_13_5 = 12,
    /// A LID-routed part comes first: the LID is in the address handle, the SMP stays as it is.
    Lid = 13,
}

impl Rule {
    /// Every rule, in the order of its number.
    pub const ALL: [Self; 13] = [
        Self::C14_6,
        Self::C14_9_1,
        Self::C14_9_2,
        Self::C14_9_3,
        Self::C14_9_4,
        Self::C14_9_5,
        Self::C14_10_1_1,
        Self::C14_13_1,
        Self::C14_13_2,
        Self::C14_13_3,
        Self::C14_13_4,
        Self::C14_13_5,
        Self::Lid,
    ];

    /// The number, 1 to 13.
    #[inline]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The name, as the specification numbers the clause: `C14-9:2`.
    #[inline]
    pub const fn name(self) -> &'static str {
        match self {
            Self::C14_6 => "C14-6",
            Self::C14_9_1 => "C14-9:1",
            Self::C14_9_2 => "C14-9:2",
            Self::C14_9_3 => "C14-9:3",
            Self::C14_9_4 => "C14-9:4",
            Self::C14_9_5 => "C14-9:5",
            Self::C14_10_1_1 => "C14-10.1.1",
            Self::C14_13_1 => "C14-13:1",
            Self::C14_13_2 => "C14-13:2",
            Self::C14_13_3 => "C14-13:3",
            Self::C14_13_4 => "C14-13:4",
            Self::C14_13_5 => "C14-13:5",
            Self::Lid => "LID",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_run_from_1_and_names_differ() {
        for (at, rule) in Rule::ALL.iter().enumerate() {
            assert_eq!(usize::from(rule.number()), at + 1);
            assert!(Rule::ALL[..at]
                .iter()
                .all(|other| other.name() != rule.name()));
        }
    }
}
