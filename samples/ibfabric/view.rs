// SPDX-License-Identifier: GPL-2.0

//! Typed views of what is on the wire: named fields at fixed places, in network byte order.

/// Defines a structure of so many bytes with a getter and a setter for every field.
///
/// A field is a whole number at an offset (`u8`, `u16`, `u32` or `u64`, as in `u16(4)`), some bits of a
/// byte by offset, shift and how many (`bits(11, 3, 5)`), or bytes by offset and how many (`bytes(64,
/// 64)`). All places are constants, so that one that does not fit is an error of the compiler.
macro_rules! wire_view {
    (
        $(#[$meta:meta])*
        $name:ident[$size:literal] {
            $($(#[$field_meta:meta])* $field:ident, $set:ident: $kind:ident $args:tt;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        pub(crate) struct $name(pub(crate) [u8; $size]);

        #[expect(dead_code, reason = "a view has all fields, whoever uses them")]
        impl $name {
            /// All zero.
            pub(crate) const fn zeroed() -> Self {
                Self([0; $size])
            }

            $($crate::view::wire_view!(@field $(#[$field_meta])* $field, $set: $kind $args);)*
        }
    };
    (@field $(#[$meta:meta])* $field:ident, $set:ident: bits($at:literal, $shift:literal, $width:literal)) => {
        $(#[$meta])*
        pub(crate) const fn $field(&self) -> u8 {
            self.0[$at] >> $shift & ((1u16 << $width) - 1) as u8
        }

        $(#[$meta])*
        pub(crate) const fn $set(&mut self, value: u8) {
            const MASK: u8 = (((1u16 << $width) - 1) as u8) << $shift;
            self.0[$at] = self.0[$at] & !MASK | value << $shift & MASK;
        }
    };
    (@field $(#[$meta:meta])* $field:ident, $set:ident: bytes($at:literal, $len:literal)) => {
        $(#[$meta])*
        pub(crate) fn $field(&self) -> [u8; $len] {
            core::array::from_fn(|index| self.0[$at..$at + $len][index])
        }

        $(#[$meta])*
        pub(crate) fn $set(&mut self, value: &[u8; $len]) {
            self.0[$at..$at + $len].copy_from_slice(value);
        }
    };
    (@field $(#[$meta:meta])* $field:ident, $set:ident: $int:ident($at:literal)) => {
        $(#[$meta])*
        pub(crate) fn $field(&self) -> $int {
            const LEN: usize = size_of::<$int>();
            let mut bytes = [0; LEN];
            bytes.copy_from_slice(&self.0[$at..$at + LEN]);
            $int::from_be_bytes(bytes)
        }

        $(#[$meta])*
        pub(crate) fn $set(&mut self, value: $int) {
            const LEN: usize = size_of::<$int>();
            self.0[$at..$at + LEN].copy_from_slice(&value.to_be_bytes());
        }
    };
}

pub(crate) use wire_view;
