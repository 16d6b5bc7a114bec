# SPDX-License-Identifier: Apache-2.0
"""Commit the batches of a stream."""
