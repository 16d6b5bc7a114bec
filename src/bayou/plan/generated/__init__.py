# SPDX-License-Identifier: Apache-2.0
"""Filters on generated partition columns, derived from filters on the columns that they are generated from.

A rule belongs here only if it can never exclude a file that has a matching row; expressions not understood give no filter.
"""
