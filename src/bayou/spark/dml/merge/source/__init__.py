# SPDX-License-Identifier: Apache-2.0
"""The source of a MERGE: evaluated once if needed, counted, its keys, the latest row for each key.

Which files of the target may match is decided in `target_rows`; nothing here changes rows.
"""
