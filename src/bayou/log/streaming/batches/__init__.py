# SPDX-License-Identifier: Apache-2.0
"""The files of one micro-batch: from the initial snapshot, from commits, or from the change data feed.

How much a batch may read is decided by `log.streaming.request`; nothing here keeps progress between batches.
"""
