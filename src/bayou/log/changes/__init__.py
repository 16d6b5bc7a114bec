# SPDX-License-Identifier: Apache-2.0
"""The change data feed of a range of versions: which versions, whether they can be read, and which files hold the rows.

Nothing here reads rows; `spark.read` turns the result into a plan.
"""
