# SPDX-License-Identifier: Apache-2.0
"""What may change in a table and into what: schema merge on write, ALTER TABLE, properties, dropped features.

Nothing here commits; each function returns the new schema, metadata or protocol, or raises an error.
"""
