# SPDX-License-Identifier: Apache-2.0
"""Operations that need the log only and no rows: create a table, create one like another, add row ids to existing files.

Nothing here runs a Spark job; an operation that reads or writes rows is in `spark`.
"""
