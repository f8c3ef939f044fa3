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


BASH_SCRIPTS = sorted(path.name for path in SCRIPTS.iterdir() if path.is_file() and path.read_bytes().startswith(b"#!/bin/bash"))


@pytest.mark.parametrize("name", [name for name in BASH_SCRIPTS if name != "guest"])
def test_help(world, tmp_path, name):
    """It is the comment at the top, and nothing else is done."""
    for word in ("--help", "-h"):
        done = world(SCRIPTS / name, word, fake={"id": "exit 1", "rm": "exit 1", "apt-cache": "exit 1"})
        assert (done.returncode, done.stderr) == (0, "")
        comment = (SCRIPTS / name).read_text().split("\n#\n", 1)[1].split("\n\n", 1)[0]
        assert done.stdout.splitlines() == [line.removeprefix("#").removeprefix(" ") for line in comment.splitlines()]
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("name", ["distclean", "unload"])
def test_what_takes_no_argument_refuses_one(world, tmp_path, name):
    (tmp_path / "cache").mkdir()
    assert f"scripts/{name} takes no arguments" in message(world(SCRIPTS / name, "--dry-run"))
    assert (tmp_path / "cache").exists()


@pytest.mark.parametrize("words, says", [
    (["/src/README.md"], "'/src/README.md' is neither a module's file (.ko) nor PARAMETER=VALUE"),
    (["--force"], "'--force' is neither a module's file"),
    (["ledger=4", "on"], "'on' is neither a module's file"),
    (["/src/none.ko"], "there is no /src/none.ko"), (["/src/none.ko.xz"], "there is no /src/none.ko.xz")])
def test_what_cannot_be_loaded(world, words, says):
    assert says in message(world(SCRIPTS / "load", *words))


