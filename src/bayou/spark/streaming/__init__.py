# SPDX-License-Identifier: Apache-2.0
"""Both ends of a stream on Spark: the source that answers Spark's calls, and the sink that commits each batch.

Which files a batch reads is decided in `log.streaming`.
"""
