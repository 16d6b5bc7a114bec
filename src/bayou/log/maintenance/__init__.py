# SPDX-License-Identifier: Apache-2.0
"""Upkeep of the log: expired files deleted, ranges of commits compacted, history truncated for DROP FEATURE.

Nothing here touches a data file or makes a new version of the table.
"""
