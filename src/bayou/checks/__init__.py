# SPDX-License-Identifier: Apache-2.0
"""The check of a table by any writer against PROTOCOL.md: the log as raw bytes, a table of rules, and a report."""
