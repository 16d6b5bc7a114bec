# SPDX-License-Identifier: Apache-2.0
"""What the bytes of a Delta table mean: names, types and rules of the protocol. Standard library only."""
