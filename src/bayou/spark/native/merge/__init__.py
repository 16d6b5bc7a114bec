# SPDX-License-Identifier: Apache-2.0
"""MERGE on a classic session: its clauses resolved by Spark, its source, its two passes, and its statements."""
