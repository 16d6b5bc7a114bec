# SPDX-License-Identifier: Apache-2.0
"""Create the relations of bayou's table functions."""
