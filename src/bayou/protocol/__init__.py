# SPDX-License-Identifier: Apache-2.0
"""What the bytes of a Delta table mean: names, types and rules of PROTOCOL.md.

Standard library only: no I/O, no Arrow, no Spark.
"""
