# SPDX-License-Identifier: Apache-2.0
"""Receive statements from Spark at each of its entry points: the data source, the catalog, the parser and the optimizer rule.

The packages `alter`, `create`, `dml` and `write` carry out the statements that change a table.
"""
