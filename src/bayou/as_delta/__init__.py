# SPDX-License-Identifier: Apache-2.0
"""The replacement for delta-spark in programs and tests written for it: imports, session settings, package version, SQL.

What a table does is in `table` and `spark`; nothing here reads or writes one itself.
"""
