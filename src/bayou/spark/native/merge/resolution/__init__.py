# SPDX-License-Identifier: Apache-2.0
"""Resolve the names in the clauses of a MERGE by Spark's analyzer."""
