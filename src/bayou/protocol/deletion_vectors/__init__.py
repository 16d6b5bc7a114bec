# SPDX-License-Identifier: Apache-2.0
"""Deletion vectors: the descriptor in the log, Z85, and 64-bit roaring bitmaps. The caller reads and writes the files."""
