# SPDX-License-Identifier: Apache-2.0
"""DELETE and UPDATE: which rows of which files they change, and how the table has it afterwards."""
