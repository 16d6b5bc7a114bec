# SPDX-License-Identifier: Apache-2.0
"""Read rows of a table's log in a query. A relation holds their place until Spark plans the query."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final

from bayou.errors import TableNotFoundError
from bayou.log.segment.history import HistoryPart
from bayou.plan.predicates.intervals import interval_of
from bayou.protocol.types.schema import parse_schema
from bayou.spark.expressions.predicates import by_logical_name, from_catalyst
from bayou.spark.jvm.core.session import session_of
from bayou.spark.jvm.relations.relation import analyzed_plan, log_relation
from bayou.spark.sql.functions.tables import delta_path
from bayou.spark.sql.statements.context import Context, not_delta
from bayou.spark.sql.statements.description import DescribeDetail, DescribeHistory
from bayou.spark.sql.statements.reader import TableReference
from bayou.spark.table.describe import DETAIL_SCHEMA, HISTORY_SCHEMA, spark_schema
from bayou.spark.table.file_rows import FILES_SCHEMA, file_rows
from bayou.storage import qualify

if TYPE_CHECKING:
    import pyarrow as pa

    from bayou.log.delta_log import DeltaLog
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application

_SCHEMAS: Final = {"table_history": HISTORY_SCHEMA, "table_detail": DETAIL_SCHEMA, "table_files": FILES_SCHEMA}
_OF_LISTING: Final = {"version", "timestamp"}
"""The columns of a history that need no commit to be read."""
_MICROS: Final = 1000


@dataclass(frozen=True, slots=True)
class LogRowsRequest:
    """A call of a function that returns log rows.

    Attributes:
        function: the function.
        table: the table's full name, or its path.
        limit: the maximum number of commits of a history, newest first; None for all.
    """

    function: str
    table: TableReference
    limit: int | None = None

    def encode(self) -> str:
        """Return JSON for the relation."""
        return json.dumps(asdict(self))

    @classmethod
    def decode(cls, text: str) -> LogRowsRequest:
        """Decode the JSON of a relation."""
        given = json.loads(text)
        return cls(given["function"], TableReference(**given["table"]), given["limit"])


@dataclass(frozen=True, slots=True)
class WantedRows:
    """The rows that a query needs. Returning more is correct.

    Attributes:
        condition: JSON of the filter directly above them, or empty.
        limit: the number of rows; None for all.
        oldest: whether the oldest rows are needed.
        columns: the columns that are used.
    """

    condition: str
    limit: int | None
    oldest: bool
    columns: tuple[str, ...]

    @classmethod
    def of(cls, condition: str, limit: str, columns: list[str]) -> WantedRows:
        """Decode what the rule found. The limit is a number of rows, and `first` or `last`; empty for all rows."""
        count, _, order = limit.partition(" ")
        return cls(condition, int(count) if count else None, order == "first", tuple(columns))


def log_rows_relation(context: Context, session: JavaObject, request: LogRowsRequest) -> JavaObject:
    """Return the relation that holds the place of the rows until a query is planned."""
    schema = spark_schema(_SCHEMAS[request.function])
    return log_relation(context.application.jvm, session, schema, request.encode(), _version(context, request))


def planned_rows(
    application: Application, session: JavaObject, text: str, version: str, wanted: WantedRows
) -> tuple[JavaObject, str]:
    """Return the rows as a logical plan, and the table's version, which an earlier read in the query may have decided."""
    request = LogRowsRequest.decode(text)
    context = Context(application, session_of(session))
    version = version or _version(context, request)
    rows = _rows(context, request, int(version) if version else None, wanted)
    return analyzed_plan(context.frame(rows)), version


def _rows(context: Context, request: LogRowsRequest, version: int | None, wanted: WantedRows) -> pa.Table:
    if request.function == "table_detail":
        return DescribeDetail(request.table).rows(context, version=version)
    if request.function == "table_files":
        return file_rows(_log(context, request).snapshot(version), wanted.columns)
    part = _part(request, wanted)
    return DescribeHistory(request.table, wanted.limit).rows(context, version=version, part=part)


def _part(request: LogRowsRequest, wanted: WantedRows) -> HistoryPart:
    """Return the part of a history that a query needs."""
    reads = not _OF_LISTING.issuperset(wanted.columns)
    part = HistoryPart(newest=request.limit, oldest=wanted.oldest, reads=reads)
    if not wanted.condition:
        return part
    predicate = from_catalyst([wanted.condition], by_logical_name(parse_schema(spark_schema(HISTORY_SCHEMA))))
    versions, times = interval_of(predicate, ("version",)), interval_of(predicate, ("timestamp",))
    since = None if times.first is None else -(-times.first // _MICROS)
    until = None if times.last is None else times.last // _MICROS
    return replace(part, first=versions.first, last=versions.last, since=since, until=until)


def _version(context: Context, request: LogRowsRequest) -> str:
    """Return the latest version of the table. It is empty for other tables, which only `table_detail` supports."""
    try:
        return str(_log(context, request).version())
    except TableNotFoundError as error:
        if request.function == "table_detail":
            DescribeDetail(request.table).rows(context)
            return ""
        if error.error_class != TableNotFoundError.error_class:
            raise
        raise not_delta(error.table or request.table.text, request.function) from error


def _log(context: Context, request: LogRowsRequest) -> DeltaLog:
    statement = DescribeHistory(request.table)
    path = statement.path(context) if request.function == "table_history" else delta_path(context, request.table, request.function)
    return context.application.logs.get(qualify(path).uri, {})
