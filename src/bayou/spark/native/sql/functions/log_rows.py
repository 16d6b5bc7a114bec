# SPDX-License-Identifier: Apache-2.0
"""Return a table's history, details or files as rows in a query: `table_history`, `table_detail` and `table_files`.

A placeholder relation stands for the rows until Spark optimizes the query. Then the filter, the limit and the used columns are
determined, and only the necessary part of the log is read.
"""

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
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.native.sql.functions.tables import delta_path
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
"""The columns of a history that a listing of the log contains, so that no commit is read for them."""
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
        fields = json.loads(text)
        return cls(fields["function"], TableReference(**fields["table"]), fields["limit"])


@dataclass(frozen=True, slots=True)
class WantedRows:
    """The rows that a query needs. More rows than these are correct too, because Spark filters and limits again.

    Attributes:
        condition: JSON of the filter directly above the rows, or empty.
        limit: the number of rows; None for all.
        oldest: whether the oldest rows are needed, and not the newest.
        columns: the columns that the query uses.
    """

    condition: str
    limit: int | None
    oldest: bool
    columns: tuple[str, ...]

    @classmethod
    def of(cls, condition: str, limit: str, columns: list[str]) -> WantedRows:
        """Decode the arguments of the optimizer rule.

        Args:
            limit: a number of rows, a blank, and `first` for the oldest or `last` for the newest; empty for all rows.
        """
        count, _, order = limit.partition(" ")
        return cls(condition, int(count) if count else None, order == "first", tuple(columns))


def log_rows_relation(context: Context, session: JavaObject, request: LogRowsRequest) -> JavaObject:
    """Return the placeholder relation, with the columns of the function."""
    schema = spark_schema(_SCHEMAS[request.function])
    return log_relation(jvm_of(context.application), session, schema, request.encode(), _version(context, request))


def planned_rows(
    application: Application, session: JavaObject, text: str, version: str, needed: WantedRows
) -> tuple[JavaObject, str]:
    """Return the rows as a logical plan, and the version of the table that they describe.

    Args:
        text: the request, as JSON.
        version: the version at which the query already reads this table; empty for the latest.
    """
    request = LogRowsRequest.decode(text)
    context = Context(application, session_of(session))
    version = version or _version(context, request)
    rows = _rows(context, request, int(version) if version else None, needed)
    return analyzed_plan(context.frame(rows)), version


def _rows(context: Context, request: LogRowsRequest, version: int | None, needed: WantedRows) -> pa.Table:
    if request.function == "table_detail":
        return DescribeDetail(request.table).rows(context, version=version)
    if request.function == "table_files":
        return file_rows(_log(context, request).snapshot(version), needed.columns)
    part = _part(request, needed)
    return DescribeHistory(request.table, needed.limit).rows(context, version=version, part=part)


def _part(request: LogRowsRequest, needed: WantedRows) -> HistoryPart:
    """Return the part of a history that a query needs."""
    reads_commits = not _OF_LISTING.issuperset(needed.columns)
    part = HistoryPart(newest=request.limit, oldest=needed.oldest, reads=reads_commits)
    if not needed.condition:
        return part
    predicate = from_catalyst([needed.condition], by_logical_name(parse_schema(spark_schema(HISTORY_SCHEMA))))
    versions, times = interval_of(predicate, ("version",)), interval_of(predicate, ("timestamp",))
    since = None if times.first is None else -(-times.first // _MICROS)
    until = None if times.last is None else times.last // _MICROS
    return replace(part, first=versions.first, last=versions.last, since=since, until=until)


def _version(context: Context, request: LogRowsRequest) -> str:
    """Return the latest version of a Delta table, or an empty string for another table, which only `table_detail` supports."""
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
