# SPDX-License-Identifier: Apache-2.0
"""Provide the SQL functions that return tables: `table_changes`, `table_history`, `table_detail` and `table_files`."""
