# SPDX-License-Identifier: Apache-2.0
"""The table whose rows a statement changes, and the columns of it that statements are resolved against."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column

from bayou.errors import SchemaChangedError, UnsupportedFeatureError
from bayou.protocol.types.schema import schema_to_json
from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.core.callbacks import error_class_of
from bayou.spark.jvm.relations.plans import id_of
from bayou.spark.scan.scan import is_file_metadata
from bayou.spark.types.readable_types import check_types
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from bayou.log.delta_log import DeltaLog
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import StructType
    from bayou.spark.dml.core.own_frames import OwnFrames
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application


@dataclass(frozen=True, slots=True)
class Target:
    """The table that rows of are changed.

    Attributes:
        application: the Spark application.
        spark: the session.
        log: the table's log.
        storage_options: options for the file system.
        frames: the DataFrames that the user has of it from `DeltaTable.toDF`; None for none.
    """

    application: Application
    spark: SparkSession
    log: DeltaLog
    storage_options: Mapping[str, str] = field(repr=False)
    frames: OwnFrames | None = None

    @classmethod
    def of(
        cls,
        application: Application,
        spark: SparkSession,
        path: str,
        storage_options: Mapping[str, str],
        frames: OwnFrames | None = None,
    ) -> Target:
        """The table at a URI."""
        return cls(application, spark, application.logs.get(path, storage_options), storage_options, frames)

    def handed_out(self, snapshot: Snapshot, *given: Any) -> JavaObject | None:
        """The columns of the user's DataFrames that are the table's; None where nothing can name one (see `OwnFrames.columns`).

        Args:
            given: the conditions and values of a statement. A text names no column of a DataFrame.
        """
        if self.frames is None or not any(isinstance(each, Column) for each in given):
            return None
        return self.frames.columns(self.application.jvm, snapshot.schema)

    def latest(self) -> Snapshot:
        """Its latest state.

        Raises:
            UnsupportedFeatureError: it has a type that this Spark has not got.
        """
        snapshot = self.log.update()
        check_types(self.application, snapshot)
        return snapshot


@contextlib.contextmanager
def naming_gone_columns(target: Target, snapshot: Snapshot, *given: Any) -> Iterator[None]:
    """Resolves a statement; where it names a column of a DataFrame that was the table's and is not any more, the error says so.

    Args:
        given: the conditions and values of the statement.

    Raises:
        SchemaChangedError: there is such a column.
    """
    try:
        yield
    except AnalysisException as error:
        names = _gone(target, snapshot, given) if error_class_of(error).startswith("MISSING_ATTRIBUTES") else []
        if not names:
            raise
        raise SchemaChangedError(
            f"The statement names {', '.join(names)} of a DataFrame that the table gave before its schema changed. The table's"
            " column of this name is another one by now, or has another type, or there is none.",
            at=snapshot,
            next_step="take the column from a new toDF().",
        ) from error


def _gone(target: Target, snapshot: Snapshot, given: Sequence[Any]) -> list[str]:
    if target.frames is None:
        return []
    jvm = target.application.jvm
    gone = target.frames.gone(jvm, snapshot.schema)
    found = [nodes.expression(jvm, target.spark, each) for each in given if isinstance(each, Column)]
    used = {id_of(each) for every in found for each in nodes.references_of(jvm, every) if nodes.is_resolved(each)}
    return sorted({gone[each] for each in used & gone.keys()})


def table_columns(snapshot: Snapshot) -> str:
    """JSON of the columns that statements are resolved against."""
    return schema_to_json(readable_schema(snapshot.schema))


def refuse_file_metadata(given: StructType, snapshot: Snapshot) -> None:
    """Refuses a statement that names what Spark says of a row's file.

    Args:
        given: the columns that it was resolved against.

    Raises:
        UnsupportedFeatureError: there is a column `_metadata` among them that is no column of the table.
    """
    if any(map(is_file_metadata, given.fields)):
        raise UnsupportedFeatureError(
            "Can't resolve column _metadata: rows are changed by what is in them, and not by their ids or their files.",
            at=snapshot,
            error_class="DELTA_CANNOT_RESOLVE_COLUMN",
            features=["_metadata in conditions and values"],
            next_step="read the rows first, and name them by their columns.",
        )
