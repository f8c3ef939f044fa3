// SPDX-License-Identifier: GPL-2.0

//! To which datagrams the faults of a place happen.

use super::{
    words,
    Words, //
};
use crate::sma::smp::{
    Smp,
    CLASS_DIRECTED_ROUTE,
    CLASS_LID_ROUTED,
    METHOD_RESPONSE,
    STATUS_DIRECTION, //
};
use kernel::fmt;

/// The way of a datagram: by the D bit on a directed route, by the method otherwise.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Request,
    Response,
}

impl Way {
    /// That of a datagram.
    fn of(mad: &Smp) -> Self {
        let response = match mad.class() {
            CLASS_DIRECTED_ROUTE => mad.status() & STATUS_DIRECTION != 0,
            _ => mad.method() & METHOD_RESPONSE != 0,
        };
        if response {
            Self::Response
        } else {
            Self::Request
        }
    }

    /// As it is written.
    fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
        }
    }

    /// Reads one.
    fn parse(text: &[u8]) -> Option<Self> {
        [Self::Request, Self::Response]
            .into_iter()
            .find(|way| way.name().as_bytes() == text)
    }
}

/// A management class, or all but those of subnet management.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Number(u8),
    Gmp,
}

impl Class {
    /// Whether a datagram is of this class.
    fn has(self, mad: &Smp) -> bool {
        match self {
            Self::Number(number) => mad.class() == number,
            Self::Gmp => !matches!(mad.class(), CLASS_LID_ROUTED | CLASS_DIRECTED_ROUTE),
        }
    }
}

/// What has to be so; `None` is anything.
#[derive(Clone, Copy, Default)]
pub(crate) struct Filter {
    way: Option<Way>,
    class: Option<Class>,
    attribute: Option<u16>,
}

impl Filter {
    /// What can be written.
    pub(crate) const CAN_BE: &'static str =
        "all, or any of way=request|response, class=NUMBER|gmp and attr=NUMBER, each once";

    /// Reads one.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let mut words = Words::of(line);
        let mut filter = Self::default();
        if words.accept(b"all") {
            return words.is_empty().then_some(filter);
        }
        if words.is_empty() {
            return None;
        }
        for word in words {
            let (name, value) = words::pair(word, b'=')?;
            match name {
                b"way" if filter.way.is_none() => filter.way = Some(Way::parse(value)?),
                b"class" if filter.class.is_none() => {
                    filter.class = Some(match value {
                        b"gmp" => Class::Gmp,
                        _ => Class::Number(words::number(value)?),
                    });
                }
                b"attr" if filter.attribute.is_none() => {
                    filter.attribute = Some(words::number(value)?);
                }
                _ => return None,
            }
        }
        Some(filter)
    }

    /// Whether a datagram is meant.
    pub(super) fn matches(&self, mad: &Smp) -> bool {
        self.way.is_none_or(|way| way == Way::of(mad)) && self.matches_either_way(mad)
    }

    /// Whether a datagram is meant, or would be if it went the other way.
    pub(super) fn matches_either_way(&self, mad: &Smp) -> bool {
        self.class.is_none_or(|class| class.has(mad))
            && self
                .attribute
                .is_none_or(|attribute| attribute == mad.attribute())
    }
}

impl Filter {
    /// Writes it as it is read.
    pub(crate) fn show(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        let mut blank = "";
        if let Some(way) = self.way {
            write!(f, "way={}", way.name())?;
            blank = " ";
        }
        if let Some(class) = self.class {
            match class {
                Class::Number(number) => write!(f, "{blank}class={number:#04x}")?,
                Class::Gmp => write!(f, "{blank}class=gmp")?,
            }
            blank = " ";
        }
        if let Some(attribute) = self.attribute {
            write!(f, "{blank}attr={attribute:#06x}")?;
            blank = " ";
        }
        if blank.is_empty() {
            write!(f, "all")?;
        }
        Ok(())
    }
}
