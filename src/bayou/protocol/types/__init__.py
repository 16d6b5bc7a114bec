# SPDX-License-Identifier: Apache-2.0
"""Schemas, types, partition values, and dates and timestamps, as the log stores them. Nothing here depends on the other folders."""
