# SPDX-License-Identifier: Apache-2.0
"""Prepare the source of a MERGE: materialise it if needed, count it, find its keys, keep the latest row for each key.

`target_rows` prunes the files of the target by these keys.
"""
