# SPDX-License-Identifier: Apache-2.0
"""The parts of SQL text that each way of reading it returns: words, and the facts of an expression. Nothing here reads text."""
