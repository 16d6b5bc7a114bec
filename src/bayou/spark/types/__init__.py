# SPDX-License-Identifier: Apache-2.0
"""Schemas and types as Spark takes them, and rows aligned, cast and padded to a table's columns.

`protocol.types` defines what a type means in the log. This package runs no job.
"""
