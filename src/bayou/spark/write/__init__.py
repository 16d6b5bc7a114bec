# SPDX-License-Identifier: Apache-2.0
"""The DataFrame write: append, overwrite, create by writing, and two writers that create one table.

How rows become files is in `spark.data_files`; overwrites of matching rows are in `spark.dml.replace`.
"""
