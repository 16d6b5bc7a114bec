# SPDX-License-Identifier: Apache-2.0
"""What maintenance does to which files, as values: what VACUUM may delete, which files OPTIMIZE joins, what RESTORE puts back.

Nothing here reads a log, lists a folder or starts a job.
"""
