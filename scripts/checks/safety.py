# SPDX-License-Identifier: GPL-2.0
"""Checks that each `unsafe` block and impl has a `// SAFETY:` comment directly above it.

    python3 safety.py FILE...

Directly above means above the statement that the block is part of, with nothing between but
attributes.
"""

import re
import sys
from pathlib import Path

UNSAFE = re.compile(r"\bunsafe\s*\{|\bunsafe\s+impl\b")
COMMENT = re.compile(r"^\s*//")
ATTRIBUTE = re.compile(r"^\s*#!?\[")
# A line after which a new statement or item begins.
ENDS = re.compile(r"[;{}]\s*(//.*)?$")


def documented(lines, index):
    """Whether the statement that line `index` belongs to has the comment."""
    if "SAFETY:" in lines[index]:
        return True
    index -= 1
    while index >= 0:
        line = lines[index]
        if COMMENT.match(line):
            block = []
            while index >= 0 and COMMENT.match(lines[index]):
                block.append(lines[index])
                index -= 1
            return any("SAFETY:" in text for text in block)
        if not line.strip() or (ENDS.search(line) and not ATTRIBUTE.match(line)):
            return False
        index -= 1
    return False


def code(line):
    """A line without comments and strings, roughly."""
    return re.sub(r'"(\\.|[^"\\])*"', '""', line).partition("//")[0]


def main(names):
    """Prints the places that lack the comment, and returns how many."""
    missing = 0
    for name in names:
        lines = Path(name).read_text(encoding="utf-8").splitlines()
        for index, line in enumerate(lines):
            if UNSAFE.search(code(line)) and not documented(lines, index):
                print(f"{name}:{index + 1}: no SAFETY comment: {line.strip()}")
                missing += 1
    return missing


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
