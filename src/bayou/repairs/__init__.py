# SPDX-License-Identifier: Apache-2.0
"""The repair of a table: a plan that follows from the findings of a check, and the steps that carry it out."""
