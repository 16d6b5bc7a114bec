# SPDX-License-Identifier: Apache-2.0
"""The clauses of a MERGE: checked, resolved against target and source, with schema evolution.

Nothing here reads rows or chooses a join.
"""
