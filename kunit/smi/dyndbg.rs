// SPDX-License-Identifier: GPL-2.0

//! Call sites of dynamic debug, as C reads them.

use crate::{
    bindings,
    compat::this_module,
    ib_smi::dyndbg::Site,
    table::{
        Row,
        Table,
        Test, //
    }, //
};
use kernel::{
    fmt,
    prelude::*,
    str::CStr, //
};

/// A site at a line.
pub(crate) struct Line(u32);

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.0)
    }
}

impl Row for Line {
    fn check(&self, test: &Test) -> Result {
        let site = Site::new(c"module", c"function", c"file", c"format\n", self.0);
        // SAFETY: A `Site` is a transparent wrapper. It is off, and only read.
        let read = unsafe { Read::new((&raw const site).cast()) };
        test.equal("line", read.line, self.0);
        test.equal("class", read.class, 63);
        test.equal("flags", read.flags, 0);
        test.equal("key", read.enabled, 0);
        let texts = [read.module, read.function, read.file, read.format];
        let expected = [c"module", c"function", c"file", c"format\n"];
        test.equal("texts", texts, expected);
        Ok(())
    }
}

/// What C reads in a descriptor.
struct Read<'a> {
    module: &'a CStr,
    function: &'a CStr,
    file: &'a CStr,
    format: &'a CStr,
    line: u32,
    class: u32,
    flags: u32,
    enabled: c_int,
}

impl<'a> Read<'a> {
    /// Reads a descriptor.
    ///
    /// # Safety
    ///
    /// It must be valid for `'a`, its texts too, and be switched by nobody meanwhile.
    unsafe fn new(site: *const bindings::_ddebug) -> Self {
        // SAFETY: By the safety requirements.
        let site = unsafe { &*site };
        // SAFETY: By the safety requirements.
        let text = |text| unsafe { CStr::from_char_ptr::<'a>(text) };
        Self {
            module: text(site.modname),
            function: text(site.function),
            file: text(site.filename),
            format: text(site.format),
            line: site.lineno(),
            class: site.class_id(),
            flags: site.flags(),
            #[cfg(CONFIG_JUMP_LABEL)]
            // SAFETY: The two keys of the union are the same structure.
            enabled: unsafe { site.key.dd_key_false.key.enabled.counter },
            #[cfg(not(CONFIG_JUMP_LABEL))]
            enabled: 0,
        }
    }
}

/// Lines that try all 18 bits.
pub(crate) struct Lines;

impl Table for Lines {
    type Row = Line;

    const ROWS: &'static [Line] = &[
        Line(0),
        Line(1),
        Line(0xff),
        Line(0x100),
        Line(0x1_5555),
        Line(0x2_aaaa),
        Line(0x3_ffff),
    ];
}

const _: () = assert!(Lines::ROWS.len() == 7);

/// A site in a room of this module, as the module loader has found it.
pub(crate) struct Place {
    function: &'static CStr,
    file: &'static str,
    format: &'static str,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)
    }
}

impl Row for Place {
    fn check(&self, test: &Test) -> Result {
        if !cfg!(CONFIG_DYNAMIC_DEBUG_CORE) {
            test.skip(fmt!("this kernel is without dynamic debug"));
            return Ok(());
        }
        let mut found = 0;
        let module = this_module::<crate::LocalModule>().as_ptr();
        // SAFETY: The module is alive, and what was found in it when it was loaded stays as it is.
        let (sites, count) =
            unsafe { ((*module).dyndbg_info.descs, (*module).dyndbg_info.num_descs) };
        for at in 0..usize::try_from(count)? {
            // SAFETY: There are that many, static in this module. Nobody switches them but a user who
            // would know.
            let read = unsafe { Read::new(sites.add(at)) };
            if !read.file.to_str().map_err(|_| EINVAL)?.ends_with(self.file) {
                continue;
            }
            found += 1;
            test.equal("module", read.module, c"kunit_smi");
            test.equal("function", read.function, self.function);
            let format = read.format.to_str().map_err(|_| EINVAL)?;
            test.equal("format", format.starts_with(self.format), true);
            test.equal("ends the line", format.ends_with('\n'), true);
            test.equal("class", read.class, 63);
            test.equal("line is known", read.line != 0, true);
        }
        test.equal("sites", found, 1);
        Ok(())
    }
}

/// The call sites of the rooms that are built in here.
pub(crate) struct Own;

#[rustfmt::skip]
impl Table for Own {
    type Row = Place;

    const ROWS: &'static [Place] = &[
        Place { function: c"tell", file: "ib_smi/arrival.rs", format: "recv" },
        Place { function: c"judge", file: "ib_smi/departure.rs", format: "send" },
    ];
}

const _: () = assert!(Own::ROWS.len() == 2);
