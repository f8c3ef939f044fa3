// SPDX-License-Identifier: GPL-2.0

//! KUnit suite of the rules: known SMPs at known nodes, and what is to become of them.

use kernel::prelude::*;

#[path = "../rust/dr/lib.rs"]
mod dr;
#[expect(dead_code)]
mod packet;
#[expect(dead_code)]
mod table;

mod rules {
    pub(crate) mod answer;
    pub(crate) mod case;

    pub(crate) mod bounds;
    pub(crate) mod receive;
    pub(crate) mod reply;
    pub(crate) mod send;
    pub(crate) mod vectors;
}

module! {
    type: KUnitRules,
    name: "kunit_rules",
    authors: ["ib_smi contributors"],
    description: "KUnit suite of the rules of directed-route SMPs",
    license: "GPL",
}

/// The module; its suite runs when it is loaded.
struct KUnitRules;

impl kernel::Module for KUnitRules {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        Ok(Self)
    }
}

suite!(ib_smi_rules:
    c"vectors" => rules::vectors::Vectors,
    c"receive" => rules::receive::Received,
    c"send" => rules::send::Sent,
    c"reply" => rules::reply::Replied,
    c"bounds" => rules::bounds::Bounds,
);
