# SPDX-License-Identifier: Apache-2.0
"""Version checksums: computed from a snapshot or from the previous checksum and one commit, written, and compared.

Parsing a checksum file for a snapshot is in `log.snapshot`; nothing here may fail a commit.
"""
