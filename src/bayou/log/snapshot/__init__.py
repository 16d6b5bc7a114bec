# SPDX-License-Identifier: Apache-2.0
"""The table at one version as an immutable value: action reconciliation, live files, their statistics and partition values.

Nothing here writes, and nothing reads the file list before it is needed.
"""
