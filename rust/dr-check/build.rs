// SPDX-License-Identifier: GPL-2.0

//! Builds the kernel's `smi.c` for the comparison, if there is a kernel source tree.
//!
//! `IB_SMI_LINUX` names the tree. Without it the package builds as well, with the comparison left
//! out.

use std::env;
use std::path::{
    Path,
    PathBuf, //
};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=IB_SMI_LINUX");
    println!("cargo:rerun-if-env-changed=CC");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=mainline");
    println!("cargo:rustc-check-cfg=cfg(mainline)");

    let Some(linux) = env::var_os("IB_SMI_LINUX").filter(|linux| !linux.is_empty()) else {
        return;
    };
    let core = Path::new(&linux).join("drivers/infiniband/core");
    let smi = core.join("smi.c");
    assert!(
        smi.is_file(),
        "IB_SMI_LINUX: {} is missing; expected the root of a kernel source tree",
        smi.display()
    );
    println!("cargo:rerun-if-changed={}", smi.display());

    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    let archive = out.join("libmainline.a");
    let mut archiver = Command::new("ar");
    archiver.arg("rcs").arg(&archive);
    for (source, object) in [
        (smi.as_path(), "smi.o"),
        (Path::new("mainline/compose.c"), "compose.o"),
    ] {
        let object = out.join(object);
        let mut compiler = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
        compiler.args(["-O2", "-g", "-fPIC", "-std=gnu11", "-w", "-c"]);
        // As in the kernel's compiler attributes.
        compiler.arg("-D__packed=__attribute__((__packed__))");
        // Ours first: it stands in for one of the kernel's headers.
        compiler.args(["-I", "mainline/shim", "-I"]).arg(&core);
        compiler.arg("-I").arg(Path::new(&linux).join("include"));
        compiler.arg(source).arg("-o").arg(&object);
        run(compiler);
        archiver.arg(object);
    }
    // An old archive would keep members that are no longer made.
    let _ = std::fs::remove_file(&archive);
    run(archiver);
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=mainline");
    println!("cargo:rustc-cfg=mainline");
}

/// Runs `command`, which has to succeed.
fn run(mut command: Command) {
    let status = command
        .status()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}: {status}");
}
