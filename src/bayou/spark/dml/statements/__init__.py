# SPDX-License-Identifier: Apache-2.0
"""DELETE and UPDATE: entry points for Python and SQL, assignments, DEFAULT, and the execution of each.

What MERGE and overwrites need too is in `spark.dml.core`.
"""
