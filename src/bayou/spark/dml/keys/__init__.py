# SPDX-License-Identifier: Apache-2.0
"""Prune files by keys: the values that a MERGE's source or a subquery compares with columns of the table."""
