# SPDX-License-Identifier: Apache-2.0
"""MERGE: rows of a source update, delete and complete those of a table."""
