# SPDX-License-Identifier: Apache-2.0
"""Read tables: parse the options of a reader, and create relations and DataFrames of tables and of the change data feed.

`spark.scan` decides which files a query reads. This package commits nothing.
"""
