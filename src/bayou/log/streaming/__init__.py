# SPDX-License-Identifier: Apache-2.0
"""A table as a streaming source: where a stream starts, the next offset, and the files between two offsets.

Nothing here imports PySpark or reads rows; `spark.streaming` calls it.
"""
