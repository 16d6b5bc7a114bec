# SPDX-License-Identifier: Apache-2.0
"""Every way in from Spark: data source, catalog, parser and optimizer rule; and which function each statement calls.

A statement that changes a table is carried out in `alter`, `create`, `dml` or `write`, never here.
"""
