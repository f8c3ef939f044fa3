# SPDX-License-Identifier: GPL-2.0
"""The initramfs: busybox, the two scripts beside this file, and the modules that mount the sysroot."""

import hashlib
import lzma
import subprocess
from pathlib import Path

HERE = Path(__file__).parent

# What the guest needs before it can see the sysroot. Kernels that have one of them built in skip it.
MODULES = ["virtio_pci", "virtio_blk", "virtio_console", "ext4", "9pnet_virtio", "9p", "overlay", "configfs"]


def module_files(release):
    """The module files to load, in the order in which they depend on each other."""
    files = []
    for name in MODULES:
        shown = subprocess.run(
            ["modprobe", "-S", release, "--show-depends", name],
            capture_output=True, text=True, check=False,
        )
        for line in shown.stdout.splitlines():
            kind, _, rest = line.partition(" ")
            path = rest.split(" ")[0]
            if kind == "insmod" and path not in files:
                files.append(path)
    return files


def read_module(path):
    """A module's contents, decompressed so that the guest needs no decompressor."""
    data = Path(path).read_bytes()
    return lzma.decompress(data) if path.endswith(".xz") else data


def cpio(entries):
    """An archive in the `newc` format of (name, mode, contents) entries."""
    out = bytearray()
    for inode, (name, mode, data) in enumerate(entries + [("TRAILER!!!", 0, b"")], 1):
        fields = [inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
        out += b"070701" + b"".join(b"%08X" % field for field in fields)
        out += name.encode() + b"\0"
        out += b"\0" * (-len(out) % 4)
        out += data
        out += b"\0" * (-len(out) % 4)
    return bytes(out)


def build(release, cache):
    """Makes the initramfs for a kernel release, unless the cache has it, and returns its path."""
    scripts = {name: (HERE / name).read_bytes() for name in ("init", "agent")}
    files = module_files(release)
    key = hashlib.sha256()
    for data in (*scripts.values(), Path(__file__).read_bytes()):
        key.update(data)
    for path in files:
        stat = Path(path).stat()
        key.update(f"{path} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    image = Path(cache) / "initramfs" / f"{release}-{key.hexdigest()[:16]}.cpio"
    if image.exists():
        return image

    entries = [
        ("dev", 0o040755, b""),
        ("modules", 0o040755, b""),
        ("busybox", 0o100755, Path("/usr/bin/busybox").read_bytes()),
    ]
    entries += [(name, 0o100755, data) for name, data in scripts.items()]
    for number, path in enumerate(files):
        name = Path(path).name.removesuffix(".xz")
        entries.append((f"modules/{number:02}-{name}", 0o100644, read_module(path)))
    image.parent.mkdir(parents=True, exist_ok=True)
    for old in image.parent.glob(f"{release}-*"):
        old.unlink(missing_ok=True)
    partial = image.with_suffix(".new")
    partial.write_bytes(cpio(entries))
    partial.rename(image)
    return image
