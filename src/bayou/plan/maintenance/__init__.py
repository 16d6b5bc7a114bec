# SPDX-License-Identifier: Apache-2.0
"""The decisions of maintenance operations, as values: what VACUUM may delete, what OPTIMIZE rewrites, how CONVERT reads folders.

Nothing here reads a log, lists a folder or starts a job.
"""
