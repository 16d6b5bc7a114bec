# SPDX-License-Identifier: Apache-2.0
"""Predicates over the columns of a table, literals, and how Arrow columns compare with constants in Spark's order.

Nothing here knows Catalyst, SQL text or statistics.
"""
