# SPDX-License-Identifier: Apache-2.0
"""Maintenance of the log itself: cleanup of expired files, compaction of commits, manifests, history for DROP FEATURE.

Nothing here commits a new version. `log.operations` deletes data files.
"""
