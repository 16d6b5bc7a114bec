# SPDX-License-Identifier: Apache-2.0
"""The rows of a table as Arrow columns, read without Spark.

Nothing here reads the log: a snapshot says which files, deletion vectors and partition values there are.
"""
