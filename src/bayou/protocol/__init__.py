# SPDX-License-Identifier: Apache-2.0
"""The formats and rules of PROTOCOL.md.

Standard library only: no I/O, no Arrow, no Spark.
"""
