# SPDX-License-Identifier: Apache-2.0
"""Overwrites that replace part of a table: replaceWhere, replaceOn and replaceUsing.

Overwrites of a whole table or of dynamic partitions are in `spark.write`.
"""
