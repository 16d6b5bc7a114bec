# SPDX-License-Identifier: Apache-2.0
"""Statistics of one data file: which columns have them, and the JSON that the log holds.

Statistics of many files at once are in `plan.statistics`; nothing here reads a Parquet footer.
"""
