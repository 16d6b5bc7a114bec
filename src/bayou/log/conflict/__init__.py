# SPDX-License-Identifier: Apache-2.0
"""Whether a commit may follow the winning commits: the rules for files and for rows, and the error that names the conflict.

Nothing here writes to the log or retries; `log.commit` does.
"""
