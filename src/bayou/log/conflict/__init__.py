# SPDX-License-Identifier: Apache-2.0
"""Whether a commit may follow the commits that won: the rules for files and for rows, and the error that names the conflict.

Nothing here writes to the log or tries again; `log.commit` does.
"""
