// SPDX-License-Identifier: GPL-2.0

//! The words of a line that somebody wrote.

use kernel::str::{
    parse_int::ParseInt,
    BStr, //
};

/// What is left of a line. Words are apart by blanks.
pub(crate) struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    /// Those of a line.
    pub(crate) fn of(line: &'a [u8]) -> Self {
        Self(line.trim_ascii())
    }

    /// The next word, which stays.
    pub(crate) fn peek(&self) -> Option<&'a [u8]> {
        let word = self.0.split(u8::is_ascii_whitespace).next()?;
        (!word.is_empty()).then_some(word)
    }

    /// Takes the next word if it is that one.
    pub(crate) fn accept(&mut self, word: &[u8]) -> bool {
        let found = self.peek() == Some(word);
        if found {
            self.next();
        }
        found
    }

    /// Takes the next word, which has to be a number.
    pub(crate) fn number<T: TryFrom<u64>>(&mut self) -> Option<T> {
        number(self.next()?)
    }

    /// Whether nothing is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let word = self.peek()?;
        let rest = self.0.get(word.len()..).unwrap_or_default();
        self.0 = rest.trim_ascii_start();
        Some(word)
    }
}

/// Reads a number that fits: decimal, with `0x` hexadecimal, and with just a `0` before it octal, as C has it.
pub(crate) fn number<T: TryFrom<u64>>(text: &[u8]) -> Option<T> {
    let number = u64::from_str(BStr::from_bytes(text)).ok()?;
    T::try_from(number).ok()
}

/// Reads `A` and `B` of a word `A=B`, or with another byte between them.
pub(crate) fn pair(word: &[u8], between: u8) -> Option<(&[u8], &[u8])> {
    let mut parts = word.splitn(2, |byte| *byte == between);
    Some((parts.next()?, parts.next()?))
}
