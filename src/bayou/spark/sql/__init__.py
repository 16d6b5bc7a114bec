# SPDX-License-Identifier: Apache-2.0
"""Receive statements from Spark: data source, catalog, parser, optimizer rule, and the handler of each statement.

The packages `alter`, `create`, `dml` and `write` carry out the statements that change a table.
"""
