# SPDX-License-Identifier: Apache-2.0
"""Statements that a classic session has resolved, with their expressions as nodes of Catalyst."""
