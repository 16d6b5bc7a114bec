# SPDX-License-Identifier: Apache-2.0
"""Read the statements that create, alter and describe tables.

A statement that is not certain to be valid raises UnreadableTextError, so that the server can report its syntax errors.
"""
