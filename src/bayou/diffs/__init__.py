# SPDX-License-Identifier: Apache-2.0
"""The difference between two versions of a table, or between two tables."""
