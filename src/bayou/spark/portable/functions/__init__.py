# SPDX-License-Identifier: Apache-2.0
"""Functions of Delta Lake in place of tables in SQL queries, such as `table_changes`, and `(DESCRIBE HISTORY ...)`."""
