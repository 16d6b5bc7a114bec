# SPDX-License-Identifier: Apache-2.0
"""Build, analyse and resolve expressions and plans as Catalyst nodes, and write rows with Spark's own file writer.

Nothing here knows a log or a snapshot.
"""
