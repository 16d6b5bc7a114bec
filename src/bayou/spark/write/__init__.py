# SPDX-License-Identifier: Apache-2.0
"""The DataFrame write: append, overwrite, and create by writing.

`spark.data_files` writes the files. `spark.dml.replace` has the overwrites of matching rows.
"""
