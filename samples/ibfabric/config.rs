// SPDX-License-Identifier: GPL-2.0

//! `/sys/kernel/config/ibfabric`: nodes and links that come and go.
//!
//! | Path                     | Meaning                                                              |
//! |--------------------------|----------------------------------------------------------------------|
//! | `nodes/NAME/`            | A node; see [`node`]. `mkdir` describes one, `live` builds it.       |
//! | `nodes/NAME/PORT/`       | A port of it that is special; see [`port`].                          |
//! | `links/NAME:P-NAME:P/`   | A link; see [`link`]. `mkdir` plugs it in, `rmdir` pulls it out.     |
//! | `faults/NAME/`           | What goes wrong in a node; see [`faults`].                           |
//! | `faults/NAME/PORT/`      | What goes wrong with what a port sends.                              |
//! | `preset`                 | Write 1: give LIDs, fill forwarding tables and activate all links,   |
//! |                          | once, as a subnet manager would. Reads 0.                            |
//!
//! What the module's parameters built is there too, without directories at first: `mkdir` takes it
//! over. The module stays as long as there are directories; there can be none before it is loaded.
//!
//! A write that makes no sense fails, changes nothing, and the kernel log says why.

mod faults;
mod link;
mod node;
mod port;
mod text;

use crate::{
    compat::configfs_attrs,
    configfs::FixedGroup,
    fabric::Fabric, //
};
use kernel::{
    configfs::{
        AttributeOperations,
        Group,
        Subsystem, //
    },
    fmt,
    page::PAGE_SIZE,
    prelude::*,
    str::CString,
    sync::{
        global_lock,
        Arc, //
    },
};

/// The top. It has no data, for before Linux 7.3 the `kernel` crate looks for that of a subsystem in the
/// wrong place; so [`SHOWN`] stands in for it.
struct Root;

global_lock! {
    // SAFETY: `Config::new` initialises it, before the directory is there.
    unsafe(uninit) static SHOWN: Mutex<Option<Arc<Fabric>>> = None;
}

/// Keeps the fabric in [`SHOWN`].
struct Shown;

impl Shown {
    /// From here on there may be directories, each of which needs the module to stay.
    fn new(fabric: Arc<Fabric>) -> Self {
        *SHOWN.lock() = Some(fabric);
        Self
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        let fabric = SHOWN.lock().take();
        drop(fabric);
    }
}

/// The fabric, once it is shown: what comes before that is refused, as loading the module may fail yet.
fn fabric() -> Result<Arc<Fabric>> {
    SHOWN.lock().clone().ok_or(ENODEV)
}

/// The directory. The groups in it go first.
pub(crate) struct Config {
    _nodes: FixedGroup<Root>,
    _links: FixedGroup<Root>,
    _faults: FixedGroup<Root>,
    _shown: Shown,
}

impl Config {
    /// Shows a fabric, to be changed.
    ///
    /// # Safety
    ///
    /// To be called once.
    pub(crate) unsafe fn new(fabric: Arc<Fabric>) -> Result<Self> {
        let top = configfs_attrs! {
            container: Subsystem<Root>,
            data: Root,
            attributes: [
                preset: 0,
            ],
        };
        // SAFETY: By the requirements.
        unsafe { SHOWN.init() };
        let root = Arc::pin_init(Subsystem::new(c"ibfabric", top, Ok(Root)), GFP_KERNEL)?;
        let (nodes, links, faults) = (node::Nodes, link::Links, faults::Faults);
        Ok(Self {
            _nodes: FixedGroup::new(
                root.clone(),
                Group::new(CString::try_from(c"nodes")?, nodes.item_type(), Ok(nodes)),
            )?,
            _links: FixedGroup::new(
                root.clone(),
                Group::new(CString::try_from(c"links")?, links.item_type(), Ok(links)),
            )?,
            _faults: FixedGroup::new(
                root,
                Group::new(
                    CString::try_from(c"faults")?,
                    faults.item_type(),
                    Ok(faults),
                ),
            )?,
            // Last, for nothing can fail behind it.
            _shown: Shown::new(fabric),
        })
    }
}

text::attributes! { Root {
    0: |_: &Root, f: &mut dyn fmt::Write| f.write_str("0"),
       |_: &Root, page: &[u8]| match text::switch(page) {
           Some(true) => fabric()?.preset(),
           _ => Err(text::refuse(fmt!("preset"), page, "1")),
       };
} }
