# SPDX-License-Identifier: GPL-2.0
"""What the scripts say when they cannot work, with the world around them faked."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from guestlib import kernels

SRC = Path("/src")
SCRIPTS = SRC / "scripts"


@pytest.fixture
def world(tmp_path):
    """Runs a command with an empty cache and with fakes first in its path."""
    fakes = tmp_path / "bin"
    fakes.mkdir()

    def run(*command, fake=None, **environment):
        for name, script in (fake or {}).items():
            (fakes / name).write_text(f"#!/bin/sh\n{script}\n")
            (fakes / name).chmod(0o755)
        clean = {name: value for name, value in os.environ.items() if not name.startswith("IB_SMI")}
        return subprocess.run(
            [*map(str, command)], cwd=SRC, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
            env={**clean, "PATH": f"{fakes}:{clean['PATH']}", "IB_SMI_CACHE": str(tmp_path / "cache"), **environment},
        )

    return run


def message(done):
    """What a run that failed said, without times."""
    assert done.returncode != 0
    return re.sub(r"^\[ *\d+:\d+\] ", "", done.stderr, flags=re.MULTILINE)


class TestSysroot:
    """scripts/sysroot."""

    def test_not_root(self, world):
        said = message(world(SCRIPTS / "sysroot", fake={"id": "echo 1000"}, IB_SMI_GOAL="test"))
        assert said == (
            "error: this needs root: try 'sudo make test'\n"
        )

    def test_no_space(self, world):
        df = "echo 'Filesystem 1M-blocks Used Available'; echo '/dev/x 9000 8000 1000'"
        said = message(world(SCRIPTS / "sysroot", fake={"df": df}))
        assert "1000 MB free, but 6000 MB are needed" in said
        assert "IB_SMI_CACHE" in said

    def test_mirror_unreachable(self, world, tmp_path):
        failing = "echo 'E: Could not connect to 192.0.2.1:80, connection timed out'; exit 100"
        said = message(world(SCRIPTS / "sysroot", fake={"mmdebstrap": failing}))
        assert "the Debian archive cannot be reached" in said
        assert "IB_SMI_MIRROR" in said
        assert "Could not connect to 192.0.2.1" in said
        assert str(tmp_path / "cache/logs/sysroot.log") in said
        assert not (tmp_path / "cache/sysroot").exists()

    def test_stale_keyring(self, world):
        failing = "echo 'The following signatures could not be verified: NO_PUBKEY 0123'; exit 100"
        said = message(world(SCRIPTS / "sysroot", fake={"mmdebstrap": failing}))
        assert "debian-archive-keyring" in said

    def test_an_interrupted_run_is_redone(self, world, tmp_path):
        partial = tmp_path / "cache/sysroot.new"
        partial.mkdir(parents=True)
        (partial / "rest").touch()
        making = 'for dir; do :; done; mkdir -p "$dir/etc"; test ! -e "$dir/rest"'
        # The last argument is the folder, because no mirror is named.
        done = world(SCRIPTS / "sysroot", fake={"mmdebstrap": making})
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "cache/sysroot/etc/ib_smi.stamp").exists()
        assert not partial.exists()
        again = world(SCRIPTS / "sysroot", fake={"mmdebstrap": "exit 1"})
        assert (again.returncode, again.stderr) == (0, "")


    def test_a_signal_ends_all_of_it(self, world, tmp_path):
        mark = f"1000.{os.getpid()}"
        world("true", fake={"mmdebstrap": f"sleep {mark}"})
        environment = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "IB_SMI_CACHE": str(tmp_path / "cache")}

        def sleeping():
            return subprocess.run(["pgrep", "-f", f"^sleep {mark}"], stdout=subprocess.DEVNULL, check=False).returncode == 0

        with subprocess.Popen(["make", "modules"], cwd=SRC, env=environment, stderr=subprocess.DEVNULL) as process:
            wait_until(sleeping)
            process.send_signal(signal.SIGTERM)
        wait_until(lambda: not sleeping())


def wait_until(condition, seconds=20):
    """Waits until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


