# SPDX-License-Identifier: Apache-2.0
"""Whether a schema is valid on its own: names, types, void and NOT NULL columns, reserved names, reads under an older schema.

What one schema may become is in `protocol.evolution`.
"""
