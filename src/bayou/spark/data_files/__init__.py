# SPDX-License-Identifier: Apache-2.0
"""Rows to Parquet files: the request, the target, projection, row checks, the write job, footers to `add` actions, the commit.

Which rows are written is decided by the caller: `spark.write`, `spark.dml`, `spark.maintenance`, `spark.streaming`.
"""
