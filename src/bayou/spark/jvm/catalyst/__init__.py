# SPDX-License-Identifier: Apache-2.0
"""Expressions and plans as Catalyst nodes: built, taken apart, resolved; and rows written by Spark's own file writer.

Nothing here knows a log or a snapshot.
"""
