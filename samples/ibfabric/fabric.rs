// SPDX-License-Identifier: GPL-2.0

//! The fabric: all nodes, their registrations with the RDMA core, and the cables between them.
//!
//! Nodes and cables come and go while packets are on their way: whoever holds a reference to a node
//! may go on using it, and finds its links gone and its queue pairs closed.

mod cable;
mod inner;

pub(crate) use self::cable::End;
use self::{
    cable::Cable,
    inner::{
        Inner,
        Member, //
    }, //
};
use crate::{
    capture::Capture,
    link::LinkLock,
    node::{
        Node,
        NodeSpec, //
    },
    params::Params,
    port::PortRef,
    provider::Registration,
    routing,
    topology::Plan, //
};
use kernel::{
    new_mutex,
    prelude::*,
    str::{
        CStr,
        CString, //
    },
    sync::{
        Arc,
        Mutex, //
    },
};

/// GUIDs that the fabric chooses begin with this: a locally administered OUI, as `node::VENDOR_ID`.
const GUID_BASE: u64 = 0x021b_fa00_0000_0000;

/// The low bits of a GUID that are for the ports of a node.
const GUID_PORT_BITS: u32 = 8;

/// All nodes, and the cables between them.
///
/// `inner` is taken before all other locks of the fabric but `presetting`, and not while a device is
/// unregistered.
#[pin_data(PinnedDrop)]
pub(crate) struct Fabric {
    /// What went over the wires last.
    pub(crate) capture: Arc<Capture>,
    links: Arc<LinkLock>,
    /// Held by who sets LIDs and forwarding tables.
    #[pin]
    presetting: Mutex<()>,
    #[pin]
    inner: Mutex<Inner>,
}

impl Fabric {
    /// Builds what is planned, with all links up and, if wanted, configured.
    pub(crate) fn build(plan: &Plan, params: &Params) -> Result<Arc<Self>> {
        let capture = Capture::new(params.capture.into())?;
        let links = LinkLock::new()?;
        let inner = Inner::new();
        let fabric = Arc::pin_init(
            pin_init!(Self {
                capture,
                links,
                presetting <- new_mutex!((), "ibfabric_preset"),
                inner <- new_mutex!(inner, "ibfabric"),
            }),
            GFP_KERNEL,
        )?;
        for spec in &plan.nodes {
            let mut node = spec.node();
            node.opa = params.opa;
            fabric.insert(&mut fabric.inner.lock(), &spec.name()?, &node)?;
        }
        for link in &plan.links {
            fabric.connect(plan.end(link.a)?, plan.end(link.b)?, false)?;
        }
        if params.preset {
            fabric.preset()?;
        }
        for member in &mut fabric.inner.lock().members {
            member.registration = Some(register(&member.node)?);
        }
        Ok(fabric)
    }

    /// All nodes that there are now.
    pub(crate) fn nodes(&self) -> Result<KVVec<Arc<Node>>> {
        let inner = self.inner.lock();
        let mut nodes = KVVec::with_capacity(inner.members.len(), GFP_KERNEL)?;
        for member in &inner.members {
            nodes.push(member.node.clone(), GFP_KERNEL)?;
        }
        Ok(nodes)
    }

    /// The node of that name.
    pub(crate) fn find(&self, name: &[u8]) -> Option<Arc<Node>> {
        self.inner.lock().find(name).cloned()
    }

    /// Whether that very node is there, and not another of the same name.
    pub(crate) fn has(&self, node: &Arc<Node>) -> bool {
        let inner = self.inner.lock();
        inner
            .members
            .iter()
            .any(|member| Arc::ptr_eq(&member.node, node))
    }

    /// Tells all cables: their ends, and whether they carry anything.
    pub(crate) fn each_cable<E>(
        &self,
        mut visit: impl FnMut(&End, &End, bool) -> Result<(), E>,
    ) -> Result<(), E> {
        for cable in &self.inner.lock().cables {
            let [a, b] = &cable.ends;
            visit(a, b, cable.is_up())?;
        }
        Ok(())
    }

    /// Makes a node, of which the core knows nothing yet.
    fn insert(&self, inner: &mut Inner, name: &CStr, spec: &NodeSpec) -> Result<Arc<Node>> {
        if inner.find(name.to_bytes()).is_some() {
            pr_err!("{}: there is a node of that name\n", name);
            return Err(EEXIST);
        }
        let serial = inner.serial.saturating_add(1);
        let chosen = GUID_BASE | serial.checked_shl(GUID_PORT_BITS).ok_or(EINVAL)?;
        let node = Node::new(
            CString::try_from(name)?,
            spec,
            spec.guid.unwrap_or(chosen),
            self.capture.clone(),
            self.links.clone(),
        )?;
        for member in &inner.members {
            if let Some(guid) = node.same_guid(&member.node) {
                let other = member.node.name();
                pr_err!(
                    "{}: GUID {:#018x} is that of {} already\n",
                    name,
                    guid,
                    other
                );
                return Err(EEXIST);
            }
        }
        inner.check_kind(&node)?;
        let member = Member {
            registration: None,
            node: node.clone(),
            owned: false,
        };
        inner.members.push(member, GFP_KERNEL)?;
        inner.serial = serial;
        Ok(node)
    }

