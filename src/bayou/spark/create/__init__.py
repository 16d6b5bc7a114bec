# SPDX-License-Identifier: Apache-2.0
"""CREATE and REPLACE TABLE without rows: the builder, the location, the catalog entry, the first commit.

Creating a table by writing rows is in `spark.write`.
"""
