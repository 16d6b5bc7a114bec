# SPDX-License-Identifier: Apache-2.0
"""Features that live on columns: mapping, defaults, generated and identity columns, constraints, clustering columns.

Nothing here evaluates an expression; that needs Spark.
"""
