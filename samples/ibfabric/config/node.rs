// SPDX-License-Identifier: GPL-2.0

//! `nodes/NAME/`: a node.
//!
//! NAME is the name of the device, up to 63 letters, digits, `_` and, but for the first, `-`. `mkdir` makes a description
//! to be filled in; `live` builds the node from it, or takes it away. While it is live the description
//! can only be read. `rmdir` takes the node away too. Links outlive their nodes: they carry nothing
//! until a node of that name is live again.
//!
//! | Attribute        | Values                                 | Default         | Meaning            |
//! |------------------|----------------------------------------|-----------------|--------------------|
//! | `type`           | `ca`, `switch`                         | `ca`            | Kind of the node   |
//! | `guid`           | 64 bits, not all 1; 0: chosen          | 0               | Node GUID, and of port 0 of a switch; ports of a CA have those after it, to which the same applies |
//! | `system_guid`    | 64 bits; 0: that of the node           | 0               | System image GUID  |
//! | `description`    | up to 64 bytes of UTF-8, one line      | `ibfabric NAME` | NodeDescription    |
//! | `ports`          | 1 to 254                               | 1               | External ports     |
//! | `enhanced_port0` | 0, 1                                   | 0               | Enhanced switch port 0; of a switch only |
//! | `vendor_id`      | 24 bits                                | 0x021bfa        | NodeInfo.VendorID  |
//! | `device_id`      | 16 bits                                | 1               | NodeInfo.DeviceID  |
//! | `width`          | `1x`, `2x`, `4x`, `8x`, `12x`          | `4x`            | Most lanes of a port |
//! | `speed`          | `SDR`, `DDR`, `QDR`, `FDR`, `EDR`, `HDR`, `NDR` | `QDR`  | Fastest speed of a lane: 2.5, 5, 10, 14, 25, 50, 100 Gbit/s |
//! | `opa`            | 0, 1                                   | 0               | Omni-Path's management datagrams besides InfiniBand's |
//! | `live`           | 0, 1                                   | 0               | Whether the node is there |

mod planned;

pub(super) use self::planned::{
    PlannedNode,
    State, //
};
use super::{
    port::PortDir,
    text, //
};
use crate::{
    compat::configfs_attrs,
    node::NodeSpec,
    provider::NodeType,
    rate::{
        Speed,
        Width, //
    }, //
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
    str::CStr,
    sync::Arc, //
};

/// `nodes/`.
pub(super) struct Nodes;

impl Nodes {
    /// What configfs has to know.
    pub(super) fn item_type(&self) -> &'static ItemType<Group<Self>, Self> {
        configfs_attrs! {
            container: Group<Nodes>,
            data: Nodes,
            child: NodeDir,
            attributes: [],
        }
    }
}

#[vtable]
impl GroupOperations for Nodes {
    type Child = NodeDir;

    fn make_group(&self, name: &CStr) -> Result<impl PinInit<Group<NodeDir>, Error>> {
        if !text::is_name(name.to_bytes()) {
            let can_be = "1 to 63 letters, digits, _ and, but for the first, -";
            return Err(text::refuse(fmt!("nodes"), name.to_bytes(), can_be));
        }
        let item_type = configfs_attrs! {
            container: Group<NodeDir>,
            data: NodeDir,
            child: PortDir,
            attributes: [
                type: 0,
                guid: 1,
                system_guid: 2,
                description: 3,
                ports: 4,
                enhanced_port0: 5,
                vendor_id: 6,
                device_id: 7,
                width: 8,
                speed: 9,
                opa: 10,
                live: 11,
            ],
        };
        let plan = PlannedNode::new(super::fabric()?, name)?;
        Ok(Group::new(name.try_into()?, item_type, NodeDir::new(plan)))
    }
}

/// `nodes/NAME/`.
pub(super) struct NodeDir(Arc<PlannedNode>);

impl NodeDir {
    /// The directory. A node is taken over when all memory is there: it goes with its directory, and must not go
    /// because a directory cannot come.
    fn new(plan: Arc<PlannedNode>) -> impl PinInit<Self, Error> {
        Ok(Self(plan)).pin_chain(|dir: Pin<&mut Self>| {
            dir.0.adopt();
            Ok(())
        })
    }
}

impl Drop for NodeDir {
    fn drop(&mut self) {
        // Never fails, as nothing is built.
        let _ = self.0.set_live(false);
    }
}

#[vtable]
impl GroupOperations for NodeDir {
    type Child = PortDir;

    fn make_group(&self, name: &CStr) -> Result<impl PinInit<Group<PortDir>, Error>> {
        let port = PortDir::new(self.0.clone(), name)?;
        Ok(Group::new(name.try_into()?, PortDir::item_type(), Ok(port)))
    }
}

impl NodeDir {
    /// Shows something of the description.
    fn show(
        &self,
        f: &mut dyn fmt::Write,
        write: impl FnOnce(&NodeSpec, &mut dyn fmt::Write) -> fmt::Result,
    ) -> fmt::Result {
        self.0.look(|state| write(&state.spec, f))
    }
}

/// The description as text, as far as it is.
fn write_desc(dir: &NodeDir, f: &mut dyn fmt::Write) -> fmt::Result {
    let desc = dir.0.look(|state| match &state.live {
        Some(node) => Some(node.desc()),
        None => state.spec.desc,
    });
    let desc = desc.as_ref().map_or(&b""[..], |desc| &desc[..]);
    let text = desc.split(|byte| *byte == 0).next().unwrap_or_default();
    f.write_str(core::str::from_utf8(text).unwrap_or_default())
}

