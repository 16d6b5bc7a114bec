# SPDX-License-Identifier: Apache-2.0
"""SQL expressions of a table checked before Spark evaluates them, and Catalyst filters converted to predicates.

An expression that is not understood becomes `Unknown`; nothing here guesses what it means.
"""
