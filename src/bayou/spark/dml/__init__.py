# SPDX-License-Identifier: Apache-2.0
"""Changes of rows: DELETE, UPDATE, MERGE, and overwrites that replace part of a table.

Whole-table writes are in `spark.write`; maintenance that changes no row is in `spark.maintenance`.
"""
