# SPDX-License-Identifier: Apache-2.0
"""Errors of a classic session: failed calls into the JVM, and Python errors that pass through it."""
