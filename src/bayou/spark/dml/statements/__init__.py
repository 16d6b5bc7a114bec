# SPDX-License-Identifier: Apache-2.0
"""DELETE and UPDATE: the ways in from Python and SQL, assignments, DEFAULT, and how each is carried out.

What MERGE and overwrites need too is in `spark.dml.core`.
"""
