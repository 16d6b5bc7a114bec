# SPDX-License-Identifier: Apache-2.0
"""Upkeep of the log itself: expired files deleted, ranges of commits compacted, history truncated for DROP FEATURE.

Nothing here makes a new version of the table. Data files are deleted by `log.operations`.
"""
