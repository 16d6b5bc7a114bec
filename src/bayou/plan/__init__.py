# SPDX-License-Identifier: Apache-2.0
"""Pure decisions as values: data skipping and its proofs, answers from the log without a job, plans of row changes.

No I/O, no Spark and no state: the same arguments always give the same answer.
"""
