# SPDX-License-Identifier: Apache-2.0
"""ALTER TABLE and related statements: properties, columns, constraints, protocol, features, TRUNCATE, SET LOCATION.

`protocol.evolution` decides what an alteration may do; `spark.sql` decodes the SQL.
"""
