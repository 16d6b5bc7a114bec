# SPDX-License-Identifier: Apache-2.0
"""Read Delta Lake's statements in SQL, and carry them out on any session.

The packages `alter`, `create`, `dml` and `write` carry out the statements that change a table. `spark.native.sql` receives the
statements of a classic session, `spark.portable.commands` those of a Spark Connect session.
"""
