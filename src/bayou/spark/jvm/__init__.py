# SPDX-License-Identifier: Apache-2.0
"""Contain all knowledge of Spark's internals: class names, constructors, py4j calls and the Java adapters.

No other package names a JVM class, and only `spark.native` uses this one. Nothing here decides what an operation does to a table.
"""
