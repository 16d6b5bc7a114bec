# SPDX-License-Identifier: Apache-2.0
"""What bayou keeps for one Spark application: open logs, stores, settings, progress, transactions of a session.

Nothing here is kept beyond the process, and nothing here reads or writes rows.
"""
