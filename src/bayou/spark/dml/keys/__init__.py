# SPDX-License-Identifier: Apache-2.0
"""What all row changes share: choose files, find rows, mark or rewrite them, count them, commit.

Nothing here knows a clause of MERGE or the syntax of a statement.
"""
