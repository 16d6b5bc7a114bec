# SPDX-License-Identifier: Apache-2.0
"""The log engine: from the files of `_delta_log` to snapshots in Arrow, and back to commits. No Spark, no JVM."""
