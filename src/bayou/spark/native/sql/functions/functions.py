# SPDX-License-Identifier: Apache-2.0
"""Create the relations of table functions: the change data feed of a table, or a placeholder for rows of its log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayou.errors import TableNotFoundError, failed
from bayou.spark.jvm.core.messages import Message
from bayou.spark.jvm.core.session import session_of
from bayou.spark.native.scan.relations import relation
from bayou.spark.native.sql.functions.log_rows import LogRowsRequest, log_rows_relation
from bayou.spark.native.sql.functions.tables import delta_path, named
from bayou.spark.read.request import TableRequest
from bayou.spark.sql.functions.arguments import Argument, change_bound, check_count
from bayou.spark.sql.statements.context import Context

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application


class TableFunctions:
    """Creates the relations of the functions on behalf of the Java class `bayou.Functions`."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def __call__(self, facts: str, objects: Any) -> JavaObject:
        """Return the relation for a call of a function.

        Args:
            facts: the message: the function, the database of the view that calls it, then type and value of each argument.
            objects: the session.

        Raises:
            InvalidOptionError: an argument is wrong.
            TableNotFoundError: the table does not exist, or is not a Delta table.
        """
        message = Message.decode(facts)
        function, (database, *texts) = message.word, message.texts
        arguments = [Argument(*pair) for pair in zip(texts[::2], texts[1::2], strict=True)]
        check_count(function, arguments)
        context = Context(self._application, session_of(objects[0]))
        if function in ("table_changes", "table_changes_by_path"):
            return self._changes(context, objects[0], function, database, arguments)
        table, *more = arguments
        limit = more[0].integer(function, "limit") if more else None
        reference = named(context, table.string(function, "table"), database)
        return log_rows_relation(context, objects[0], LogRowsRequest(function, reference, limit))

    def _changes(
        self, context: Context, session: JavaObject, function: str, database: str, arguments: Sequence[Argument]
    ) -> JavaObject:
        table, *bounds = arguments
        options = {"readChangeFeed": "true"}
        for side, bound in zip(("starting", "ending"), bounds, strict=False):
            options |= change_bound(function, side, bound)
        if function == "table_changes":
            path = delta_path(context, named(context, table.string(function, "table name"), database, paths=False), function)
        else:
            path = table.string(function, "table path")
        try:
            return relation(self._application, session, TableRequest.from_options({"path": path, **options}))
        except TableNotFoundError as error:
            raise failed("DELTA_MISSING_DELTA_TABLE/path", table=path) from error
