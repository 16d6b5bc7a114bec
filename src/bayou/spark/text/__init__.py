# SPDX-License-Identifier: Apache-2.0
"""Represent what is found in SQL text: words, and the facts of an expression. Native and portable readers return the same."""
