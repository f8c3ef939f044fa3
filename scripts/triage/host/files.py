# SPDX-License-Identifier: GPL-2.0
"""The files and commands of a host. `root` is another folder for tests."""

import subprocess
from pathlib import Path


class Host:
    """A host, by its file system and its commands."""

    def __init__(self, root="/", run=None):
        self.root = Path(root)
        self.run = run or run_command
        # Files that are there and may not be read.
        self.refused = []

    def path(self, name):
        """A file of the host."""
        return self.root / name.lstrip("/")

    def exists(self, name):
        """Whether a file is there."""
        try:
            return self.path(name).exists()
        except PermissionError:
            return False

    def text(self, name):
        """What a file says; None if it is not there or may not be read."""
        data = self.data(name)
        return None if data is None else data.decode(errors="replace").strip()

    def data(self, name):
        """The bytes of a file, likewise."""
        try:
            return self.path(name).read_bytes()
        except PermissionError:
            self.refused.append(name)
        except OSError:
            # Gone, or of a device that does not tell.
            pass
        return None

    def names(self, name):
        """What is in a folder, in order; nothing if it is not there or may not be read."""
        try:
            return sorted(entry.name for entry in self.path(name).iterdir())
        except PermissionError:
            self.refused.append(name)
        except OSError:
            pass
        return []


def run_command(*words):
    """What a command prints; None if there is no such command or it fails."""
    try:
        done = subprocess.run(words, capture_output=True, encoding="utf-8", errors="replace", check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
