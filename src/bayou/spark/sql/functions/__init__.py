# SPDX-License-Identifier: Apache-2.0
"""Provide SQL functions that return tables: the change data feed and log rows, wherever a query may name a table."""
