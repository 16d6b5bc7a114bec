# SPDX-License-Identifier: Apache-2.0
"""Hold the state of bayou for one Spark application, and read the settings of its sessions.

The package contains the cache of open logs, log stores over Hadoop, the progress line, the handler of Ctrl-C, and transactions of a
session. Nothing outlives the process. No module here reads or writes rows of tables.
"""