    /// Adds a node, registers it and plugs in the cables that wait for it.
    pub(crate) fn add(&self, name: &CStr, spec: &NodeSpec) -> Result<Arc<Node>> {
        let mut inner = self.inner.lock();
        let node = self.insert(&mut inner, name, spec)?;
        let registration = register(&node);
        // `insert` put it there, and nobody else had the lock since.
        let Some(member) = inner.members.last_mut() else {
            return Err(EINVAL);
        };
        match registration {
            Ok(registration) => {
                member.registration = Some(registration);
                member.owned = true;
            }
            Err(error) => {
                inner.members.pop();
                return Err(error);
            }
        }
        self.settle(&mut inner);
        Ok(node)
    }

    /// The node of that name, for a new directory that shall stand for it from now on.
    pub(crate) fn adopt(&self, name: &CStr) -> Option<Arc<Node>> {
        let mut inner = self.inner.lock();
        let member = inner
            .members
            .iter_mut()
            .find(|member| !member.owned && member.node.name.to_bytes() == name.to_bytes())?;
        member.owned = true;
        Some(member.node.clone())
    }

    /// Removes a node: its links go down, then its device goes. Its cables wait for it to come back.
    pub(crate) fn remove(&self, node: &Arc<Node>) {
        let member = {
            let mut inner = self.inner.lock();
            let place = inner
                .members
                .iter()
                .position(|member| Arc::ptr_eq(&member.node, node));
            let Some(place) = place else { return };
            for cable in &mut inner.cables {
                if cable.is_plugged_into(node) {
                    cable.unplug(&self.links);
                }
            }
            inner.members.remove(place)
        };
        // Waits for all users of the device, for whom nothing here may be locked.
        drop(member);
    }

    /// Plugs in all cables that shall be and can be.
    fn settle(&self, inner: &mut Inner) {
        for place in 0..inner.cables.len() {
            let ports = match inner.cables.get(place) {
                Some(cable) if cable.wants_plug() => {
                    let [a, b] = &cable.ends;
                    inner.port(a).zip(inner.port(b))
                }
                _ => continue,
            };
            if let (Some((a, b)), Some(cable)) = (ports, inner.cables.get_mut(place)) {
                cable.plug(&self.links, a, b);
            }
        }
    }

    /// Connects two ports by a cable. One that the module's parameters made can be taken over.
    pub(crate) fn connect(&self, a: End, b: End, owned: bool) -> Result {
        let mut inner = self.inner.lock();
        if a == b {
            pr_err!("{}-{}: a port cannot be linked to itself\n", a, b);
            return Err(EINVAL);
        }
        for end in [&a, &b] {
            let Some(node) = inner.find(end.name.to_bytes()) else {
                pr_err!("{}-{}: there is no live node {}\n", a, b, &*end.name);
                return Err(ENODEV);
            };
            if node.external_port(end.port).is_none() {
                let ports = node.external_ports();
                pr_err!("{}-{}: {} has ports 1 to {}\n", a, b, &*end.name, ports);
                return Err(EINVAL);
            }
        }
        for end in [&a, &b] {
            let Some(cable) = inner.cable(end) else {
                continue;
            };
            if owned && !cable.owned && cable.has(&a) && cable.has(&b) {
                cable.owned = true;
                return Ok(());
            }
            pr_err!("{}-{}: port {} has a link already\n", a, b, end);
            return Err(EBUSY);
        }
        let cable = Cable::new(a, b, owned);
        let [a, b] = &cable.ends;
        if let Some(near) = inner.find(a.name.to_bytes()) {
            inner.check_kinds(&cable, near, b)?;
        }
        inner.cables.push(cable, GFP_KERNEL)?;
        self.settle(&mut inner);
        Ok(())
    }

    /// Pulls out the cable that has this end, and forgets it.
    pub(crate) fn disconnect(&self, end: &End) {
        let mut inner = self.inner.lock();
        if let Some(place) = inner.cables.iter().position(|cable| cable.has(end)) {
            if let Ok(mut cable) = inner.cables.remove(place) {
                cable.unplug(&self.links);
            }
        }
    }

    /// Takes the link of a cable down or up.
    pub(crate) fn set_link(&self, end: &End, up: bool) {
        let mut inner = self.inner.lock();
        let Some(cable) = inner.cable(end) else {
            return;
        };
        cable.wanted = up;
        if up {
            self.settle(&mut inner);
        } else {
            cable.unplug(&self.links);
        }
    }

    /// What the link of a cable does: the port at one end of it, if it carries anything.
    pub(crate) fn linked_port(&self, end: &End) -> Option<PortRef> {
        let mut inner = self.inner.lock();
        inner.cable(end).filter(|cable| cable.is_up())?;
        inner.port(end)
    }

    /// Disables a port, or enables it again.
    pub(crate) fn set_disabled(&self, at: &PortRef, disabled: bool) {
        self.links.set_disabled(at, disabled);
    }

    /// Does once what a subnet manager would: LIDs, forwarding tables, active links.
    pub(crate) fn preset(&self) -> Result {
        let _one_at_a_time = self.presetting.lock();
        routing::preset(&self.nodes()?)
    }
}

/// Registers a node with the core.
fn register(node: &Arc<Node>) -> Result<Registration<Node>> {
    Registration::new(node.clone(), &node.device_info()).inspect_err(|error| {
        pr_err!("cannot register {}: {:?}\n", node.name(), error);
    })
}

#[pinned_drop]
impl PinnedDrop for Fabric {
    fn drop(self: Pin<&mut Self>) {
        let mut inner = self.inner.lock();
        // Devices go first, while their links are up, for that is what users of them expect.
        for member in &mut inner.members {
            member.registration = None;
        }
        for cable in &mut inner.cables {
            cable.unplug(&self.links);
        }
    }
}
