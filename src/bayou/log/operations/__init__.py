# SPDX-License-Identifier: Apache-2.0
"""Operations that move no row, from the log alone: create a table, create one like another, add row ids; VACUUM goes here.

Nothing here runs a Spark job; an operation that reads or writes rows is in `spark`. Decisions are in `plan`.
"""
