# SPDX-License-Identifier: Apache-2.0
"""Parse a statement that only Delta Lake has, such as VACUUM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from bayou.errors import redact_text
from bayou.spark.sql.statements.alteration import AlterTable, Convert
from bayou.spark.sql.statements.clone import Clone
from bayou.spark.sql.statements.description import DescribeDetail, DescribeHistory
from bayou.spark.sql.statements.maintenance import ComputeStatistics, Fsck, Generate, Optimize, Reorg, Restore, Vacuum
from bayou.spark.sql.statements.reader import Reader, TableReference, without_secrets

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from bayou.spark.sql.statements.context import Context

MODES: Final = ("LOGICAL", "FORMATTED", "EXTENDED", "CODEGEN", "COST")
"""The modes of EXPLAIN."""


class Statement(Protocol):
    """A parsed statement."""

    @property
    def columns(self) -> pa.Schema:
        """The columns of its rows."""
        ...

    def run(self, context: Context) -> DataFrame | None:
        """Run the statement, and return its rows."""
        ...

    def explain(self, context: Context) -> Sequence[str]:
        """Return the plan, one line for each fact. Reads the log and changes nothing."""
        ...


STATEMENTS: Final = (
    *(Vacuum, Optimize, Reorg, Restore, Generate, Fsck, ComputeStatistics),
    *(DescribeHistory, DescribeDetail, Convert, AlterTable, Clone),
)
"""The classes of all statements. Each has the words it begins with, and a method that parses the rest."""


def read_statement(reader: Reader) -> Statement | None:
    """Parse a statement, or return None if it is not a statement of Delta Lake.

    Raises:
        SqlSyntaxError: it starts like a statement of Delta Lake, and the rest is not valid.
    """
    for kind in STATEMENTS:
        if any(map(reader.begin, kind.begins)):
            statement: Statement | None = kind.read(reader)
            if statement is not None:
                reader.end()
            return statement
    return None


def begins(reader: Reader) -> bool:
    """Whether it starts like a statement of Delta Lake, or like EXPLAIN of one."""
    if reader.take("EXPLAIN"):
        reader.take_one(*MODES)
    return any(reader.begin(each) for kind in STATEMENTS for each in kind.begins)


def tables_of(statement: Statement) -> list[TableReference]:
    """Return the tables that a statement names."""
    references = (getattr(statement, name, None) for name in ("table", "target", "source"))
    return [each for each in references if isinstance(each, TableReference)]


def shown(text: str) -> str:
    """Return a statement as EXPLAIN shows it: on one line, without secrets."""
    return redact_text(" ".join(without_secrets(text).split()))
