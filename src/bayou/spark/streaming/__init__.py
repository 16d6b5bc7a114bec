# SPDX-License-Identifier: Apache-2.0
"""Stream from and to tables: the source that answers Spark's calls, and the sink that commits each batch.

`log.streaming` decides which files a batch reads.
"""