def test_a_blank_in_the_path(tmp_path):
    folder = tmp_path / "a b"
    folder.mkdir()
    (folder / "Makefile").write_text((SRC / "Makefile").read_text())
    done = subprocess.run(["make", "-C", folder, "help"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "has a blank in it, with which Kbuild cannot build: move it" in done.stderr


def test_ports_and_sizes_of_a_made_up_fabric():
    for words, says in (
            ("ring x", "'x' is no number"), ("torus 4xa", "'a' is no number"), ("ring 0", "this is 1 at least"),
            ("torus 1000x1000", "a subnet has 49151 LIDs for nodes"), ("hypercube 40 --hosts 0", "a subnet has 49151 LIDs"),
            ("fat-tree --levels 30 --radix 64", "a subnet has 49151 LIDs")):
        done = subprocess.run([SCRIPTS / "ibfabric", "gen", *words.split()], capture_output=True, text=True, check=False,
                              timeout=60)
        assert done.returncode in (1, 2) and says in done.stderr, (words, done.stderr)


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
        assert "1000 MB free, but 9000 MB are needed" in said
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

    OPTIONS = ("RUST", "LIVEPATCH", "INFINIBAND", "TRACEPOINTS", "CONFIGFS_FS")
    # As in drivers/infiniband/core of Linux 7.3.
    CORE = {
        "agent.h": "extern void agent_send_response(const struct ib_mad_hdr *mad_hdr);\n",
        "mad_priv.h": "",
        "mad.c": "static void local_completions(struct work_struct *work)\n",
        **{f"{prefix}smi.h": f"enum smi_action {prefix}smi_handle_dr_smp_recv(struct ib_smp *smp);\n"
           f"int {prefix}smi_get_fwd_port(struct ib_smp *smp);\n"
           f"extern enum smi_forward_action {prefix}smi_check_forward_dr_smp(struct ib_smp *smp);\n"
           f"extern enum smi_action {prefix}smi_handle_dr_smp_send(struct ib_smp *smp);\n" for prefix in ("", "opa_")},
    }

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
            "Makefile": "KERNELVERSION = 7.3.4\n",
            "scripts/mod/modpost": "",
            "include/config/kernel.release": "7.3.4-made-up\n",
            "include/config/auto.conf": "".join(f"CONFIG_{symbol}=y\n" for symbol in self.OPTIONS),
            "rust/libkernel.rmeta": "",
            **{f"drivers/infiniband/core/{name}": text for name, text in self.CORE.items()},
            "Module.symvers": "",
        }.items():
            path = tmp_path / "tree" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path / "tree"

    def test_good(self, world, tree):
        done = world(SCRIPTS / "kdir", tree)
        assert (done.returncode, done.stdout) == (0, "7.3.4-made-up\n"), done.stderr

    @pytest.mark.parametrize("symbol", OPTIONS)
    def test_missing_option(self, world, tree, symbol):
        config = tree / "include/config/auto.conf"
        config.write_text(re.sub(f"CONFIG_{symbol}=.\n", "", config.read_text()))
        assert f"CONFIG_{symbol} is not set" in self.said(world, tree)

    @pytest.mark.parametrize("name", [
        "rust/libkernel.rmeta", "Module.symvers",
        *(f"drivers/infiniband/core/{name}" for name in CORE if name.endswith(".h"))])
    def test_missing_file(self, world, tree, name):
        (tree / name).unlink()
        assert f"it lacks" in self.said(world, tree)
        assert name in self.said(world, tree)

    @pytest.mark.parametrize(("file", "function"), [
        ("smi.h", "smi_get_fwd_port"), ("opa_smi.h", "opa_smi_handle_dr_smp_send"), ("agent.h", "agent_send_response"),
        ("mad.c", "local_completions")])
    def test_missing_function(self, world, tree, file, function):
        path = tree / "drivers/infiniband/core" / file
        path.write_text(path.read_text().replace(f"{function}(", f"{function}_new("))
        assert f"no function {function}()" in self.said(world, tree)

    @pytest.mark.parametrize("release", ["6.12.118", "7.1.13", "7.2.0-rc1", "7.2.12", "7.10.1"])
    def test_too_old(self, world, tree, release):
        (tree / "include/config/kernel.release").write_text(f"{release}+deb13-amd64\n")
        done = world(SCRIPTS / "kdir", tree)
        if release in ("6.12.118", "7.1.13"):
            assert f"Linux {release}+deb13-amd64 is too old: the modules need 7.2" in message(done)
        else:
            assert done.stdout == f"{release}+deb13-amd64\n"

    def test_kbuild_asks_too(self, world, tree):
        """Whoever calls the kernel's make by himself gets the same message."""
        (tree / "Makefile").write_text("KERNELVERSION = 7.3.4\nCONFIG_KUNIT := n\n"
                                       f"src := {SRC}\nobjtree := {tree}\ninclude {SRC}/Kbuild\nmodules:\n")
        assert world("make", "-C", tree, "modules").returncode == 0
        (tree / "rust/libkernel.rmeta").unlink()
        said = message(world("make", "-C", tree, "modules"))
        assert "it lacks the Rust metadata (rust/libkernel.rmeta)" in said and "Stop." in said

    def test_another_compiler(self, world, tree):
        config = tree / "include/config/auto.conf"
        config.write_text(config.read_text() + 'CONFIG_RUSTC_VERSION_TEXT="rustc 1.2.3"\n')
        assert "prepared with 'rustc 1.2.3'" in self.said(world, tree)


class TestKernels:
    """scripts/kernel and scripts/pins."""

    @pytest.fixture
    def scripts(self, tmp_path):
        """Scripts of one's own, with a sysroot that is there, and with these pins."""
        folder = tmp_path / "checkout/scripts"
        folder.mkdir(parents=True)
        for name in ("kernel", "enter", "configs"):
            (folder / name).symlink_to(SCRIPTS / name)
        # By where this one is, they know which checkout is theirs.
        (folder / "lib.sh").write_text((SCRIPTS / "lib.sh").read_text())
        (folder / "sysroot").write_text("#!/bin/sh\n")
        (folder / "sysroot").chmod(0o755)
        (folder / "pins").write_text("suite=trixie\nstock=7.3.4+deb13-amd64\n")
        return folder

    def kernel(self, world, scripts, *words, **options):
        """Runs scripts/kernel where the archive has nothing."""
        fake = {"apt-get": "exit 0", "apt-cache": "exit 0", **options.pop("fake", {})}
        return world(scripts / "kernel", *words, fake=fake, IB_SMI_SYSROOT="1", **options)

    def test_a_line_is_a_kernel(self, world, scripts):
        assert "unknown kernel 'stock-7.2': there are stock builtin" in message(
            self.kernel(world, scripts, "stock-7.2"))
        with (scripts / "pins").open("a") as pins:
            pins.write("stock-7.2=7.2.12+deb13-amd64\n")
        # Now it is fetched; the archive is empty.
        said = message(self.kernel(world, scripts, "stock-7.2"))
        assert "neither the kernel 7.2.12+deb13-amd64 with its source nor one near it: set 'stock-7.2'" in said

    def test_no_option_is_a_name(self, world, scripts):
        for word in ("--version", "-v", "--"):
            assert f"unknown kernel '{word}'" in message(self.kernel(world, scripts, word))

    def test_two_of_a_series(self, world, scripts):
        with (scripts / "pins").open("a") as pins:
            pins.write("stock-new=7.3.5+deb13-amd64\n")
        assert "two kernels of the series 7.3" in message(self.kernel(world, scripts, "stock"))

    @pytest.fixture
    def fetched(self, tmp_path):
        """The folder of a kernel that was fetched."""
        for name, text in {"boot/vmlinux-stock": "", "linux-7.3/fetched.pin": "7.3.4+deb13-amd64",
                           "linux-7.3/source/Makefile": ""}.items():
            path = tmp_path / "cache" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path / "cache/linux-7.3"

    # Without PROVE_LOCKING, with PREEMPT_DYNAMIC that was not wanted, and with one processor too few.
    SPOILT = "/PROVE_LOCKING/d; s/PREEMPT_DYNAMIC=n/PREEMPT_DYNAMIC=y/; s/NR_CPUS=8/NR_CPUS=7/"

    @pytest.mark.parametrize(("spoil", "missed"), [
        ("", ""), (SPOILT, "CONFIG_NR_CPUS=8 CONFIG_PREEMPT_DYNAMIC=n CONFIG_PROVE_LOCKING=y")])
    def test_options_that_are_not_taken(self, world, scripts, fetched, spoil, missed):
        # The last of two lines counts; an option that is off has none, or a comment.
        folder = fetched / "debug"
        make = (f"tac {folder}/options | awk -F= '!seen[$1]++' | "
                f"sed '{spoil}; s/^\\(.*\\)=n$/# \\1 is not set/' >{folder}/.config")
        done = self.kernel(world, scripts, "--configure", "debug", fake={"make": make})
        if missed:
            assert f"does not take these options of scripts/configs, what they depend on is missing: {missed}\n" in (
                message(done))
            assert not (folder / "configured").exists()
        else:
            assert (done.returncode, "takes all options" in done.stderr) == (0, True), done.stderr


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
