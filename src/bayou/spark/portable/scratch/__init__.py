# SPDX-License-Identifier: Apache-2.0
"""Folders that client and server share, for lists of files: found, marked as in use, and deleted."""
