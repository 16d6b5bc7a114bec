# SPDX-License-Identifier: Apache-2.0
"""MERGE: the builder, the two passes on the table, the check of their row counts, the commit.

Names and clauses are resolved in `resolution`; the source is prepared in `source`.
"""
