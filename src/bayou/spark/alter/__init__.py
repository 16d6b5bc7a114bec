# SPDX-License-Identifier: Apache-2.0
"""ALTER TABLE and its relatives: properties, columns, constraints, protocol, features, TRUNCATE, SET LOCATION.

What a change is allowed to do is decided in `protocol.evolution`; SQL is decoded in `spark.sql`.
"""
