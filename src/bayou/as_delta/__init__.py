# SPDX-License-Identifier: Apache-2.0
"""The replacement for delta-spark in programs written for it: imports, session settings, package version.

The operations on tables are in `table` and `spark`; this package reads and writes none.
"""
