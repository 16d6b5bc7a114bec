# SPDX-License-Identifier: Apache-2.0
"""Pure decisions as values: which files a predicate needs, what the log answers alone. No I/O, no Spark."""
