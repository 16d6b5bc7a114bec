# SPDX-License-Identifier: Apache-2.0
"""Stream from and to tables: the source that answers Spark's calls, and the sink that receives each batch."""
