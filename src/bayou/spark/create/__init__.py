# SPDX-License-Identifier: Apache-2.0
"""CREATE and REPLACE TABLE without rows: the builder, the location, the catalog entry, the first commit.

`spark.write` creates tables by writing rows.
"""
