# SPDX-License-Identifier: Apache-2.0
"""Check whether a schema is valid: names, types, void and NOT NULL columns, reserved names, and reads with an older schema.

`protocol.evolution` checks changes of schemas.
"""
