# SPDX-License-Identifier: Apache-2.0
"""The DataFrames that a `DeltaTable` gives of itself: each a new one, all with the same ids of columns.

So `table.toDF().id` is a column of the table wherever `table` is asked for something, as with delta-spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.spark.jvm import merge as catalyst
from bayou.spark.jvm.row_changes import request_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from bayou.spark.application import Application
    from bayou.spark.jvm.bridge import JavaObject


class OwnFrames:
    """The plan of a table's DataFrames, for as long as the table has the same columns."""

    def __init__(self) -> None:
        self._plan: JavaObject | None = None

    @property
    def columns(self) -> JavaObject | None:
        """The columns of the DataFrames that were given last: a Scala `Seq`; None where none was."""
        return None if self._plan is None else self._plan.output()

    def same(self, application: Application, spark: SparkSession, frame: DataFrame) -> DataFrame:
        """A DataFrame of the table with the ids of those before, where it has the same columns; else itself.

        Args:
            application: the application.
            spark: the session.
            frame: a new DataFrame of the table.
        """
        plan, known = catalyst.plan_of(frame), self._plan
        request = request_of(plan)
        if request is None or known is None or request_of(known) != request or known.schema().json() != plan.schema().json():
            self._plan = plan
            return frame
        return catalyst.frame_of(application.jvm, spark, known)
