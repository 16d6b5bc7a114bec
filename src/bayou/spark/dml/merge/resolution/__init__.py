# SPDX-License-Identifier: Apache-2.0
"""Check the clauses of a MERGE, and find the schema of the table after it.

This package reads no rows and chooses no join.
"""
