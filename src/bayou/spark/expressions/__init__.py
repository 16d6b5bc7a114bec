# SPDX-License-Identifier: Apache-2.0
"""Check a table's SQL expressions before Spark evaluates them, and convert Catalyst filters to predicates.

An expression that is not understood becomes `Unknown`; this package never guesses what it means.
"""
