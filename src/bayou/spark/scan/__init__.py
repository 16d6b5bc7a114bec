# SPDX-License-Identifier: Apache-2.0
"""The native scan: any chosen files of a table as a relation, with deletion vectors, row ids and pruning.

Nothing here resolves a version or writes a file.
"""
