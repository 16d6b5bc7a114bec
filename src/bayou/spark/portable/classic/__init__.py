# SPDX-License-Identifier: Apache-2.0
"""Names of Delta tables on classic sessions that are served by the documented functions of PySpark."""
