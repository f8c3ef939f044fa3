// SPDX-License-Identifier: GPL-2.0

//! `links/NAME:PORT-NAME:PORT/`: a link.
//!
//! `mkdir` plugs a cable in between two ports of live nodes that have none yet, `rmdir` pulls it out.
//! A link that comes up takes both ports from Down to Initialize, for a subnet manager to do the rest;
//! one that goes down takes them to Down, and they keep polling.
//!
//! | Attribute | Values       | Default   | Meaning                                                   |
//! |-----------|--------------|-----------|-----------------------------------------------------------|
//! | `state`   | `up`, `down` | `up`      | Written: pulls the cable out, or plugs it in again. Read: whether the link carries anything, for which both ends have to be live and enabled. |
//! | `rate`    | `4x QDR`     | read only | Width and speed of the link, or `-`                       |

use super::text;
use crate::{
    compat::configfs_attrs,
    fabric::{
        End,
        Fabric, //
    },
    words, //
};
use kernel::{
    configfs::{
        AttributeOperations,
        Group,
        GroupOperations,
        ItemType, //
    },
    fmt,
    page::PAGE_SIZE,
    prelude::*,
    str::{
        CStr,
        CString, //
    },
    sync::Arc, //
};

/// `links/`.
pub(super) struct Links;

impl Links {
    /// What configfs has to know.
    pub(super) fn item_type(&self) -> &'static ItemType<Group<Self>, Self> {
        configfs_attrs! {
            container: Group<Links>,
            data: Links,
            child: LinkDir,
            attributes: [],
        }
    }
}

#[vtable]
impl GroupOperations for Links {
    type Child = LinkDir;

    fn make_group(&self, name: &CStr) -> Result<impl PinInit<Group<LinkDir>, Error>> {
        let item_type = configfs_attrs! {
            container: Group<LinkDir>,
            data: LinkDir,
            attributes: [
                state: 0,
                rate: 1,
            ],
        };
        let link = LinkDir::new(super::fabric()?, name)?;
        Ok(Group::new(name.try_into()?, item_type, link))
    }
}

/// `links/NAME:PORT-NAME:PORT/`. The cable is there as long as this.
pub(super) struct LinkDir {
    fabric: Arc<Fabric>,
    /// One end, by which the cable is known.
    end: End,
}

/// Makes an end of a cable from two words.
fn parse_end(name: &[u8], port: &[u8]) -> Result<Option<End>> {
    let digits = port.iter().all(u8::is_ascii_digit) && port.first() != Some(&b'0');
    match text::number(port) {
        Some(port) if digits && text::is_name(name) => {
            let name = core::str::from_utf8(name).map_err(|_| EINVAL)?;
            let name = CString::try_from_fmt(fmt!("{name}"))?;
            Ok(Some(End { name, port }))
        }
        _ => Ok(None),
    }
}

/// Takes the name of a link apart.
fn parse_ends(text: &[u8]) -> Result<Option<(End, End)>> {
    // A name may have a `-` in it, but no `:`, so that the first one ends it.
    let words = words::pair(text, b':').and_then(|(name_a, rest)| {
        let (port_a, rest) = words::pair(rest, b'-')?;
        let (name_b, port_b) = words::pair(rest, b':')?;
        Some([name_a, port_a, name_b, port_b])
    });
    let Some([name_a, port_a, name_b, port_b]) = words else {
        return Ok(None);
    };
    Ok(parse_end(name_a, port_a)?.zip(parse_end(name_b, port_b)?))
}

impl LinkDir {
    /// Plugs in the cable of that name, or takes it over. That is done when all memory is there, for the cable
    /// goes with the directory, and a link that was there before must not go because a directory cannot come.
    fn new(fabric: Arc<Fabric>, name: &CStr) -> Result<impl PinInit<Self, Error>> {
        let Some((a, b)) = parse_ends(name.to_bytes())? else {
            let can_be = "NODE:PORT-NODE:PORT, as in hca0:1-sw0:2";
            return Err(text::refuse(fmt!("links"), name.to_bytes(), can_be));
        };
        let end = End {
            name: CString::try_from(&*a.name)?,
            port: a.port,
        };
        Ok(try_init!(Self {
            end: {
                fabric.connect(a, b, true)?;
                end
            },
            fabric,
        }))
    }
}

impl Drop for LinkDir {
    fn drop(&mut self) {
        self.fabric.disconnect(&self.end);
    }
}

text::attributes! { LinkDir {
    0: |link: &LinkDir, f: &mut dyn fmt::Write| {
           let up = link.fabric.linked_port(&link.end).is_some();
           f.write_str(if up { "up" } else { "down" })
       },
       |link: &LinkDir, page| {
           let up = match text::line(page) {
               b"up" => true,
               b"down" => false,
               _ => return Err(text::refuse(fmt!("links, state of that at {}", link.end), page, "up or down")),
           };
           link.fabric.set_link(&link.end, up);
           Ok(())
       };
    1: |link: &LinkDir, f: &mut dyn fmt::Write| {
           let at = link.fabric.linked_port(&link.end);
           match at.as_ref().and_then(|at| at.port()) {
               Some(port) => {
                   let rate = port.config().active;
                   write!(f, "{} {}", rate.width.name(), rate.speed.name())
               }
               None => f.write_str("-"),
           }
       };
} }
