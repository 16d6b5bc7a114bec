# SPDX-License-Identifier: Apache-2.0
"""What bayou knows of Spark's internals: every class name, every constructor, every py4j call, and the Java adapters.

No other package names a JVM class; nothing here decides what an operation does to a table.
"""
