# SPDX-License-Identifier: Apache-2.0
"""MERGE: the builder, the two passes on the table, the check of their row counts, the commit.

`resolution` resolves names and clauses. `source` prepares the source.
"""
