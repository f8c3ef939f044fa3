// SPDX-License-Identifier: GPL-2.0

//! Dynamic debug, from Rust: call sites that `/proc/dynamic_debug/control` and `dyndbg=` turn on.
//!
//! The kernel crate's `pr_debug!` is either compiled in or not. The sites made here are descriptors in
//! the module's `__dyndbg` section with a static key each, as those of C's `pr_debug()` are.
//!
//! C header: [`include/linux/dynamic_debug.h`](srctree/include/linux/dynamic_debug.h)

use kernel::{
    bindings,
    fmt,
    prelude::*,
    str::as_char_ptr_in_const_context,
    types::Opaque, //
};

/// One call site.
///
/// # Invariants
///
/// Every site is a `static` in the section `__dyndbg`, which the module loader hands to the dynamic
/// debug core before the module's code runs.
#[repr(transparent)]
pub(crate) struct Site(Opaque<bindings::_ddebug>);

// SAFETY: Only the dynamic debug core writes, under its own lock, and only flags and key.
unsafe impl Sync for Site {}

impl Site {
    /// Describes a site that is off. For [`dyn_debug!`](crate::dyn_debug) alone.
    pub(crate) const fn new(
        module: &'static CStr,
        function: &'static CStr,
        file: &'static CStr,
        format: &'static CStr,
        line: u32,
    ) -> Self {
        // The bit field is `lineno:18, class_id:6, flags:8`, least significant bits first.
        #[cfg(not(target_endian = "little"))]
        compile_error!(
            "the layout of the bit field in `struct _ddebug` is known for little endian"
        );
        assert!(line < 1 << 18, "the line number does not fit");
        let bits = line | bindings::_DPRINTK_CLASS_DFLT << 18;

        // INVARIANT: `dyn_debug!` puts the site into its section.
        Self(Opaque::new(bindings::_ddebug {
            modname: as_char_ptr_in_const_context(module),
            function: as_char_ptr_in_const_context(function),
            filename: as_char_ptr_in_const_context(file),
            format: as_char_ptr_in_const_context(format),
            _bitfield_align_1: [],
            _bitfield_1: bindings::__BindgenBitfieldUnit::new(bits.to_ne_bytes()),
            // A key that is off is all zeroes.
            #[cfg(CONFIG_JUMP_LABEL)]
            key: pin_init::zeroed(),
        }))
    }

    /// Prints, with what the flags ask for in front, and the stack behind if flag `d` asks for it.
    #[cold]
    #[inline(never)]
    pub(crate) fn print(&self, args: fmt::Arguments<'_>) {
        // SAFETY: The site is one of the module's by the type invariants, and `%pA` takes a pointer to
        // `fmt::Arguments`.
        unsafe {
            bindings::__dynamic_pr_debug(
                self.0.get(),
                c"ib_smi: %pA".as_char_ptr(),
                core::ptr::from_ref(&args).cast::<c_void>(),
            )
        };
        // SAFETY: By the type invariants. A race with a writer is as harmless as it is in C.
        let flags = unsafe { bindings::_ddebug::flags_raw(self.0.get()) };
        if flags & bindings::_DPRINTK_FLAGS_INCL_STACK != 0 {
            // SAFETY: Always safe to call.
            unsafe { bindings::dump_stack() };
        }
    }
}

/// Makes a C string of a literal that ends in a nul, when it is compiled.
pub(crate) const fn literal(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a nul inside"),
    }
}

/// `dyn_debug!(function: "format", arguments…)`: a debug message that can be turned on while the
/// module runs. Off, it is one nop, and its arguments are not evaluated.
///
/// The function is what the `func` query and flag `f` show; Rust has no `__func__`.
#[macro_export]
macro_rules! dyn_debug {
    ($function:ident : $format:tt $($rest:tt)*) => {{
        #[cfg(CONFIG_DYNAMIC_DEBUG_CORE)]
        {
            #[link_section = "__dyndbg"]
            static SITE: $crate::ib_smi::dyndbg::Site = $crate::ib_smi::dyndbg::Site::new(
                <$crate::LocalModule as ::kernel::ModuleMetadata>::NAME,
                $crate::ib_smi::dyndbg::literal(::core::concat!(::core::stringify!($function), "\0")),
                $crate::ib_smi::dyndbg::literal(::core::concat!(::core::file!(), "\0")),
                $crate::ib_smi::dyndbg::literal(::core::concat!($format, "\0")),
                ::core::line!(),
            );
            // SAFETY: `SITE` is a static whose key C can patch, and is off at first.
            let enabled = unsafe {
                ::kernel::jump_label::arch_static_branch!(
                    SITE,
                    ::kernel::bindings::_ddebug,
                    key,
                    false
                )
            };
            if enabled {
                SITE.print(::kernel::prelude::fmt!($format $($rest)*));
            }
        }
    }};
}
