# SPDX-License-Identifier: Apache-2.0
"""Find the conditions that all rows of a table in a query satisfy, from which files are left out of the scan."""
