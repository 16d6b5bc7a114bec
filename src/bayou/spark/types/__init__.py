# SPDX-License-Identifier: Apache-2.0
"""Schemas and types as Spark takes them, and rows aligned, cast and padded to a table's columns.

What a type means in the log is in `protocol.types`; nothing here runs a job.
"""
