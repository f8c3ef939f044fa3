// SPDX-License-Identifier: GPL-2.0

//! How fast a link is: its width in lanes, and the speed of a lane.
//!
//! A port supports everything up to what it can do at most, and a link runs at the best that both of
//! its ends support. Speeds above QDR are "extended" ones, with fields of their own in PortInfo.

/// Width of a link, with the bits of `PortInfo.LinkWidthSupported`.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Width {
    /// One lane.
    X1 = 1,
    /// Four lanes.
    X4 = 2,
    /// Eight lanes.
    X8 = 4,
    /// Twelve lanes.
    X12 = 8,
    /// Two lanes.
    X2 = 16,
}

impl Width {
    /// All of them, the widest first.
    const ALL: [Self; 5] = [Self::X12, Self::X8, Self::X4, Self::X2, Self::X1];

    /// What can be written.
    pub(crate) const NAMES: &'static str = "1x, 2x, 4x, 8x or 12x";

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Width::X1 => "1x",
            Width::X2 => "2x",
            Width::X4 => "4x",
            Width::X8 => "8x",
            Width::X12 => "12x",
        }
    }

    /// The width of that name.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|width| width.name().as_bytes() == text)
    }

    /// The widest of a set of bits.
    pub(crate) fn widest(set: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|width| width.bit() & set != 0)
    }

    /// The bit of this width alone.
    pub(crate) fn bit(self) -> u8 {
        // CAST: An enumerator of an enum with that representation.
        self as u8
    }

    /// The bits of all widths that a port of this width supports.
    pub(crate) fn supported(self) -> u8 {
        match self {
            Width::X1 => 1,
            Width::X2 => 1 | 16,
            Width::X4 => 1 | 2,
            Width::X8 => 1 | 2 | 4,
            Width::X12 => 1 | 2 | 8,
        }
    }
}

/// Speed of a lane, slow to fast.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Speed {
    /// 2.5 Gbit/s.
    Sdr,
    /// 5 Gbit/s.
    Ddr,
    /// 10 Gbit/s.
    Qdr,
    /// 14 Gbit/s.
    Fdr,
    /// 25 Gbit/s.
    Edr,
    /// 50 Gbit/s.
    Hdr,
    /// 100 Gbit/s.
    Ndr,
}

impl Speed {
    /// All of them.
    const ALL: [Self; 7] = [
        Self::Sdr,
        Self::Ddr,
        Self::Qdr,
        Self::Fdr,
        Self::Edr,
        Self::Hdr,
        Self::Ndr,
    ];

    /// What can be written.
    pub(crate) const NAMES: &'static str = "SDR, DDR, QDR, FDR, EDR, HDR or NDR";

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Speed::Sdr => "SDR",
            Speed::Ddr => "DDR",
            Speed::Qdr => "QDR",
            Speed::Fdr => "FDR",
            Speed::Edr => "EDR",
            Speed::Hdr => "HDR",
            Speed::Ndr => "NDR",
        }
    }

    /// The speed of that name.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|speed| speed.name().as_bytes() == text)
    }

    /// The fastest of two sets of bits, of speeds and of extended ones.
    pub(crate) fn fastest(set: u8, extended: u8) -> Option<Self> {
        Self::ALL.into_iter().rev().find(|speed| {
            if speed.is_extended() {
                speed.extended_bit() & extended != 0
            } else {
                speed.bit() & set != 0
            }
        })
    }

    /// Whether it is an extended one.
    pub(crate) fn is_extended(self) -> bool {
        self > Speed::Qdr
    }

    /// `PortInfo.LinkSpeedActive`.
    pub(crate) fn bit(self) -> u8 {
        match self {
            Speed::Sdr => 1,
            Speed::Ddr => 2,
            // An extended speed counts as the fastest of the others.
            _ => 4,
        }
    }

    /// `PortInfo.LinkSpeedSupported`.
    pub(crate) fn supported(self) -> u8 {
        self.bit() | self.bit().saturating_sub(1)
    }

    /// `PortInfo.LinkSpeedExtActive`.
    pub(crate) fn extended_bit(self) -> u8 {
        match self {
            Speed::Sdr | Speed::Ddr | Speed::Qdr => 0,
            Speed::Fdr => 1,
            Speed::Edr => 2,
            Speed::Hdr => 4,
            Speed::Ndr => 8,
        }
    }

    /// `PortInfo.LinkSpeedExtSupported`.
    pub(crate) fn extended_supported(self) -> u8 {
        self.extended_bit() | self.extended_bit().saturating_sub(1)
    }

    /// The number that the RDMA core has for it.
    pub(crate) fn core_number(self) -> u16 {
        match self {
            Speed::Sdr => 1,
            Speed::Ddr => 2,
            Speed::Qdr => 4,
            Speed::Fdr => 16,
            Speed::Edr => 32,
            Speed::Hdr => 64,
            Speed::Ndr => 128,
        }
    }
}

/// Width and speed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rate {
    /// The width.
    pub(crate) width: Width,
    /// The speed of a lane.
    pub(crate) speed: Speed,
}

impl Rate {
    /// What a port can do unless told: 40 Gbit/s.
    pub(crate) const DEFAULT: Self = Self {
        width: Width::X4,
        speed: Speed::Qdr,
    };
}
