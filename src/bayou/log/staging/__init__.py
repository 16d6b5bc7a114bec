# SPDX-License-Identifier: Apache-2.0
"""What a transaction has collected before it commits: staged actions, the read set, files of other writers with statistics.

Nothing here writes to the log or looks at other commits.
"""
