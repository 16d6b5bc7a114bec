# SPDX-License-Identifier: Apache-2.0
"""The keys of other rows, which say what files of a table may hold: those of a MERGE's source, and those of subqueries."""
