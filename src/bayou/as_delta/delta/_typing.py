# SPDX-License-Identifier: Apache-2.0
"""`delta._typing`: the types of delta-spark's arguments."""

from __future__ import annotations

from pyspark.sql import Column

ExpressionOrColumn = str | Column
OptionalExpressionOrColumn = str | Column | None
ColumnMapping = dict[str, ExpressionOrColumn]
OptionalColumnMapping = dict[str, ExpressionOrColumn] | None
