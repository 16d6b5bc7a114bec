# SPDX-License-Identifier: Apache-2.0
"""Reads: the options of a reader, the relation or DataFrame for them, and the change data feed as a plan.

`spark.scan` decides which files a query reads. This package commits nothing.
"""
