# SPDX-License-Identifier: Apache-2.0
"""What a MERGE did, and the plan of one that can be executed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bayou.plan.row_changes import RowChangePlan, aligned_text
from bayou.spark.errors import raised_as_pyspark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class MergeResult:
    """What a MERGE did.

    Attributes:
        version: the table's version afterwards.
        committed: whether the MERGE made that version; it makes none where it changes nothing.
        num_updated_rows: the rows that were updated.
        num_deleted_rows: the rows that were deleted.
        num_inserted_rows: the rows that were inserted.
        metrics: what the history says of it, by its names; empty where nothing was committed.
        reason: why nothing was committed: `empty`, or `replayed` where `txn` was committed before; empty where something was.
    """

    version: int
    committed: bool
    num_updated_rows: int = 0
    num_deleted_rows: int = 0
    num_inserted_rows: int = 0
    metrics: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""
    spark: SparkSession | None = field(default=None, repr=False, compare=False)

    @property
    def operation(self) -> str:
        """The operation's name in the history."""
        return "MERGE"

    @property
    def num_affected_rows(self) -> int:
        """The rows that were changed in any way."""
        return self.num_updated_rows + self.num_deleted_rows + self.num_inserted_rows

    @property
    def num_copied_rows(self) -> int:
        """The rows that were written again as they were."""
        return self.metrics.get("numTargetRowsCopied", 0)

    def toDF(self) -> DataFrame:  # noqa: N802  (PySpark's name)
        """The one row that delta-spark gives: the numbers of affected, updated, deleted and inserted rows."""
        assert self.spark is not None  # noqa: S101  (whoever executes an operation has one)
        numbers = (self.num_affected_rows, self.num_updated_rows, self.num_deleted_rows, self.num_inserted_rows)
        names = ("num_affected_rows", "num_updated_rows", "num_deleted_rows", "num_inserted_rows")
        columns = (f"cast({number} as bigint) as {name}" for number, name in zip(numbers, names, strict=True))
        return self.spark.range(1).selectExpr(*columns)

    def __str__(self) -> str:
        what = f"made version {self.version}" if self.committed else f"nothing was committed ({self.reason})"
        rows = [
            ("updated rows", str(self.num_updated_rows)),
            ("deleted rows", str(self.num_deleted_rows)),
            ("inserted rows", str(self.num_inserted_rows)),
            *((name, str(value)) for name, value in self.metrics.items()),
        ]
        return f"MERGE: {what}\n{aligned_text(rows)}"


@dataclass(frozen=True, slots=True)
class PlannedMerge:
    """A MERGE that was planned and not run.

    Attributes:
        plan: which files it reads, which it passes over and why, and which it may rewrite.
    """

    plan: RowChangePlan
    run: Callable[[], MergeResult] = field(repr=False)

    @raised_as_pyspark
    def execute(self) -> MergeResult:
        """Runs it, on the version that it was planned for: another writer's commit since then is a conflict as any other.

        Raises:
            MultipleMatchesError: a row of the table would be changed by several rows of the source.
            ConcurrentModificationError: another commit excludes this one.
            ConstraintViolationError: a new row breaks a rule of the table.
        """
        return self.run()

    def __str__(self) -> str:
        return str(self.plan)
