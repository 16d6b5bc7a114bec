# SPDX-License-Identifier: Apache-2.0
"""What a transaction collects before it commits: staged actions, the read set, and foreign files with their statistics.

Nothing here writes to the log or looks at other commits.
"""
