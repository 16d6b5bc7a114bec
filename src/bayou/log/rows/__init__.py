# SPDX-License-Identifier: Apache-2.0
"""Facts about single rows: deletion vectors read and written, rows that a commit deletes, row ids and commit versions.

Nothing here reads the values of a row or decides which rows to delete.
"""
