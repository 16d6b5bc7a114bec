# SPDX-License-Identifier: Apache-2.0
"""bayou on Spark: the only room that imports PySpark."""
