# SPDX-License-Identifier: Apache-2.0
"""Raise bayou's errors as PySpark exceptions, with the error classes and message parameters of delta-spark.

The errors themselves are defined in `bayou.errors`.
"""
