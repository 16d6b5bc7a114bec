# SPDX-License-Identifier: Apache-2.0
"""bayou's errors as PySpark exceptions, with the classes and message parameters of delta-spark.

The errors themselves are defined in `bayou.errors`.
"""
