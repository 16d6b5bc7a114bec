# SPDX-License-Identifier: Apache-2.0
"""The rows of replaced files that stay: the job that writes the new rows writes them again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.spark.read.change_rows import BesideColumns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bayou.spark.data_files.constraint_evaluation import RowRule


OF_KEPT: Final = "bayou.replace.kept"
_OF_NEW: Final = "bayou.replace.new"
"""The observations of the rows that are written again, and of those that are new."""


@dataclass(frozen=True, slots=True)
class CarriedRows:
    """What a write has to do for the rows that it replaces.

    Attributes:
        rule: what the new rows obey; None for nothing of its own.
        num_kept: how many rows of the files that go stay, and are written again.
        rows: these rows, as the table has them, and where it has a change data feed those that go, too; None where none stay.
        beside: what they have beside the table's columns.
    """

    rule: RowRule | None = None
    num_kept: int = 0
    rows: DataFrame | None = None
    beside: BesideColumns = field(default_factory=BesideColumns)

    @property
    def observations(self) -> tuple[str, ...]:
        """The names of the observations that say how many rows were kept and how many are new."""
        return () if self.rows is None else (OF_KEPT, _OF_NEW)

    def beside_new(self, frame: DataFrame) -> DataFrame:
        """The new rows of a write, counted where rows are written again beside them."""
        return frame if self.rows is None else frame.observe(_OF_NEW, F.count(F.lit(1)).alias("count"))


NOTHING_CARRIED: Final = CarriedRows()
"""Of a write that replaces no rows."""
