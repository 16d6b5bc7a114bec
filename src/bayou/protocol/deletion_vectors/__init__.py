# SPDX-License-Identifier: Apache-2.0
"""Deletion vectors as bytes: the descriptor in the log, Z85, and 64-bit roaring bitmaps of row positions.

Nothing here opens a file; the caller passes bytes.
"""
