# SPDX-License-Identifier: Apache-2.0
"""Predicates over the columns of a table, literals, and comparisons of Arrow columns with constants in Spark's order.

Nothing here knows Catalyst, SQL text or statistics.
"""
