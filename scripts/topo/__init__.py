# SPDX-License-Identifier: GPL-2.0
"""Descriptions of InfiniBand fabrics: read from files or generated, checked, and put into ibfabric."""
