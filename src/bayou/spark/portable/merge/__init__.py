# SPDX-License-Identifier: Apache-2.0
"""MERGE on a session of Spark Connect: one join for each kind of rows, so that the server resolves names against the right side."""
