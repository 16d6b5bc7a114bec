# SPDX-License-Identifier: Apache-2.0
"""Call Spark's relations, catalog, parser, commands, streams and Hadoop file systems from Python.

Single expressions are in `spark.jvm.catalyst`. Nothing here reads a log.
"""
