# SPDX-License-Identifier: Apache-2.0
"""Pure decisions as values: which files may match, which match entirely, what the log answers without a job, row change plans.

No I/O, no Spark and no state: the same arguments always give the same answer.
"""
