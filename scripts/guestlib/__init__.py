# SPDX-License-Identifier: GPL-2.0
"""Guests under QEMU: `python3 -m guestlib` is scripts/guest, `guestlib.guest` is for the tests."""
