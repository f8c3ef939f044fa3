// SPDX-License-Identifier: GPL-2.0

//! A line of the input: the node, the port and the packet.

use std::fmt;

use dr::{
    Node,
    NodeKind, //
};

/// Bytes of an SMP.
const SMP_LEN: usize = 256;

/// The directed-route management class, in byte 1.
const DIRECTED_ROUTE: u8 = 0x81;

/// Which side of the node judges.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The SMP came in from the wire, by `in=`.
    Receive,
    /// The node itself sends it, by `out=`.
    Send,
}

impl Side {
    /// The field that names the port.
    const fn port_field(self) -> &'static str {
        match self {
            Self::Receive => "in",
            Self::Send => "out",
        }
    }
}

/// One SMP, and where it is judged.
pub struct Line {
    /// The node.
    pub node: Node,
    /// The port that it came in by, or that it is sent by.
    pub port: u8,
    /// The packet, in network byte order.
    pub packet: [u8; SMP_LEN],
}

/// What is wrong with a line, and what is expected.
pub enum Malformed<'a> {
    /// Not UTF-8.
    NotText,
    /// A `name=` that is not one of the three.
    UnknownField(&'a str, Side),
    /// The field, or its counterpart, is there already.
    Twice(&'a str),
    /// Not a decimal number in the range of the field.
    Number {
        /// The field as it stands.
        field: &'a str,
        /// The smallest number.
        min: u8,
        /// The largest number.
        max: u8,
    },
    /// The node or the port is not there.
    Missing(&'static str),
    /// Something else than a hex digit in the packet.
    NotHex(char),
    /// Too few or too many hex digits.
    Length(usize),
    /// Another management class.
    Class(u8),
}

impl fmt::Display for Malformed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NotText => write!(f, "not UTF-8; expected plain text"),
            Self::UnknownField(field, side) => {
                let port = side.port_field();
                write!(f, "unknown field {field:?}; expected sw=, ca= or {port}=")
            }
            Self::Twice(field) => {
                write!(
                    f,
                    "field {field:?} is one too many; expected one node, one port"
                )
            }
            Self::Number { field, min, max } => {
                write!(f, "bad number in {field:?}; expected {min} to {max}")
            }
            Self::Missing(what) => write!(f, "field missing; expected {what}"),
            Self::NotHex(found) => write!(f, "{found:?} is no hex digit; expected 0-9, a-f, A-F"),
            Self::Length(digits) => {
                let odd = if digits % 2 == 1 {
                    ", an odd number"
                } else {
                    ""
                };
                write!(
                    f,
                    "{digits} hex digits{odd}; expected {} of them",
                    2 * SMP_LEN
                )
            }
            Self::Class(class) => write!(
                f,
                "not a directed-route SMP: management class {class:#04x}; \
                 expected {DIRECTED_ROUTE:#04x}"
            ),
        }
    }
}

impl Line {
    /// Reads a line; `None` if there is nothing on it.
    pub fn parse(text: &[u8], side: Side) -> Result<Option<Self>, Malformed<'_>> {
        let text = text.split(|&byte| byte == b'#').next().unwrap_or_default();
        let text = std::str::from_utf8(text).map_err(|_| Malformed::NotText)?;

        let mut node = None;
        let mut port = None;
        let mut packet = [0; SMP_LEN];
        let mut digits = 0;
        let mut empty = true;
        for word in text.split_whitespace() {
            empty = false;
            match word.split_once('=') {
                None => digits = hex(word, &mut packet, digits)?,
                Some((name @ ("sw" | "ca"), number)) => {
                    let kind = match name {
                        "sw" => NodeKind::Switch,
                        _ => NodeKind::Ca,
                    };
                    let ports = decimal(word, number, 1, 254)?;
                    if node.replace(Node { kind, ports }).is_some() {
                        return Err(Malformed::Twice(word));
                    }
                }
                Some((name, number)) if name == side.port_field() => {
                    if port.replace((word, number)).is_some() {
                        return Err(Malformed::Twice(word));
                    }
                }
                Some(_) => return Err(Malformed::UnknownField(word, side)),
            }
        }
        if empty {
            return Ok(None);
        }

        let node = node.ok_or(Malformed::Missing("sw= or ca=, the node and its ports"))?;
        let (word, number) = port.ok_or(Malformed::Missing(match side {
            Side::Receive => "in=, the port that the SMP came in by",
            Side::Send => "out=, the port that the SMP is sent by",
        }))?;
        // A switch sends from port 0; nothing ever comes in there from the wire.
        let min = match (side, node.kind) {
            (Side::Send, NodeKind::Switch) => 0,
            _ => 1,
        };
        let port = decimal(word, number, min, node.ports)?;
        if digits != 2 * SMP_LEN {
            return Err(Malformed::Length(digits));
        }
        if packet[1] != DIRECTED_ROUTE {
            return Err(Malformed::Class(packet[1]));
        }
        Ok(Some(Self { node, port, packet }))
    }
}

/// The decimal `number` of the field `field`, from `min` to `max`.
fn decimal<'a>(field: &'a str, number: &str, min: u8, max: u8) -> Result<u8, Malformed<'a>> {
    let plain = number.bytes().all(|byte| byte.is_ascii_digit());
    match number.parse() {
        Ok(value) if plain && (min..=max).contains(&value) => Ok(value),
        _ => Err(Malformed::Number { field, min, max }),
    }
}

/// Adds the hex digits of `word` to the `digits` that the packet has; those beyond its end are
/// counted only.
fn hex<'a>(
    word: &'a str,
    packet: &mut [u8; SMP_LEN],
    mut digits: usize,
) -> Result<usize, Malformed<'a>> {
    for found in word.chars() {
        let value = match found {
            '0'..='9' => found as u8 - b'0',
            'a'..='f' => found as u8 - b'a' + 10,
            'A'..='F' => found as u8 - b'A' + 10,
            _ => return Err(Malformed::NotHex(found)),
        };
        if let Some(byte) = packet.get_mut(digits / 2) {
            *byte = (*byte << 4) | value;
        }
        digits += 1;
    }
    Ok(digits)
}
