# SPDX-License-Identifier: Apache-2.0
"""A table as a streaming source: where a stream starts, the next offset, and which files lie between two offsets.

Nothing here imports PySpark or reads rows; `spark.streaming` calls it.
"""
