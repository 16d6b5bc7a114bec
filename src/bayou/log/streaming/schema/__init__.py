# SPDX-License-Identifier: Apache-2.0
"""Schema changes under a running stream: detected, allowed or rejected, and recorded in the schema tracking log.

Nothing here writes to the table's own log.
"""
