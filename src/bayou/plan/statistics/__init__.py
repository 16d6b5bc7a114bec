# SPDX-License-Identifier: Apache-2.0
"""File statistics as Arrow columns, one row for each file, and what their bounds say of one comparison.

Nothing here decides about a whole predicate; that is `plan.skipping` and `plan.proofs`.
"""
