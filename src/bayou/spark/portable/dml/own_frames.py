# SPDX-License-Identifier: Apache-2.0
"""Let columns of the DataFrames that `DeltaTable.toDF` returned mean the columns of their table, in conditions and values.

A client names the DataFrame of a column by a number, and the server looks for a relation with this number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import Column
from pyspark.sql.connect import proto

from bayou.spark.portable.client import message_of, plan_of
from bayou.spark.portable.requests.frames import frame_of, relation_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from google.protobuf.message import Message
    from pyspark.sql import DataFrame

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
