// SPDX-License-Identifier: GPL-2.0

//! The reason of a discard, in one word.

/// Why an SMP is discarded. The numbers are stable: trace events and counters carry them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reason {
    /// Hop Count is above 63.
    HopCount = 1,
    /// Hop Pointer fits no rule.
    HopPointer = 2,
    /// The egress port is above the node's port count.
    NoSuchPort = 3,
    /// The egress port is 0, which is the node itself.
    PortZero = 4,
    /// A channel adapter would have to pass it on.
    CaInTransit = 5,
    /// Hop Pointer is 0 without a LID-routed part before: the sender did not start it.
    NotFromWire = 6,
    /// The path leaves by another port than the one that it is sent through.
    WrongPort = 7,
    /// An answer without a hop and without a LID to go to.
    NowhereToGo = 8,
    /// An answer without the D bit.
    NotReturning = 9,
}

impl Reason {
    /// Every reason, in the order of its number.
    pub const ALL: [Self; 9] = [
        Self::HopCount,
        Self::HopPointer,
        Self::NoSuchPort,
        Self::PortZero,
        Self::CaInTransit,
        Self::NotFromWire,
        Self::WrongPort,
        Self::NowhereToGo,
        Self::NotReturning,
    ];

    /// The number, 1 to 9.
    #[inline]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The name: one word, with dashes.
    #[inline]
    pub const fn name(self) -> &'static str {
        match self {
            Self::HopCount => "hop-count",
            Self::HopPointer => "hop-pointer",
            Self::NoSuchPort => "no-such-port",
            Self::PortZero => "port-zero",
            Self::CaInTransit => "ca-in-transit",
            Self::NotFromWire => "not-from-wire",
            Self::WrongPort => "wrong-port",
            Self::NowhereToGo => "nowhere-to-go",
            Self::NotReturning => "not-returning",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_run_from_1_and_names_are_words() {
        for (at, reason) in Reason::ALL.iter().enumerate() {
            assert_eq!(usize::from(reason.number()), at + 1);
            let name = reason.name();
            assert!(name.bytes().all(|b| b == b'-' || b.is_ascii_lowercase()));
            assert!(Reason::ALL[..at].iter().all(|other| other.name() != name));
        }
    }
}
