# SPDX-License-Identifier: Apache-2.0
"""The change data feed of a range of versions: its bounds, its checks, and the files that hold the change rows.

Nothing here reads rows; `spark.read` turns the result into a plan.
"""
