# SPDX-License-Identifier: Apache-2.0
"""DELETE and UPDATE on a session of Spark Connect: expressions as text or as columns of the client, and rows of chosen files."""
