// SPDX-License-Identifier: GPL-2.0

//! The text in attributes, and what is said about text that is wrong.

use crate::words;
use kernel::{
    fmt,
    page::PAGE_SIZE,
    prelude::*,
    str::{
        BStr,
        CStr,
        Formatter, //
    }, //
};

/// Implements attributes of a directory: a number, how to show it and, if it can be written, how.
macro_rules! attributes {
    ($data:ty { $($id:literal: $show:expr $(, $store:expr)?;)* }) => {$(
        #[vtable]
        impl AttributeOperations<$id> for $data {
            type Data = $data;

            fn show(data: &$data, page: &mut [u8; PAGE_SIZE]) -> Result<usize> {
                $crate::config::text::show(page, |f| {
                    #[allow(clippy::redundant_closure_call)]
                    ($show)(data, f)
                })
            }

            $(fn store(data: &$data, page: &[u8]) -> Result {
                #[allow(clippy::redundant_closure_call)]
                ($store)(data, page)
            })?
        }
    )*};
}

pub(super) use attributes;

/// Shows a line.
pub(super) fn show(
    page: &mut [u8; PAGE_SIZE],
    write: impl FnOnce(&mut dyn fmt::Write) -> fmt::Result,
) -> Result<usize> {
    let mut f = Formatter::new(page);
    write(&mut f)
        .and_then(|()| fmt::Write::write_char(&mut f, '\n'))
        .map_err(|_| EMSGSIZE)?;
    Ok(f.bytes_written())
}

/// What was written, without the newline at its end.
pub(super) fn line(page: &[u8]) -> &[u8] {
    page.strip_suffix(b"\n").unwrap_or(page)
}

/// Reads a switch: 0 or 1.
pub(super) fn switch(page: &[u8]) -> Option<bool> {
    match line(page) {
        b"0" => Some(false),
        b"1" => Some(true),
        _ => None,
    }
}

/// Reads a number that fits; see [`words::number`].
pub(super) fn number<T: TryFrom<u64>>(page: &[u8]) -> Option<T> {
    words::number(line(page))
}

/// Reads the number of a port as it is usually written, so that there is one directory of a port at
/// most.
pub(super) fn port_number(name: &CStr) -> Option<u8> {
    let text = name.to_bytes();
    let plain = text.iter().all(u8::is_ascii_digit) && (text == b"0" || !text.starts_with(b"0"));
    number(text).filter(|_| plain)
}

/// Returns whether a text can name a node: as long as the RDMA core takes, nothing that needs quotes, and nothing
/// that a tool takes for an option, or `ib_smi` writes where there is no device.
pub(super) fn is_name(text: &[u8]) -> bool {
    /// `IB_DEVICE_NAME_MAX`, less the nul.
    const MAX: usize = 63;
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=MAX).contains(&text.len()) && text.iter().all(plain) && !text.starts_with(b"-")
}

/// Says that a text is not what `at` takes.
pub(super) fn refuse(at: fmt::Arguments<'_>, page: &[u8], can_be: &str) -> Error {
    /// No more than that is repeated.
    const SHOWN: usize = 64;
    let text = line(page);
    let text = text.get(..SHOWN).unwrap_or(text);
    pr_err!(
        "{}: '{}' is refused: it can be {}\n",
        at,
        BStr::from_bytes(text),
        can_be
    );
    EINVAL
}
