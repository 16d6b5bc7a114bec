# SPDX-License-Identifier: Apache-2.0
"""Spark's relations, catalog, parser, commands, streams and Hadoop file systems as Python calls them.

Single expressions are in `spark.jvm.catalyst`; nothing here reads a log.
"""
