# SPDX-License-Identifier: Apache-2.0
"""Compute changes of a table: schema evolution, ALTER TABLE, properties, dropped features. Nothing here commits."""
