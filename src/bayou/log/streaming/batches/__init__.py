# SPDX-License-Identifier: Apache-2.0
"""The files of one micro-batch: from the initial snapshot, from commits, or from the change data feed.

`log.streaming.request` decides how much a batch may read; nothing here keeps progress between batches.
"""
