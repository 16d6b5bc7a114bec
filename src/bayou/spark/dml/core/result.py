# SPDX-License-Identifier: Apache-2.0
"""What a DELETE, an UPDATE or a MERGE did, and the plan of one that can be executed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import DataFrame

from bayou.plan.row_changes import RowChangePlan, aligned_text
from bayou.spark.errors.cast_overflow import naming_overflow
from bayou.spark.errors.conversion import raised_as_pyspark
from bayou.spark.jvm.relations.own_sql import own_column
from bayou.spark.session.settings import REPLAYED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNTS: Final = {
    "DELETE": ("num_affected_rows",),
    "UPDATE": ("num_affected_rows",),
    "MERGE": ("num_affected_rows", "num_updated_rows", "num_deleted_rows", "num_inserted_rows"),
}
"""The columns of the row that an operation gives, as delta-spark's do."""
UNKNOWN_ROWS = -1
"""The number of affected rows where whole files went and the log does not say how many rows they had, as in delta-spark."""


@dataclass(frozen=True, slots=True, eq=False)  # a DataFrame is equal to itself alone, and has no fields to compare
class RowChangeResult:
    """What a DELETE, an UPDATE or a MERGE did.

    Attributes:
        operation: DELETE, UPDATE or MERGE.
        version: the table's version afterwards.
        committed: whether the operation made that version; it makes none where it changes nothing.
        num_updated_rows: the rows that were updated.
        num_deleted_rows: the rows that were deleted; -1 where whole files went whose rows nobody had counted.
        num_inserted_rows: the rows that were inserted.
        metrics: what the history says of it, by its names; empty where nothing was committed.
        reason: why nothing was committed: `empty`, or `replayed` where `txn` was committed before; empty where something was.
        num_scanned_files: the files in which rows were looked for.
        num_pruned_files: the files that were passed over, by their partition values or by their statistics.
        num_rewritten_files: the files whose other rows were written again, as files of their own.
        num_retries: how often it was run again because another commit had moved the rows into other files.
    """

    operation: str
    version: int
    committed: bool
    num_updated_rows: int = 0
    num_deleted_rows: int = 0
    num_inserted_rows: int = 0
    metrics: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""
    spark: SparkSession | None = field(default=None, repr=False, compare=False)
    num_scanned_files: int = 0
    num_pruned_files: int = 0
    num_rewritten_files: int = 0
    num_retries: int = 0
    _frames: list[DataFrame] = field(default_factory=list, init=False, repr=False, compare=False)

    def by(self, plan: RowChangePlan) -> RowChangeResult:
        """The result with the files that were scanned and pruned, as the plan has it that was run."""
        if self.reason == REPLAYED:
            return self
        return self._with(num_scanned_files=plan.to_read.files, num_pruned_files=plan.num_pruned_files)

    def after_retries(self, count: int) -> RowChangeResult:
        """The result of an operation that was run again so often."""
        return self._with(num_retries=count) if count else self

    def _with(self, **changes: int) -> RowChangeResult:
        known = {each.name: getattr(self, each.name) for each in fields(self) if each.init}
        return RowChangeResult(**{**known, **changes})

    @property
    def num_affected_rows(self) -> int:
        """The rows that were changed in any way; -1 where nobody knows."""
        counts = (self.num_updated_rows, self.num_deleted_rows, self.num_inserted_rows)
        return UNKNOWN_ROWS if UNKNOWN_ROWS in counts else sum(counts)

    @property
    def num_copied_rows(self) -> int:
        """The rows that were written again as they were."""
        return self.metrics.get("numTargetRowsCopied" if self.operation == "MERGE" else "numCopiedRows", 0)

    @property
    def counts_text(self) -> str:
        """How many rows were affected, and after a MERGE how many of them in which way, as JSON by delta-spark's names."""
        return json.dumps({name: getattr(self, name) for name in COUNTS[self.operation]})

    def toDF(self) -> DataFrame:  # noqa: N802  (PySpark's name)
        """The one row that delta-spark gives: how many rows were affected, and after a MERGE how many of them in which way."""
        assert self.spark is not None  # noqa: S101  (whoever executes an operation has one)
        return row_of_counts(self.spark, self.counts_text)

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # `isinstance` asks for it
        """A DataFrame's, beside its own: what checks what it is given, as tests do that compare DataFrames, takes the result."""
        return RowChangeResult if self.spark is None else DataFrame

    def __repr__(self) -> str:
        named = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
        return f"RowChangeResult({', '.join(named)})"

    def __getattr__(self, name: str) -> Any:
        """What a DataFrame has, of the row that `toDF` gives: delta-spark's `execute` gives that row."""
        # PySpark asks a DataFrame that another one is joined with for its `_jdf`.
        if self.spark is None or (name != "_jdf" and (name.startswith("_") or not hasattr(DataFrame, name))):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._frame(), name)

    def _frame(self) -> DataFrame:
        """The same DataFrame each time: a column of one is none of another one."""
        if not self._frames:
            self._frames.append(self.toDF())
        return self._frames[0]

    def __getitem__(self, column: str) -> Any:
        """A column of the row that `toDF` gives."""
        return self._frame()[column]

    def __str__(self) -> str:
        what = f"made version {self.version}" if self.committed else f"nothing was committed ({self.reason})"
        names = ["updated", "deleted", "inserted"] if self.operation == "MERGE" else ["affected"]
        rows = [(f"{name} rows", str(getattr(self, f"num_{name}_rows"))) for name in names]
        return f"{self.operation}: {what}\n{aligned_text([*rows, *((name, str(value)) for name, value in self.metrics.items())])}"


def row_of_counts(spark: SparkSession, counts: str) -> DataFrame:
    """A DataFrame with one row of counts. The columns may be NULL, as those that delta-spark gives."""
    kinds = ", ".join(f"{name} bigint" for name in json.loads(counts))
    return spark.range(1).select(own_column(spark, f"from_json('{counts}', '{kinds}')").alias("counts")).select("counts.*")


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A DELETE, an UPDATE or a MERGE that was planned and not run.

    Attributes:
        plan: which files it reads, which it passes over and why, and which it may rewrite.
        work: does it.
    """

    plan: RowChangePlan
    work: Callable[[], RowChangeResult] = field(repr=False)

    def run(self) -> RowChangeResult:
        """Runs it, with errors that are not PySpark's; else as `execute`."""
        with naming_overflow(self.plan.table, self.plan.version):
            return self.work()

    @raised_as_pyspark
    def execute(self) -> RowChangeResult:
        """Runs it, on the version that it was planned for: another writer's commit since then is a conflict as any other.

        If that commit only moved rows into other files, as OPTIMIZE does, the operation runs again on the latest version, up to
        three times.

        Raises:
            MultipleMatchesError: a row of the table would be changed by several rows of the source of a MERGE.
            ConcurrentModificationError: another commit excludes this one.
            ConstraintViolationError: new values break a rule of the table.
            CastOverflowError: a column's type cannot hold a new value.
            TransactionStateError: the plan of a MERGE was executed before, and committed.
        """
        return self.run()

    def __str__(self) -> str:
        return str(self.plan)
