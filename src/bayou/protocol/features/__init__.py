# SPDX-License-Identifier: Apache-2.0
"""The table of features, the protocol versions that a table needs, and the rules of features that have no folder of their own.

A fact about a feature is stated once, here; a rule about one column is in `protocol.columns`.
"""
