# SPDX-License-Identifier: Apache-2.0
"""DELETE and UPDATE: entry points for Python and SQL, assignments, DEFAULT, and the execution of each.

Code that MERGE and overwrites also use is in `spark.dml.core`.
"""
