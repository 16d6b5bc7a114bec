# SPDX-License-Identifier: Apache-2.0
"""Operations that only need the log: CREATE, CONVERT, CLONE, RESTORE, COMPUTE STATS, VACUUM and row id backfill.

Nothing here runs a Spark job; operations that read or write rows are in `spark`. Decisions are in `plan`.
"""
