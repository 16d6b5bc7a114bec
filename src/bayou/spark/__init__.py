# SPDX-License-Identifier: Apache-2.0
"""bayou on Spark: reading, writing, row changes, statements and streams.

`enable` installs it on a session. Only this package, `table`, `as_delta` and `testing` import PySpark; what bytes mean and what
commits is not decided here.
"""
