# SPDX-License-Identifier: Apache-2.0
"""The native scan: any chosen files of a table as a relation, with deletion vectors, row ids and pruning.

This package resolves no versions and writes no files.
"""
