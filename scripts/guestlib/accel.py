# SPDX-License-Identifier: GPL-2.0
"""Chooses between KVM and emulation.

On some hosts `/dev/kvm` opens and even creates a guest, which then dies of an internal error. So a
real kernel is booted once, and the answer kept for as long as the host runs.
"""

import os
import subprocess
from pathlib import Path

TCG = ["-accel", "tcg,thread=multi", "-cpu", "max"]
KVM = ["-accel", "kvm", "-cpu", "host"]
# One processor whose clock goes by instructions, a nanosecond each: the same in every run, however busy the host.
INSTRUCTIONS = ["-accel", "tcg,thread=single", "-cpu", "max", "-icount", "shift=0,sleep=off"]


def boots_with_kvm(vmlinux):
    """Whether a kernel gets as far as looking for its root under KVM."""
    command = [
        "qemu-system-x86_64", "-nodefaults", "-display", "none", "-machine", "q35", *KVM,
        "-m", "512M", "-no-reboot", "-kernel", str(vmlinux), "-serial", "stdio",
        "-append", "console=ttyS0 panic=-1 quiet",
    ]
    try:
        probe = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return b"Unable to mount root fs" in probe.stdout


def choose(vmlinux, cache, tell):
    """The QEMU options for the accelerator that works here."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return TCG
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    note = Path(cache) / "kvm-probe"
    known = note.read_text().split() if note.exists() else []
    if len(known) != 2 or known[0] != boot:
        works = boots_with_kvm(vmlinux)
        known = [boot, "works" if works else "broken"]
        note.write_text(" ".join(known) + "\n")
        tell("KVM works here: guests use it" if works else
             "/dev/kvm is there but cannot run a guest: guests are emulated, which is slower")
    return KVM if known[1] == "works" else TCG