class TestKernelTree:
    """scripts/kdir, which `make KDIR=` asks first."""

    def said(self, world, tree):
        """What it says about a tree that is not good enough."""
        return message(world("make", f"KDIR={tree}"))

    def test_no_folder(self, world, tmp_path):
        assert "there is no such folder" in self.said(world, tmp_path / "none")

    def test_no_kernel_tree(self, world, tmp_path):
        assert "it is not a kernel tree" in self.said(world, tmp_path)

    def test_not_prepared(self, world):
        source = kernels.folder() / "source"
        assert "it is not prepared" in self.said(world, source)

    @pytest.fixture
    def tree(self, tmp_path):
        """A tree that looks prepared in everything but what a test takes away."""
        for name, text in {
            "Makefile": "KERNELVERSION = 7.3.4\nMO\n",
            "scripts/mod/modpost": "",
            "include/config/kernel.release": "7.3.4-made-up\n",
            "include/config/auto.conf": "CONFIG_RUST=y\nCONFIG_LIVEPATCH=y\nCONFIG_INFINIBAND=m\n",
            "rust/libkernel.rmeta": "",
            "drivers/infiniband/core/mad_priv.h": "",
            "Module.symvers": "",
        }.items():
            path = tmp_path / "tree" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path / "tree"

    def test_good(self, world, tree):
        done = world(SCRIPTS / "kdir", tree)
        assert (done.returncode, done.stdout) == (0, "7.3.4-made-up\n"), done.stderr

    @pytest.mark.parametrize("symbol", ["RUST", "LIVEPATCH", "INFINIBAND"])
    def test_missing_option(self, world, tree, symbol):
        config = tree / "include/config/auto.conf"
        config.write_text(re.sub(f"CONFIG_{symbol}=.\n", "", config.read_text()))
        assert f"CONFIG_{symbol} is not set" in self.said(world, tree)

    @pytest.mark.parametrize("name", ["rust/libkernel.rmeta", "drivers/infiniband/core/mad_priv.h", "Module.symvers"])
    def test_missing_file(self, world, tree, name):
        (tree / name).unlink()
        assert f"it lacks" in self.said(world, tree)
        assert name in self.said(world, tree)

    def test_too_old(self, world, tree):
        (tree / "Makefile").write_text("KERNELVERSION = 6.12.1\n")
        assert "too old" in self.said(world, tree)

    def test_another_compiler(self, world, tree):
        config = tree / "include/config/auto.conf"
        config.write_text(config.read_text() + 'CONFIG_RUSTC_VERSION_TEXT="rustc 1.2.3"\n')
        assert "prepared with 'rustc 1.2.3'" in self.said(world, tree)


class TestMake:
    """The front door."""

    def test_help_is_the_default(self, world):
        done = world("make")
        assert done.returncode == 0
        for target in ("demo", "test", "check", "shell", "modules", "load", "unload", "clean", "distclean", "dr-judge"):
            assert re.search(rf"^  {target} +\w", done.stdout, re.MULTILINE), target
        assert world("make", "help").stdout == done.stdout

    def test_needs_root(self, world):
        said = message(world("make", "test", fake={"id": "echo 1000"}))
        assert "try 'sudo make test'" in said

    def test_distclean_leaves_what_is_not_ours(self, world, tmp_path):
        cache = tmp_path / "cache"
        (cache / "sysroot/etc").mkdir(parents=True)
        (cache / "linux-7.3").mkdir()
        (cache / "letters").touch()
        done = world(SCRIPTS / "distclean")
        assert done.returncode == 0, done.stderr
        assert "removing" in done.stderr
        assert [path.name for path in cache.iterdir()] == ["letters"]


class TestCi:
    """.ci/run."""

    def test_adds_up(self, world):
        done = world(SRC / ".ci/run", fake={"make": "echo '3 passed, 0 failed, 1 skipped'"})
        assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "6 passed, 0 failed, 2 skipped")

    @pytest.mark.parametrize(("fake", "total"), [
        ("echo '3 passed, 2 failed, 1 skipped'; exit 1", "6 passed, 4 failed, 2 skipped"),
        ("echo 'no kernel'; exit 1", "0 passed, 2 failed, 0 skipped"),
        ("echo '3 passed, 0 failed, 0 skipped'; exit 1", "6 passed, 2 failed, 0 skipped"),
        ("exit 0", "0 passed, 2 failed, 0 skipped"),
    ])
    def test_failures(self, world, fake, total):
        done = world(SRC / ".ci/run", fake={"make": fake})
        assert done.returncode == 1
        assert done.stdout.splitlines()[-1] == total
