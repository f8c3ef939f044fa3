# SPDX-License-Identifier: GPL-2.0
"""What a module's file says of itself: build ID and vermagic. Only what that needs is read."""

import struct

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
BUILD_ID = 3


def sections(data):
    """The sections of a 64-bit little-endian ELF file by name; none if it is something else."""
    try:
        header = HEADER.unpack_from(data)
        if header[0][:6] != b"\x7fELF\x02\x01":
            return {}
        start, size, count, names_at = header[6], header[11], header[12], header[13]
        entries = [SECTION.unpack_from(data, start + size * number) for number in range(count)]
        names = data[entries[names_at][4]:][:entries[names_at][5]]
        return {names[entry[0]:names.index(b"\0", entry[0])].decode(): data[entry[4]:entry[4] + entry[5]]
                for entry in entries}
    except (struct.error, IndexError, ValueError, OverflowError):
        return {}


def build_id(notes):
    """The build ID in a section of notes, in hexadecimal."""
    at = 0
    while notes is not None and at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from("<III", notes, at)
        name = at + 12
        value = name + (name_size + 3 & ~3)
        if kind == BUILD_ID and notes[name:name + 4] == b"GNU\0":
            return notes[value:value + size].hex()
        at = value + (size + 3 & ~3)
    return None


def information(data):
    """The module information in a file: {name: value}."""
    words = sections(data).get(".modinfo", b"").split(b"\0")
    return dict(word.decode(errors="replace").partition("=")[::2] for word in words if b"=" in word)
