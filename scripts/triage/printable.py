# SPDX-License-Identifier: GPL-2.0
"""Text of others' making, as it can be shown on a terminal."""

import contextlib
import io
import os
import sys


def printable(line):
    """The line with escapes in the place of what a terminal would act on: names of programs are anybody's choice."""
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() or char == "\t" else char.encode("unicode_escape").decode() for char in line)


def any_alphabet(stream):
    """Has a stream, if it is open, escape what its encoding lacks: arrows, and descriptions in other alphabets."""
    if stream is not None:
        stream.reconfigure(errors="backslashreplace")


def drop_output():
    """Lets what is left of the output go nowhere: whoever reads has seen enough, or has no room for it."""
    # It may be closed, or no file.
    with contextlib.suppress(AttributeError, io.UnsupportedOperation):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
