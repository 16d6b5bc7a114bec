# SPDX-License-Identifier: Apache-2.0
"""The statistics of a data file: which columns have them, and their JSON. `plan.statistics` has those of many files."""
