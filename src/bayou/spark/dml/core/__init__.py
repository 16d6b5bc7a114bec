# SPDX-License-Identifier: Apache-2.0
"""The steps that all row changes share: choose files, find rows, mark or rewrite them, count them, commit.

Clauses of MERGE and the syntax of statements are outside of this package.
"""
