# SPDX-License-Identifier: Apache-2.0
"""Let columns of the DataFrames that `DeltaTable.toDF` returned mean the columns of their table, in conditions and values.

A client names the DataFrame of a column by a number, and the server looks for a relation with this number.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column
from pyspark.sql.connect import proto

from bayou.errors import failed
from bayou.spark.backend import is_of_connect
from bayou.spark.errors.error_classes import error_class_of
from bayou.spark.portable.client import message_of, plan_of
from bayou.spark.portable.requests.frames import frame_of, relation_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from google.protobuf.message import Message
    from pyspark.sql import DataFrame, SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.read.session_table import SessionTable


def numbers_of(target: SessionTable, snapshot: Snapshot, given: Iterable[Any]) -> tuple[int, ...]:
    """Return the numbers of the table's own DataFrames whose columns some expressions use."""
    if target.frames is None:
        return ()
    own = target.frames.numbers(snapshot.schema)
    messages = (message_of(each, target.spark) for each in given if isinstance(each, Column))
    used = {number for each in messages if each is not None for number in _numbers(each)}
    return tuple(sorted(own & used))


@contextmanager
def explaining_on_classic(spark: SparkSession, snapshot: Snapshot) -> Iterator[None]:
    """Let errors of Spark's analysis say what is not possible on a classic session.

    Raises:
        UnsupportedFeatureError: an expression uses a DataFrame's own columns, or a subquery names a table by path.
    """
    try:
        yield
    except AnalysisException as error:
        error_class, facts = str(error_class_of(error)), error.getMessageParameters() or {}
        if is_of_connect(spark):
            raise
        if error_class.startswith("MISSING_ATTRIBUTES"):
            columns = facts.get("missingAttributes", "")
            raise failed("DELTA_OPERATION_NOT_ALLOWED/documented-columns", at=snapshot, columns=columns) from None
        if error_class == "TABLE_OR_VIEW_NOT_FOUND" and facts.get("relationName", "").startswith("`delta`."):
            what = "A subquery that names a table by path in a condition or a value"
            instead = "a temporary view of the table in the subquery"
            raise failed("DELTA_OPERATION_NOT_ALLOWED/documented", at=snapshot, what=what, instead=instead) from None
        raise


def check_uses_table(condition: Any, source: DataFrame, snapshot: Snapshot) -> None:
    """Refuse a column as the condition of a MERGE if a classic session takes it for one on the source alone.

    A column of a DataFrame of the table is the source's column if the source is made of that DataFrame.

    Raises:
        UnsupportedFeatureError: the condition uses columns of the source only.
    """
    if is_of_connect(source) or isinstance(condition, str):
        return
    if _is_condition_on(source, condition) and not _is_condition_on(source.sparkSession.range(1).select(), condition):
        raise failed("DELTA_OPERATION_NOT_ALLOWED/documented-condition", at=snapshot, condition=str(condition))


def _is_condition_on(rows: DataFrame, condition: Column) -> bool:
    try:
        _ = rows.where(condition).schema
    except AnalysisException:
        return False
    return True


def numbered_as(frame: DataFrame, numbers: Iterable[int]) -> DataFrame:
    """Return rows whose columns are also those of the DataFrames with some numbers."""
    made = frame
    for number in numbers:
        relation: Any = proto.Relation()
        relation.project.input.CopyFrom(relation_of(made))
        relation.project.expressions.add().unresolved_star.SetInParent()
        relation.common.plan_id = number
        made = frame_of(frame.sparkSession, relation)
        plan_of(made).kept = frame  # what the rows need exists as long as this DataFrame
    return made


def _numbers(message: Message) -> Iterator[int]:
    if isinstance(message, proto.Expression.UnresolvedAttribute):
        if message.HasField("plan_id"):
            yield message.plan_id
        return
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in [value] if hasattr(value, "ListFields") else list(value):
                if hasattr(each, "ListFields"):
                    yield from _numbers(each)
