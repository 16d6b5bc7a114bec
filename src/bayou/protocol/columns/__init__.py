# SPDX-License-Identifier: Apache-2.0
"""Features of columns: mapping, defaults, generated and identity columns, constraints, clustering. Only Spark evaluates SQL."""
