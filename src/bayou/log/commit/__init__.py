# SPDX-License-Identifier: Apache-2.0
"""Optimistic transactions: checks of staged actions, attempts to commit the next version, the outcome, and post-commit hooks.

`log.conflict` decides whether another commit conflicts. Nothing here depends on the operation that commits.
"""
