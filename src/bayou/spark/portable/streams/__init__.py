# SPDX-License-Identifier: Apache-2.0
"""Streams into Delta tables on Spark Connect: each micro-batch is written by a Python function that the server runs."""
