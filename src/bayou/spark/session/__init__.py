# SPDX-License-Identifier: Apache-2.0
"""What bayou keeps for one Spark application: open logs, stores, settings, progress, transactions of a session.

Nothing outlives the process, and this package reads and writes no rows.
"""
