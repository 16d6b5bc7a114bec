# SPDX-License-Identifier: Apache-2.0
"""MERGE: the builder, the run from its clauses to its commit, the check of its row counts.

`resolution` checks clauses. `spark.native.merge` and `spark.portable.merge` resolve names, prepare the source and join its
rows with the table's.
"""
