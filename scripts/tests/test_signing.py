# SPDX-License-Identifier: GPL-2.0
"""Signed modules, and a kernel that is locked down: what it refuses, and what is said about it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from guestlib import kernels
from guestlib.guest import Guest, kernel_release, new_results

SRC = Path("/src")
MODULE = SRC / "build/stock/ib_smi.ko"
TREE = kernels.folder() / "stock"
OVMF = Path("/usr/share/OVMF/OVMF_CODE_4M.secboot.fd")
MARK = b"~Module signature appended~\n"
SIGNER = "ib_smi modules of "

LOCKDOWN = "/sys/kernel/security/lockdown"


def run(*words, **options):
    """Runs a script of ours."""
    return subprocess.run([*map(str, words)], cwd=SRC, capture_output=True, text=True, check=False, **options)


@pytest.fixture(name="pair", scope="module")
def pair_fixture(tmp_path_factory):
    """A key and its certificate."""
    folder = tmp_path_factory.mktemp("signing")
    key, cert = folder / "key.pem", folder / "cert.der"
    done = run("make", "key", f"KEY={key}", f"CERT={cert}")
    assert done.returncode == 0, done.stderr
    assert f"mokutil --import {cert}" in done.stderr
    return key, cert


def test_the_key(pair):
    key, cert = pair
    assert key.stat().st_mode & 0o777 == 0o600
    text = run("openssl", "x509", "-inform", "DER", "-in", cert, "-noout", "-text").stdout
    # Of a module's key, in the kernel's Documentation/admin-guide/module-signing.rst and certs/default_x509.genkey.
    for words in ("CA:FALSE", "Digital Signature", "Code Signing", "Public-Key: (4096 bit)"):
        assert words in text
    assert SIGNER in text


def test_a_key_is_not_overwritten(pair):
    key, cert = pair
    before = key.read_bytes(), cert.read_bytes()
    done = run("make", "key", f"KEY={key}", f"CERT={cert}")
    assert done.returncode != 0
    assert "is there already" in done.stderr
    assert (key.read_bytes(), cert.read_bytes()) == before


def key_by(folder, **fakes):
    """Makes a key with fakes first in the path."""
    (folder / "bin").mkdir(exist_ok=True)
    for name, script in fakes.items():
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / "bin" / name).chmod(0o755)
    return run("scripts/key", folder / "key.pem", folder / "cert.der",
               env={**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"})


def test_the_key_of_a_host_with_a_long_name(tmp_path):
    # Linux takes 64 characters, and X.509 as many with what is before them.
    name = "a" * 45 + "b" + "c" * 18
    done = key_by(tmp_path, uname=f"echo {name}")
    assert done.returncode == 0, done.stderr
    text = run("openssl", "x509", "-inform", "DER", "-in", tmp_path / "cert.der", "-noout", "-subject").stdout
    assert text.strip().endswith(SIGNER + name[:46])


def test_nothing_is_left_of_a_key_that_could_not_be_made(tmp_path):
    done = key_by(tmp_path, openssl='echo ...+++; echo "no entropy" >&2; touch "$(dirname "$0")/../key.pem"; exit 1')
    assert done.returncode == 1 and "openssl made no key: no entropy\n" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["bin"]


@pytest.fixture(name="signed", scope="module")
def signed_fixture(pair, tmp_path_factory):
    """The module, signed."""
    module = tmp_path_factory.mktemp("signed") / "ib_smi.ko"
    shutil.copy(MODULE, module)
    done = run("scripts/sign", *pair, TREE, module)
    assert done.returncode == 0, done.stderr
    assert f"signed by '{SIGNER}" in done.stderr
    return module


def parts_of(signed):
    """What was signed, and the signature: `struct module_signature` stands before the mark."""
    data = signed.read_bytes()
    assert data.endswith(MARK)
    data = data[:-len(MARK)]
    length = int.from_bytes(data[-4:], "big")
    return data[:-12 - length], data[-12 - length:-12]


def test_the_signature(pair, signed, tmp_path):
    """It is of what was built, and openssl finds it good."""
    content, signature = parts_of(signed)
    assert content == MODULE.read_bytes()
    (tmp_path / "content").write_bytes(content)
    (tmp_path / "signature").write_bytes(signature)
    verify = ("openssl", "cms", "-verify", "-binary", "-inform", "DER", "-in", tmp_path / "signature", "-content",
              tmp_path / "content", "-certfile", pair[1], "-noverify", "-out", "/dev/null")
    done = run(*verify)
    assert done.returncode == 0, done.stderr
    (tmp_path / "content").write_bytes(content[:-1] + b"?")
    assert run(*verify).returncode != 0


def test_signed_again(pair, signed):
    """A signature is replaced, and not signed with the rest."""
    before = signed.read_bytes()
    assert run("scripts/sign", *pair, TREE, signed).returncode == 0
    assert signed.read_bytes() == before


def test_no_key():
    done = run("make", "sign", "KEY=/none/key.pem")
    assert done.returncode != 0
    assert "'make key'" in done.stderr


def tells(guest, command, *words):
    """Checks that a command fails, and what it says."""
    status, out, err = guest.run(command)
    assert status != 0, out
    for word in words:
        assert word in err, err


@pytest.fixture(name="loaded", scope="module")
def loaded_fixture(guest_stock, signed):
    """A guest with a fabric, the module loaded, and a signed one in /results that nobody knows the key of."""
    shutil.copy(signed, guest_stock.results / "signed.ko")
    guest_stock.check("modprobe ib_umad && insmod $MODULES/ibfabric.ko topology=pair && /src/scripts/load")
    return guest_stock


@pytest.fixture(name="integrity", scope="module")
def integrity_fixture(loaded):
    """The same, locked down by the level integrity: there is no way back."""
    loaded.check(f"echo integrity >{LOCKDOWN}")
    return loaded


# As the table in the user guide has it.
ALWAYS = (
    "smpquery -C hca0 -D nodeinfo 0,1",
    "grep hca0 /sys/kernel/debug/ib_smi/counters",
    "cat /sys/kernel/debug/ib_smi/hca0/1/decisions",
    "grep hca0 /sys/kernel/debug/ibfabric/nodes",
    "echo 1 >/sys/kernel/config/ibfabric/preset",
    "echo 'module ib_smi +p' >/proc/dynamic_debug/control",
    "echo 'module ib_smi -p' >/proc/dynamic_debug/control",
    "cat /sys/kernel/livepatch/ib_smi/enabled",
)
NOT_CONFIDENTIAL = (
    "echo 1 >/sys/kernel/tracing/events/ib_smi/enable",
    "cat /sys/kernel/tracing/trace",
    "echo 0 >/sys/kernel/tracing/events/ib_smi/enable",
    "echo 'p:probe ib_smi_handle_dr_smp_recv' >>/sys/kernel/tracing/kprobe_events",
    "echo -:probe >>/sys/kernel/tracing/kprobe_events",
)
NEVER = (
    "cat /sys/kernel/debug/ib_smi/ledger",
    "echo clear >/sys/kernel/debug/ib_smi/ledger",
    "echo x >/sys/kernel/debug/ibfabric/inject",
    "echo 'module ib_smi +p' >/sys/kernel/debug/dynamic_debug/control",
)


@pytest.mark.parametrize("command", ALWAYS + NOT_CONFIDENTIAL)
def test_with_integrity(integrity, command):
    integrity.check(command)


@pytest.mark.parametrize("command", NEVER)
def test_not_with_integrity(integrity, command):
    tells(integrity, command, "Operation not permitted")


@pytest.fixture(name="confidential", scope="module")
def confidential_fixture(integrity):
    """The same, locked down by the level confidentiality."""
    integrity.check(f"echo confidentiality >{LOCKDOWN}")
    return integrity


@pytest.mark.parametrize("command", ALWAYS)
def test_with_confidentiality(confidential, command):
    confidential.check(command)


@pytest.mark.parametrize("command", NOT_CONFIDENTIAL + NEVER)
def test_not_with_confidentiality(confidential, command):
    tells(confidential, command, "Operation not permitted")


def test_triage_with_confidentiality(confidential):
    tells(confidential, "/src/scripts/smi-triage -- true", "locked down (confidentiality)", "nothing can be traced")


@pytest.fixture(name="unloaded", scope="module")
def unloaded_fixture(confidential):
    """The same, after the module was unloaded, which works."""
    confidential.check("/src/scripts/unload")
    return confidential


def test_lockdown_wants_a_signature(unloaded):
    tells(unloaded, "/src/scripts/load", "locked down (confidentiality)", "this one is not signed", "'make KDIR=TREE sign'")
    tells(unloaded, "/src/scripts/load /results/signed.ko", "locked down (confidentiality)", f"does not know '{SIGNER}")
    tells(unloaded, "umount /sys/kernel/security; /src/scripts/load", "the kernel is locked down and takes only")


@pytest.fixture(name="enforced", scope="module")
def enforced_fixture(unloaded):
    """The same, as if it were booted with module.sig_enforce=1."""
    unloaded.check("echo 1 >/sys/module/module/parameters/sig_enforce")
    return unloaded


def test_enforcement_wants_a_signature(enforced):
    tells(enforced, "/src/scripts/load", "Key was rejected by service", "this one is not signed", "'make KDIR=TREE sign'")
    tells(enforced, "/src/scripts/load /results/signed.ko", "Key was rejected by service", f"does not know '{SIGNER}")


def test_no_more_modules(enforced):
    enforced.check("modprobe dummy && echo 1 >/proc/sys/kernel/modules_disabled")
    tells(enforced, "/src/scripts/load", "off until the next boot (kernel.modules_disabled)")


@pytest.fixture(name="firmware", scope="module")
def firmware_fixture(pair, tmp_path_factory):
    """What QEMU needs for a machine with UEFI that has the certificate in its db, and so trusts our key."""
    if not OVMF.exists():
        pytest.skip("there is no UEFI firmware in the sysroot: it is in the package ovmf")
    variables = tmp_path_factory.mktemp("firmware") / "variables"
    shutil.copy(OVMF.with_name("OVMF_VARS_4M.fd"), variables)
    qemu = ["-machine", "smm=on", "-global", "driver=cfi.pflash01,property=secure,value=on",
            "-drive", f"if=pflash,format=raw,unit=0,readonly=on,file={OVMF}",
            "-drive", f"if=pflash,format=raw,unit=1,file={variables}",
            # In the place of the kernel without an EFI stub, which boots faster.
            "-kernel", f"/usr/lib/modules/{kernel_release('stock')}/vmlinuz"]
    with Guest("stock", results=new_results("test_signing-enrol"), qemu=qemu) as guest:
        shutil.copy(pair[1], guest.results / "cert.der")
        guest.check("modprobe efivarfs && mount -t efivarfs none /sys/firmware/efi/efivars\n"
                    "python3 -B /src/scripts/tests/enrol.py /results/cert.der")
    return qemu


def test_a_signed_module_is_loaded_under_lockdown(pair, signed, firmware):
    with Guest("stock", results=new_results("test_signing-trusted"), qemu=firmware, append="lockdown=integrity") as guest:
        assert SIGNER in guest.check("cat /proc/keys")
        shutil.copy(signed, guest.results / "ib_smi.ko")
        shutil.copy(MODULE.with_name("ibfabric.ko"), guest.results / "ibfabric.ko")
        assert run("scripts/sign", *pair, TREE, guest.results / "ibfabric.ko").returncode == 0
        tells(guest, "/src/scripts/load", "locked down", "this one is not signed")
        guest.check("modprobe ib_umad && insmod /results/ibfabric.ko topology=pair && /src/scripts/load /results/ib_smi.ko\n"
                    "smpquery -C hca0 -D nodeinfo 0,1")
        # From outside of the tree, and a livepatch; but not E, without a signature.
        assert guest.check("cat /sys/module/ib_smi/taint") == "OK\n"
        guest.check("/src/scripts/unload")
