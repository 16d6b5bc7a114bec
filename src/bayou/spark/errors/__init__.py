# SPDX-License-Identifier: Apache-2.0
"""bayou's errors as PySpark exceptions, with the classes and message parameters of delta-spark.

No error is defined here; that is `bayou.errors`.
"""
