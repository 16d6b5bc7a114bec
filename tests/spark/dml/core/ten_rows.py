# SPDX-License-Identifier: Apache-2.0
"""A table of ten rows, called `t`."""

from __future__ import annotations

import bayou

TEN = "select id, id v from range(0, 10, 1, 1)"
"""Ten rows in one file."""


def make(spark, path, **properties):
    bayou.write(spark.sql(TEN), path, **properties)
    return bayou.DeltaTable.forPath(spark, path).alias("t")
