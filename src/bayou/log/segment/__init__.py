# SPDX-License-Identifier: Apache-2.0
"""The files of `_delta_log` that make up a version: listing, segment, commit times, time travel, history.

Nothing here computes the live files of the table; that is `log.snapshot`.
"""
