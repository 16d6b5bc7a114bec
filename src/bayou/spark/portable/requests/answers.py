# SPDX-License-Identifier: Apache-2.0
"""What decides about the requests of a client: which relations are replaced, and which commands are answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.connect import proto

    from bayou.spark.portable.requests.messages import Outside, Place


class Answers(Protocol):
    """Decides about relations and commands. Any thread calls it, also several at once.

    It is asked at each request, so that a DataFrame follows its table. What it raises reaches the caller of PySpark as it is.

    `read` and `references` may send requests on the same session, which pass untouched. If they return the same DataFrame for the
    same version of a table, the server analyses repeated requests once.

    Requests that `command` and `catalog` send are rewritten as those of a program are.
    """

    def read(self, read: proto.Read, place: Place | Outside | None = None) -> DataFrame | WithMetadata | None:
        """The rows of a `spark.read...load()` or of a `spark.table(...)`, also as a stream, or None if it is the server's.

        Args:
            read: the request.
            place: its place in the plan. The server applies the filters above it; rows that fail one of them may be left out here.
        """

    def catalog(self, request: proto.Catalog) -> DataFrame | None:
        """The rows that answer a method of `spark.catalog`, or None if it is the server's."""

    def references(self, sql: proto.SQL, place: Place | Outside | None = None, views: Views | None = None) -> Sequence[Reference]:
        """The tables to replace in a SQL text. They do not overlap.

        Args:
            sql: the text.
            place: the place of its rows in the plan; None if it is not known.
            views: the temporary views that may be replaced; None for none.
        """

    def of_one_version(self) -> AbstractContextManager[None]:
        """Around the calls for one request: a table has the same version in all of them."""

    def command(self, command: proto.Command) -> CommandAnswer | None:
        """Run a command, such as a write or a SQL statement, or return None if it is the server's.

        The start of a stream, and a command for a running one, may be changed in place before the server gets it.

        The relations in it are replaced already, but a SQL statement is as the program wrote it. `frames.frame_of` makes a
        DataFrame of a relation.
        """

    def starting(
        self, start: proto.WriteStreamOperationStart
    ) -> AbstractContextManager[Callable[[proto.WriteStreamOperationStartResult], object] | None]:
        """Within it, the relations of a stream that starts are replaced. They may be changed in place before.

        It gives what to call with the server's answer, or None.
        """


class Views(Protocol):
    """The temporary views of one client, for one request."""

    def are_named_in(self, text: str) -> bool:
        """Whether a text looks as if it named one that may be replaced."""
        ...

    def rows(self, name: str, place: Outside) -> DataFrame | None:
        """Return the rows of a view, without files that the query does not need. None if the server shall read its view.

        Args:
            name: a name in a query that means no WITH clause.
            place: what is above the name.
        """
        ...


@dataclass(frozen=True, slots=True)
class WithMetadata:
    """Rows with a column `_metadata` that their table does not have.

    Attributes:
        frame: the rows.
        hidden_in: the relation above them that must not have the column; None if none would have it.
    """

    frame: DataFrame
    hidden_in: proto.Relation | None


@dataclass(frozen=True, slots=True)
class Reference:
    """A table in a SQL text, and the rows that it stands for.

    Attributes:
        start: where the reference begins in the text, in characters.
        end: where it ends. Time travel belongs to the reference, an alias does not.
        frame: its rows.
        alias: the name that the rest of the text has for its columns. None if an alias follows the reference, or where the grammar
            has no place for one (`TABLE t`).
        arguments: the numbers of the positional arguments in the reference, counted from 0 in the whole text.
        is_query: whether the reference stands for a whole query in parentheses.
        qualifiers: where the text has the table's name before the name of a column; the alias stands there then.
    """

    start: int
    end: int
    frame: DataFrame
    alias: str | None = None
    arguments: tuple[int, ...] = ()
    is_query: bool = False
    qualifiers: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """The result of a command that the client ran.

    Attributes:
        rows: the rows that a SQL statement returns.
        frame: what a SQL statement returns, instead of rows. Its jobs run when the program asks for its rows.
        results: the results of other commands, such as the start of a stream. Only the part for the kind of the command is set.
    """

    rows: pa.Table | None = None
    frame: DataFrame | None = None
    results: tuple[proto.ExecutePlanResponse, ...] = ()
