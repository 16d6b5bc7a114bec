# SPDX-License-Identifier: Apache-2.0
"""The request of a stream: its options, rate limits, session settings, path filter, and offsets as the checkpoint has them.

Nothing here reads the table's log.
"""
