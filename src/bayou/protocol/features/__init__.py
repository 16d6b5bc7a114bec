# SPDX-License-Identifier: Apache-2.0
"""Table features, the protocol versions that a table needs, and type widening. `protocol.columns` has features of columns."""
