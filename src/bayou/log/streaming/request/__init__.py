# SPDX-License-Identifier: Apache-2.0
"""What a stream was asked for: options, rate limits, session settings, path filter, and offsets as the checkpoint has them.

Nothing here reads the table's log.
"""
