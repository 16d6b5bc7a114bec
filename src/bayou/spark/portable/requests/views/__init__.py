# SPDX-License-Identifier: Apache-2.0
"""Temporary views of rows that a client replaced."""
