# SPDX-License-Identifier: Apache-2.0
"""Reads: what a reader asked for, the relation or DataFrame for it, and the change data feed as a plan.

Which files a query reads is decided in `spark.scan`; nothing here commits.
"""
