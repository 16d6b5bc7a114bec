# SPDX-License-Identifier: Apache-2.0
"""Functions that make tables: the change data feed, and what a log says of its table, wherever a query may name a table."""
