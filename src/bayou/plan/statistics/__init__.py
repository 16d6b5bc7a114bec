# SPDX-License-Identifier: Apache-2.0
"""File statistics as Arrow columns, one row per file, and what their bounds imply for one comparison.

Nothing here decides about a whole predicate; that is `plan.skipping` and `plan.proofs`.
"""
