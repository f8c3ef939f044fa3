# SPDX-License-Identifier: GPL-2.0
"""What a host is like as far as SMPs go: kernel, modules, livepatches, devices, tracing; and what is wrong.

Everything is read and nothing changed. What is not there, or not for this user, is left out and said.
"""
