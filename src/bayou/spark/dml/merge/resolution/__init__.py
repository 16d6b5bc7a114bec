# SPDX-License-Identifier: Apache-2.0
"""Check the clauses of a MERGE and resolve them against target and source, with schema evolution.

This package reads no rows and chooses no join.
"""
