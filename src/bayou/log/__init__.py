# SPDX-License-Identifier: Apache-2.0
"""The log engine, from the files of `_delta_log` to snapshots in Arrow, and back to commits.

`delta_log` is where to begin. Nothing here imports PySpark, starts a JVM or reads the rows of a data file.
"""