/// Reads a description.
fn parse_desc(page: &[u8]) -> Option<[u8; 64]> {
    let text = core::str::from_utf8(text::line(page)).ok()?;
    if text.is_empty() || text.chars().any(char::is_control) {
        return None;
    }
    let mut desc = [0; 64];
    desc.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
    Some(desc)
}

/// Reads a GUID, of which 0 stands for none.
pub(super) fn parse_guid(page: &[u8]) -> Option<Option<u64>> {
    let guid = text::number::<u64>(page).filter(|guid| *guid != u64::MAX)?;
    Some((guid != 0).then_some(guid))
}

text::attributes! { NodeDir {
    0: |dir: &NodeDir, f| dir.show(f, |spec, f| f.write_str(match spec.node_type {
           NodeType::Ca => "ca",
           NodeType::Switch => "switch",
       })),
       |dir: &NodeDir, page| dir.0.change(fmt!("type"), page, "ca or switch", |spec, page| {
           spec.node_type = match text::line(page) {
               b"ca" => NodeType::Ca,
               b"switch" => NodeType::Switch,
               _ => return None,
           };
           Some(())
       });
    1: |dir: &NodeDir, f: &mut dyn fmt::Write| {
           let guid = dir.0.look(|state| match &state.live {
               Some(node) => node.guid,
               None => state.spec.guid.unwrap_or(0),
           });
           write!(f, "{guid:#018x}")
       },
       |dir: &NodeDir, page| dir.0.change(fmt!("guid"), page, GUID, |spec, page| {
           spec.guid = parse_guid(page)?;
           Some(())
       });
    2: |dir: &NodeDir, f| dir.show(f, |spec, f| {
           write!(f, "{:#018x}", spec.system_guid.unwrap_or(0))
       }),
       |dir: &NodeDir, page| dir.0.change(fmt!("system_guid"), page, GUID, |spec, page| {
           spec.system_guid = parse_guid(page)?;
           Some(())
       });
    3: write_desc,
       |dir: &NodeDir, page| {
           let can_be = "one line of UTF-8, 1 to 64 bytes";
           dir.0.change(fmt!("description"), page, can_be, |spec, page| {
               spec.desc = Some(parse_desc(page)?);
               Some(())
           })
       };
    4: |dir: &NodeDir, f| dir.show(f, |spec, f| write!(f, "{}", spec.ports)),
       |dir: &NodeDir, page| dir.0.change(fmt!("ports"), page, "1 to 254", |spec, page| {
           let ports = 1..=NodeSpec::MAX_PORTS;
           spec.ports = text::number(page).filter(|number| ports.contains(number))?;
           Some(())
       });
    5: |dir: &NodeDir, f| dir.show(f, |spec, f| write!(f, "{}", u8::from(spec.enhanced_port0))),
       |dir: &NodeDir, page| dir.0.change(fmt!("enhanced_port0"), page, "0 or 1", |spec, page| {
           spec.enhanced_port0 = text::switch(page)?;
           Some(())
       });
    6: |dir: &NodeDir, f| dir.show(f, |spec, f| write!(f, "{:#08x}", spec.vendor_id)),
       |dir: &NodeDir, page| dir.0.change(fmt!("vendor_id"), page, "24 bits", |spec, page| {
           spec.vendor_id = text::number(page).filter(|id| *id < 1 << 24)?;
           Some(())
       });
    7: |dir: &NodeDir, f| dir.show(f, |spec, f| write!(f, "{:#06x}", spec.device_id)),
       |dir: &NodeDir, page| dir.0.change(fmt!("device_id"), page, "16 bits", |spec, page| {
           spec.device_id = text::number(page)?;
           Some(())
       });
    8: |dir: &NodeDir, f| dir.show(f, |spec, f| f.write_str(spec.rate.width.name())),
       |dir: &NodeDir, page| dir.0.change(fmt!("width"), page, Width::NAMES, |spec, page| {
           spec.rate.width = Width::parse(text::line(page))?;
           Some(())
       });
    9: |dir: &NodeDir, f| dir.show(f, |spec, f| f.write_str(spec.rate.speed.name())),
       |dir: &NodeDir, page| dir.0.change(fmt!("speed"), page, Speed::NAMES, |spec, page| {
           spec.rate.speed = Speed::parse(text::line(page))?;
           Some(())
       });
    10: |dir: &NodeDir, f| dir.show(f, |spec, f| write!(f, "{}", u8::from(spec.opa))),
       |dir: &NodeDir, page| dir.0.change(fmt!("opa"), page, "0 or 1", |spec, page| {
           spec.opa = text::switch(page)?;
           Some(())
       });
    11: |dir: &NodeDir, f: &mut dyn fmt::Write| {
           write!(f, "{}", u8::from(dir.0.look(|state| state.live.is_some())))
       },
       |dir: &NodeDir, page| match text::switch(page) {
           Some(on) => dir.0.set_live(on),
           None => Err(text::refuse(fmt!("nodes/{}/live", dir.0.name()), page, "0 or 1")),
       };
} }

/// What a GUID can be.
pub(super) const GUID: &str = "64 bits that are not all 1, or 0 for the usual one";
