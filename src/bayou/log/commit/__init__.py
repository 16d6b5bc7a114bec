# SPDX-License-Identifier: Apache-2.0
"""Optimistic transactions: checks of the staged actions, attempts at the next version, the outcome, and hooks afterwards.

Nothing here knows which operation commits; whether another commit conflicts is decided in `log.conflict`.
"""
